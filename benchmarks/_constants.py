"""Constants of one core of this machine, from the real tasks of a job over made-up files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from _costs import Constants, fitted, of_label, of_merge, of_sketch, of_solve
from _made_up import CLASSES, LABELS, rows, write

from labelwalk import OnlineLearner
from labelwalk.distributed.cover import Cover, build_cover
from labelwalk.distributed.dataset import read_footer, read_footers, split_parts
from labelwalk.distributed.filesystem import Found, Place, find_files, parse_location, write_file
from labelwalk.distributed.label_files import LabelingPlan, LabelTask, label_rows
from labelwalk.distributed.model import MAX_DENSE_VERTICES, Model, model_to_bytes, solved
from labelwalk.distributed.sketch_files import (
    MergeTask,
    Reading,
    SketchTask,
    merge_sketches,
    sketch_part,
    write_sketch,
)
from labelwalk.distributed.sketches import Budget, Sketch, budget_from_settings
from labelwalk.io.examples import Columns

SETTINGS = OnlineLearner(1000).settings
WIDTHS = (16, 64)
SKETCHED = [(10_000, 200), (60_000, 200), (20_000, 1000), (60_000, 1000), (20_000, 5000)]
SKETCHED_WIDE = [(120_000, 1000), (100_000, 5000), (60_000, 20_000)]  # of many features alone
MERGED = [(200, 4), (1000, 2), (1000, 4), (5000, 2), (5000, 4)]
SOLVED = [200, 1000, 1900, 5000, 10_000]
LABELLED = [  # rows, vertices, labels of each class
    (5000, 200, 4),
    (40_000, 200, 4),
    (20_000, 200, 64),
    (40_000, 1000, 4),
    (20_000, 5000, 4),
]
OPENED = 64  # times the same file, as a job that is planned opens others
Size = tuple[float, ...]


def reading(d: int) -> Reading:
    return Reading(Columns(), "", tuple(f"x{j}" for j in range(d)))


def budget(k: int) -> Budget:
    return budget_from_settings(SETTINGS)._replace(n_centroids=k)


def seconds(call: Callable[[], Any]) -> float:
    """Return the processor's seconds, the lesser of two tries where they are short."""
    took = []
    while not took or (sum(took) < 1.0 and len(took) < 2):
        begun = process_time()
        call()
        took.append(process_time() - begun)
    return min(took)


def small_model(d: int) -> Model:
    """Return what names made-up rows, from a few hundred of them."""
    made, truth = rows(500, d, 1)
    names = [f"class {one}" for one in truth[:50]]
    return solved(build_cover([made], 100), made[:50].astype(float), names, SETTINGS)


def sketching(file: Found, d: int, k: int, out: Place) -> SketchTask:
    """Return the task of a file that is one part."""
    (part,) = split_parts(read_footer(file))
    return SketchTask(file, part, reading(d), budget(k), out)


def labelling(file: Found, d: int, model: Place, sign: str, out: Place) -> LabelTask:
    """Return the task of a file that is one part."""
    folder = parse_location(os.path.dirname(out.path))
    naming = LabelingPlan(reading(d), "predicted_", model, sign, folder)
    return LabelTask(file, None, naming, out, folder / "counts.json")


class Measuring:
    """Real tasks in a folder, timed one after another.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sketched: dict[Size, float] = {}
        self.merged: dict[Size, float] = {}
        self.solved: dict[Size, float] = {}
        self.labelled: dict[Size, float] = {}
        self._covers: dict[tuple[int, int], Cover] = {}

    def constants(self) -> Constants:
        """Do all that is to be done, and return what it says."""
        self._warm_up()
        for d in WIDTHS:
            for n, k in SKETCHED + SKETCHED_WIDE * (d == WIDTHS[-1]):
                self.sketched[n, k, d] = self.sketch(n, k, d)
            for k, many in MERGED:
                self.merged[k * many, k, d] = self.merge(k, many, d)
            for k in SOLVED:
                self.solved[k, d] = self.solve(k, d)
            for n, k, each in LABELLED:
                self.labelled[n, k, each * CLASSES, d] = self.label(n, k, each, d)
        small = {size: own for size, own in self.solved.items() if size[0] <= MAX_DENSE_VERTICES}
        large = {size: own for size, own in self.solved.items() if size[0] > MAX_DENSE_VERTICES}
        writing, closing = self._disk()
        read, written, answer = self._bytes()
        return Constants(
            sketch=fitted(of_sketch, list(self.sketched), list(self.sketched.values())),
            merge=fitted(of_merge, list(self.merged), list(self.merged.values())),
            small=fitted(of_solve, list(small), list(small.values())),
            large=fitted(of_solve, list(large), list(large.values())),
            label=fitted(of_label, list(self.labelled), list(self.labelled.values())),
            read_bytes=read,
            written_bytes=written,
            answer_bytes=answer,
            opening=self._opening(),
            writing=writing,
            closing=closing,
        )

    def sketch(self, n: int, k: int, d: int) -> float:
        """Time `sketch_part`."""
        task = sketching(self._file(n, d), d, k, self._out("s.arrow"))
        return seconds(lambda: sketch_part(task))

    def merge(self, k: int, many: int, d: int) -> float:
        """Time `merge_some`, of sketches of k vertices each."""
        places = []
        for i in range(many):
            cover = build_cover([rows(k + k // 4, d, i)[0]], k + k // 4)
            cover = build_cover([cover.points], k)
            places.append(self._out(f"m{i}.arrow"))
            write_sketch(places[-1], Sketch(cover, {}, reading(d).features))
        task = MergeTask(tuple(places), budget(k), self._out("merged.arrow"))
        return seconds(lambda: merge_sketches(task))

    def solve(self, k: int, d: int) -> float:
        """Time `solved`."""
        self._model(k, d)  # covers its rows
        return seconds(lambda: self._model(k, d))

    def label(self, n: int, k: int, each: int, d: int) -> float:
        """Time `label_rows`; the model is at hand."""
        file, model = self._file(n, d), self._out("model.lw")
        write_file(model, lambda out: out.write(model_to_bytes(self._model(k, d, each))))
        task = labelling(file, d, model, f"{k}, {d}, {each}", self._out(file.name))
        label_rows(task._replace(file=self._file(100, d)))
        return seconds(lambda: label_rows(task))

    def _warm_up(self) -> None:
        """Have kernels compiled, or loaded."""
        for k in (50, MAX_DENSE_VERTICES + 500):
            self.sketch(4000, k, WIDTHS[0])
            self.label(100, k, LABELS, WIDTHS[0])
        self.merge(50, 2, WIDTHS[0])

    def _model(self, k: int, d: int, each: int = LABELS) -> Model:
        made, truth = rows(1000, d, 0)
        if (k, d) not in self._covers:
            self._covers[k, d] = build_cover([rows(2 * k + 1000, d, 1)[0]], k)
        taught = np.concatenate([np.flatnonzero(truth == one)[:each] for one in range(CLASSES)])
        names = [f"class {one}" for one in truth[taught]]
        return solved(self._covers[k, d], made[taught].astype(float), names, SETTINGS)

    def _file(self, n: int, d: int) -> Found:
        path = self.folder / f"in/{n}-{d}.parquet"
        if not path.exists():
            write(path, n, d)
        return find_files(str(path))[0]

    def _out(self, name: str) -> Place:
        return parse_location(str(self.folder / "out" / name))

    def _bytes(self) -> tuple[float, float, float]:
        """Return bytes a value in, a value out, and a row's answer: by two widths."""
        n = LABELLED[-2][0]
        into = [self._file(n, d).size / n for d in WIDTHS]
        out = [(self.folder / f"out/{n}-{d}.parquet").stat().st_size / n for d in WIDTHS]
        written = (out[1] - out[0]) / (WIDTHS[1] - WIDTHS[0])
        return into[1] / WIDTHS[1], written, out[1] - written * WIDTHS[1]

    def _opening(self) -> float:
        files = [self._file(LABELLED[-2][0], WIDTHS[1])] * OPENED
        begun = perf_counter()
        read_footers(files)
        return (perf_counter() - begun) / OPENED

    def _disk(self) -> tuple[float, float]:
        """Return how many bytes a second reach the disk, and what a file costs beside."""
        took = {}
        for size in (1 << 12, 1 << 26):
            content = os.urandom(size)
            begun = perf_counter()
            for _ in range(4):
                write_file(self._out("bytes"), lambda out, content=content: out.write(content))
            took[size] = (perf_counter() - begun) / 4
        closing = took[1 << 12]
        return (1 << 26) / max(took[1 << 26] - closing, 1e-9), closing
