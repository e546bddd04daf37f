"""From frames to vectors: the speed of each step, and the number of faces found.

Two videos of 320 × 240 pixels with the box of one face in each frame. Times are medians over every
fourth frame; precision and recall are those of the detector, and every face counts as named. In the
last lines a recognizer runs all steps on every frame, with 500 centroids: frames per second, and
the share of each step in wall time and in processor time, which other programs disturb less.
Additional threads decode and find faces; their time is not included.

    python benchmarks/finding_faces.py --data FOLDER [--write FILE]
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import cv2
from _report import Line, run_with_data
from _stopwatch import Stopwatch, time_call

from labelwalk.demo import warm_up
from labelwalk.faces.capture import open_source
from labelwalk.faces.demo import NamedBox
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.drawing import Caption, draw_faces
from labelwalk.faces.frames import Frame
from labelwalk.faces.pipeline import FacePipeline
from labelwalk.faces.profiles import PIXELS
from labelwalk.faces.recognizer import FaceRecognizer, LearnerHandle
from labelwalk.faces.representations import DlibVectors, Pixels, Representation, name_of, vector_of
from paper.face_evaluation import Tally, read_boxes

VIDEOS = {"david": 300, "faceocc2": 1}  # and the frame of the first true box
DETECTORS: dict[str, dict[str, Any]] = {
    "default": {},
    "smallest=20": {"smallest": 20},
    "smallest=30": {"smallest": 30},
    "step=1.2, neighbours=3": {"step": 1.2, "neighbours": 3},
    "eyes=True": {"eyes": True},
}
EVERY, FACES, CAMERA = 4, 100, 30.0
LEARN, CLIFF = "learn and answer", "look for the cliff"


def some_frames(path: Path) -> list[Frame]:
    with open_source(path) as source:
        return [frame for frame in source if frame.number % EVERY == 0]


def detection(folder: Path, video: str, threads: int) -> Iterator[Line]:
    truth = read_boxes(folder / f"{video}_gt.txt", "face", VIDEOS[video])
    frames = some_frames(folder / f"{video}.webm")
    cv2.setNumThreads(threads)
    for name, options in DETECTORS.items():
        detector, tally, took = HaarDetector(**options), Tally(), []
        for frame in frames:
            boxes, seconds = time_call(partial(detector, frame.image), perf_counter)
            took.append(seconds)
            if frame.number in truth:
                tally.add([NamedBox(box, "face") for box in boxes], truth[frame.number])
        figure = f"precision {tally.precision:.2f}, recall {tally.recall:.2f}"
        figure = f"{1e3 * median(took):.1f} ms, {figure}"
        yield Line(f"{video}, {name}, {threads} threads", figure)


def vectors(folder: Path) -> Iterator[Line]:
    frames, detector = some_frames(folder / "david.webm"), HaarDetector()
    found = [(frame.image, box) for frame in frames for box in detector(frame.image)][:FACES]
    kinds: list[Representation] = [Pixels(), Pixels(32), DlibVectors()]
    for kind in kinds:
        took = [time_call(partial(vector_of, *at, kind), perf_counter)[1] for at in found]
        yield Line(f"vector, {name_of(kind)}", f"{1e3 * median(took):.2f} ms")


class Watched:
    """All steps of a recogniser, each timed; the first face that is found gets a name."""

    def __init__(self, side: int) -> None:
        self.watch, self.n_faces = Stopwatch(), 0
        timed, mind = self.watch.timed, LearnerHandle(PIXELS.learner())
        for step in ("ask", "apply"):
            setattr(mind, step, timed(CLIFF, getattr(mind, step)))
        recognizer = FaceRecognizer(PIXELS, handle=mind)
        recognizer.observe = timed(LEARN, recognizer.observe)  # type: ignore[method-assign]
        self.draw = timed("draw", draw_faces)
        self.onlooker = FacePipeline(
            timed("make a vector", Pixels(side)),
            recognizer=recognizer,
            detector=timed("find faces", HaarDetector()),
        )

    def process(self, frame: Frame) -> None:
        faces = self.onlooker.process(frame.image)
        if faces and not self.onlooker.recognizer.people:
            self.onlooker.name(faces[0].example, "somebody")
        self.draw(frame.image, [Caption(one.box, one.name, one.confidence) for one in faces])
        self.n_faces += len(faces)


def everything(folder: Path, video: str, side: int) -> Iterator[Line]:
    warm_up()
    run, took = Watched(side), []
    with open_source(folder / f"{video}.webm") as source:
        frames = iter(source)
        next_frame = run.watch.timed("decode", lambda: next(frames, None))
        clock, processor = perf_counter(), thread_time()
        while (frame := next_frame()) is not None:
            took.append(time_call(partial(run.process, frame), perf_counter)[1])
        clock, processor = perf_counter() - clock, thread_time() - processor
    what, speed = f"{video}, {side} × {side}", len(took) / clock
    yield Line(
        f"{what}: all steps",
        f"{speed:.0f} frames a second, {run.n_faces} faces, the longest frame "
        f"{1e3 * max(took):.0f} ms",
        f"≥ {CAMERA:.0f}",
        speed >= CAMERA,
    )

    def share(*steps: str) -> tuple[float, str]:
        of_clock = sum(run.watch.clock[step] for step in steps) / clock
        of_processor = sum(run.watch.processor[step] for step in steps) / processor
        clocks = f"{100 * of_clock:.1f} % by the clock, {100 * of_processor:.1f} %"
        return of_clock, f"{clocks} by the processor"

    for step in run.watch.clock:
        yield Line(f"{what}: {step}", share(step)[1])
    found, figure = share(LEARN, CLIFF)
    yield Line(f"{what}: both, the learner", figure, "< 5 %", found < 0.05)


def lines(data: Path) -> Iterator[Line]:
    folder, threads = data / "face_videos", cv2.getNumThreads()
    for video in VIDEOS:
        for n in sorted({1, threads}):
            yield from detection(folder, video, n)
    cv2.setNumThreads(threads)
    yield from vectors(folder)
    for video, side in (("david", 32), ("david", 96), ("faceocc2", 96)):
        yield from everything(folder, video, side)


if __name__ == "__main__":
    run_with_data("From frames to vectors", __doc__, lines)
