"""What a job costs: seconds and bytes of each of its tasks, from constants of one core.

With n rows of d features, k vertices, m more with labels, V of which M merge away, L = ln(n / k):

    sketch  = c0 + n (c1 + c2 d) + (n k - k² / 2) (c3 + c4 d) + c5 k (1 + L) + c6 k² L
    merge   = c0 + V (c1 + c2 d) + V M (c3 + c4 d)
    solve   = c0 + c1 d + k (c2 + c3 d) + k² (c4 + c5 d), once up to 2000 vertices, once above
    label   = c0 + n (c1 + c2 d) + n k (c3 + c4 d) + c5 n m

About k (1 + L) rows of a part found a vertex, if rows come in no order; k L of them have to leave
again, and each time somebody leaves all k are looked through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from _cluster import Phase, Task
from scipy.optimize import nnls

from labelwalk.distributed.model import MAX_DENSE_VERTICES

Terms = Callable[..., list[float]]
NOTHING_FIRST: Mapping[str, float] = {}


def of_sketch(n: float, k: float, d: float) -> list[float]:
    k = min(n, k)
    pairs, more = n * k - k * k / 2, log(n / k)
    return [1.0, n, n * d, pairs, pairs * d, k * (1.0 + more), k * k * more]


def of_merge(v: float, k: float, d: float) -> list[float]:
    pairs = v * max(0.0, v - k)
    return [1.0, v, v * d, pairs, pairs * d]


def of_solve(k: float, d: float) -> list[float]:
    return [1.0, d, k, k * d, k * k, k * k * d]


def of_label(n: float, k: float, m: float, d: float) -> list[float]:
    return [1.0, n, n * d, n * k, n * k * d, n * m]


class Law(NamedTuple):
    """Seconds as a sum of terms."""

    terms: Terms
    constants: tuple[float, ...]
    error: float  # the largest, relative, over what it was fitted to

    def __call__(self, *size: float) -> float:
        return float(np.dot(self.constants, self.terms(*size)))


def fitted(terms: Terms, sizes: Sequence[tuple[float, ...]], seconds: Sequence[float]) -> Law:
    """Return constants, none below 0, with the least sum of squares of relative errors."""
    table = np.array([terms(*size) for size in sizes]) / np.array(seconds)[:, None]
    unit = table.max(axis=0)
    constants = nnls(table / unit, np.ones(len(table)))[0] / unit
    return Law(terms, tuple(constants.tolist()), float(np.abs(table @ constants - 1.0).max()))


class Constants(NamedTuple):
    """What was measured on one core of a machine."""

    sketch: Law
    merge: Law
    small: Law  # solved, up to MAX_DENSE_VERTICES vertices
    large: Law  # solved, above
    label: Law
    read_bytes: float  # a value
    written_bytes: float  # a value, in the output
    answer_bytes: float  # a row
    opening: float  # seconds, a file, when the job is planned
    writing: float  # bytes a second that reach the disk
    closing: float  # seconds until a file is safe on it


class Shape(NamedTuple):
    """What a job is about."""

    rows: int
    files: int
    k: int
    d: int = 64
    classes: int = 10
    labels: int = 40
    fan_in: int = 2


def sketch_bytes(k: float, d: float) -> float:
    """Points and means in double precision, how many, how far, and a label that is not there."""
    return k * (2 * 8 * d + 8 + 8 + 4)


def model_bytes(k: float, d: float, classes: float) -> float:
    """Points and probabilities, bandwidth, weight, error, and whether it can be reached."""
    return k * (8 * d + 8 * classes + 3 * 8 + 1)


def phases_of(
    shape: Shape, constants: Constants, first: Mapping[str, float] = NOTHING_FIRST
) -> list[Phase]:
    """Return the tasks of `labelwalk.distributed.job.run`, where each file is one part.

    `first` has the seconds until a new worker is ready for the tasks of a phase.
    """
    k, d = shape.k, shape.d
    parts = [
        shape.rows * (i + 1) // shape.files - shape.rows * i // shape.files
        for i in range(shape.files)
    ]
    planned = Phase("plan", [Task(constants.opening * shape.files)], on_driver=True)
    sketches = [_sketch_task(n, shape, constants) for n in parts]
    sizes = [float(min(n, k)) for n in parts]
    merges = []
    while len(sizes) > 1:
        groups = [sizes[i : i + shape.fan_in] for i in range(0, len(sizes), shape.fan_in)]
        ready = Task(0.0 if merges else first.get("merge", 0.0))
        tasks = [_merge_task(sum(one), shape, constants) for one in groups if len(one) > 1]
        merges.append(Phase("merge", tasks, first=ready))
        sizes = [min(sum(one), k) for one in groups]
    law = constants.small if sizes[0] <= MAX_DENSE_VERTICES else constants.large
    model = model_bytes(sizes[0], d, shape.classes)
    solution = Task(
        law(sizes[0], d) + constants.closing, read=sketch_bytes(sizes[0], d), written=model
    )
    label = [_label_task(n, shape, constants) for n in parts]
    return [
        planned,
        Phase("sketch", sketches, first=Task(first.get("sketch", 0.0))),
        *merges,
        Phase("solve", [solution], on_driver=True),
        Phase("label", label, first=Task(first.get("label", 0.0), read=model)),
    ]


def _sketch_task(n: int, shape: Shape, constants: Constants) -> Task:
    return Task(
        constants.sketch(n, shape.k, shape.d) + constants.closing,
        read=n * shape.d * constants.read_bytes,
        written=sketch_bytes(min(n, shape.k), shape.d),
    )


def _merge_task(v: float, shape: Shape, constants: Constants) -> Task:
    return Task(
        constants.merge(v, shape.k, shape.d) + constants.closing,
        read=sketch_bytes(v, shape.d),
        written=sketch_bytes(min(v, shape.k), shape.d),
    )


def _label_task(n: int, shape: Shape, constants: Constants) -> Task:
    return Task(
        constants.label(n, shape.k, shape.labels, shape.d) + constants.closing,
        read=n * shape.d * constants.read_bytes,
        written=n * (shape.d * constants.written_bytes + constants.answer_bytes),
    )
