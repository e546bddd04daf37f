"""Tracks of boxes, as plain loops: the best pair of all, then the best of what is left."""

from __future__ import annotations

Rectangle = tuple[int, int, int, int]


def share(a: Rectangle, b: Rectangle) -> float:
    ax, ay, aw, ah = a
    bx, by, bw, bh = b
    common = 0
    for _x in range(max(ax, bx), min(ax + aw, bx + bw)):
        for _y in range(max(ay, by), min(ay + ah, by + bh)):
            common = common + 1
    if common == 0:
        return 0.0
    return common / (aw * ah + bw * bh - common)


def tracks(frames: list[list[Rectangle]], patience: int, least: float) -> list[list[int]]:
    """The track of each box in each frame, from the whole past of every track."""
    last_box: dict[int, Rectangle] = {}
    last_seen: dict[int, int] = {}
    answers = []
    next_number = 1
    for t, boxes in enumerate(frames):
        given: dict[int, int] = {}
        while True:
            best = None
            for number in sorted(last_box):
                if number in given.values() or t - last_seen[number] > patience + 1:
                    continue
                for i in range(len(boxes)):
                    if i in given:
                        continue
                    value = share(last_box[number], boxes[i])
                    if value >= least and (best is None or value > best[0]):
                        best = (value, number, i)
            if best is None:
                break
            given[best[2]] = best[1]
        for i in range(len(boxes)):
            if i not in given:
                given[i] = next_number
                next_number = next_number + 1
        for i in range(len(boxes)):
            last_box[given[i]] = boxes[i]
            last_seen[given[i]] = t
        answers.append([given[i] for i in range(len(boxes))])
    return answers
