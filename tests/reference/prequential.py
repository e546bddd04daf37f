"""A learner meets a stream, one example after another."""

from typing import Any


def meet(learner: Any, rows: Any, truth: Any, told_at: Any) -> list[Any]:
    said = []
    for t in range(len(rows)):
        for i in range(t):
            if told_at[i] == t and told_at[i] != i:
                learner.teach_one(rows[i], truth[i])
        if told_at[t] == t:
            learner.teach_one(rows[t], truth[t])
        else:
            said.append(learner.observe_one(rows[t]))
    return said


def precision_and_recall(truth: list[int], said: list[int]) -> tuple[float, float]:
    named = right = known = 0
    for t, s in zip(truth, said, strict=True):
        known += t >= 0
        named += s >= 0
        right += s >= 0 and s == t
    return (right / named if named else 1.0), (right / known if known else 0.0)


def windowed(right: list[bool], window: int) -> list[float]:
    shares = []
    for t in range(len(right)):
        last = right[max(0, t + 1 - window) : t + 1]
        shares.append(sum(last) / len(last))
    return shares


def calibration_error(confidence: list[float], right: list[bool], bins: int) -> float:
    total = 0.0
    for b in range(bins):
        inside = [
            i
            for i, c in enumerate(confidence)
            if b / bins <= c and (c < (b + 1) / bins or b == bins - 1)
        ]
        if inside:
            mean = sum(confidence[i] for i in inside) / len(inside)
            share = sum(right[i] for i in inside) / len(inside)
            total += abs(mean - share) * len(inside) / len(confidence)
    return total
