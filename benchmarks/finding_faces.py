"""From frames to vectors: how fast each step is, and how many faces are found.

Two videos of 320 × 240 pixels with the box of one face in each frame. Times are medians over every
fourth frame; precision and recall are of the detector alone, and every face counts as named. In
the last lines all steps of a recogniser run on every frame: decode, find, follow, make a vector,
learn and answer with 500 centroids, find the cliff, and draw.

    python benchmarks/finding_faces.py --data FOLDER [--write FILE]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import cv2
from _report import Line, parse, report

from labelwalk.demo import warm_up
from labelwalk.faces.dlib_vectors import DlibVectors
from labelwalk.faces.drawing import Caption, drawn
from labelwalk.faces.ground_truth import NamedBox, Tally, read_boxes
from labelwalk.faces.haar import HaarDetector
from labelwalk.faces.onlooker import Onlooker
from labelwalk.faces.opening import opened
from labelwalk.faces.pixels import Pixels
from labelwalk.faces.recognizer import Seen
from labelwalk.faces.representations import Representation, name_of, vector_of

VIDEOS = {"david": 300, "faceocc2": 1}  # and the frame of the first true box
DETECTORS: dict[str, dict[str, Any]] = {
    "default": {},
    "smallest=20": {"smallest": 20},
    "smallest=30": {"smallest": 30},
    "step=1.2, neighbours=3": {"step": 1.2, "neighbours": 3},
    "eyes=True": {"eyes": True},
}
EVERY, FACES, CAMERA = 4, 100, 30.0


def milliseconds(call: Callable[[], object]) -> float:
    begun = perf_counter()
    call()
    return 1000.0 * (perf_counter() - begun)


def detection(folder: Path, video: str, threads: int) -> Iterator[Line]:
    truth = read_boxes(folder / f"{video}_gt.txt", "face", VIDEOS[video])
    with opened(folder / f"{video}.webm") as source:
        frames = [frame for frame in source if frame.number % EVERY == 0]
    cv2.setNumThreads(threads)
    for name, options in DETECTORS.items():
        detector, tally, took = HaarDetector(**options), Tally(), []
        for frame in frames:
            begun = perf_counter()
            boxes = detector(frame.image)
            took.append(1000.0 * (perf_counter() - begun))
            if frame.number in truth:
                tally.add([NamedBox(box, "face") for box in boxes], truth[frame.number])
        figure = (
            f"{median(took):.1f} ms, precision {tally.precision:.2f}, recall {tally.recall:.2f}"
        )
        yield Line(f"{video}, {name}, {threads} threads", figure, "", True)


def vectors(folder: Path) -> Iterator[Line]:
    with opened(folder / "david.webm") as source:
        frames = [frame for frame in source if frame.number % EVERY == 0]
    detector = HaarDetector()
    found = [(frame.image, box) for frame in frames for box in detector(frame.image)][:FACES]
    kinds: list[Representation] = [Pixels(), Pixels(32), Pixels(invariant=True), DlibVectors()]
    for kind in kinds:
        took = [
            milliseconds(lambda at=at, kind=kind: vector_of(*at, kind))  # type: ignore[misc]
            for at in found
        ]
        yield Line(f"vector, {name_of(kind)}", f"{median(took):.2f} ms", "", True)


def everything(folder: Path, side: int) -> Iterator[Line]:
    warm_up()
    onlooker, n_faces, took, learning = Onlooker(Pixels(side)), 0, [], 0.0
    observe = onlooker.recognizer.observe

    def timed(vectors: Any) -> Seen:
        nonlocal learning
        begun = perf_counter()
        seen = observe(vectors)
        learning += perf_counter() - begun
        return seen

    onlooker.recognizer.observe = timed  # type: ignore[method-assign]
    begun = perf_counter()
    with opened(folder / "david.webm") as source:
        for frame in source:
            at = perf_counter()
            faces = onlooker.look(frame.image)
            if faces and not onlooker.recognizer.people:
                onlooker.name(faces[0].example, "David")
            drawn(frame.image, [Caption(one.box, one.name, one.confidence) for one in faces])
            n_faces += len(faces)
            took.append(1000.0 * (perf_counter() - at))
    whole = perf_counter() - begun
    what, speed, share = f"david, all steps, {side} × {side}", len(took) / whole, learning / whole
    figure = f"{speed:.0f} frames a second, {n_faces} faces, the longest frame {max(took):.0f} ms"
    yield Line(what, figure, f"≥ {CAMERA:.0f}", speed >= CAMERA)
    yield Line(f"{what}: the learner", f"{100 * share:.1f} %", "< 5 %", share < 0.05)


def lines(folder: Path) -> Iterator[Line]:
    threads = cv2.getNumThreads()
    for video in VIDEOS:
        for n in sorted({1, threads}):
            yield from detection(folder, video, n)
    cv2.setNumThreads(threads)
    yield from vectors(folder)
    for side in (32, 96):
        yield from everything(folder, side)


if __name__ == "__main__":
    arguments = parse(__doc__, data=True)
    folder = Path(arguments.data) / "face_videos"
    sys.exit(report("From frames to vectors", __doc__, lines(folder), arguments.write))
