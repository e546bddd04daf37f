"""A learner that answers and learns no more: an index finds near vertices."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.engine.screen import PrefilterIndex
from labelwalk.engine.state import State
from labelwalk.kernels.answer import KernelAnswers
from labelwalk.kernels.counters import KernelParams
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.nearest import ReadoutParams, SolvedGraph, answer_rows
from labelwalk.kernels.system import System
from labelwalk.verdicts import blank_answers


class Frozen:
    """A solved graph, ready to answer many rows.

    Parameters
    ----------
    solved : SolvedGraph
    params : ReadoutParams
    """

    def __init__(self, solved: SolvedGraph, params: ReadoutParams) -> None:
        self.solved, self.params = solved, params
        self._index = PrefilterIndex(*solved.points.shape)
        self._index.put(0, solved.points)

    def answer(self, rows: Floats) -> KernelAnswers:
        """Answer rows, each by the harmonic extension of the graph to it."""
        answers = blank_answers(len(rows), self.solved.f.shape[1])
        for block, bounds in self._index.bound_distances(rows, len(self.solved.points)):
            answer_rows(self.solved, self.params, bounds, rows[block], answers, block.start)
        return answers


def frozen(now: State, rules: KernelParams, system: System, errors: Floats) -> Frozen:
    """Return what answers as a state does, whose vertices are settled within these errors."""
    counters, n = now.counters, now.n
    label = now.vertices.label[:n]
    solved = SolvedGraph(
        points=now.representatives.T.copy(),
        bandwidth=now.vertices.bandwidth[:n].copy(),
        weight=system.v[:n].copy(),
        has_label=system.has_label[system.component[:n]],
        f=system.f[1:, :n].T.copy(),
        errors=errors[:n].copy(),
        labelled=np.flatnonzero(label != UNLABELLED),
        label=label[label != UNLABELLED],
        bias=system.bias.copy(),
    )
    is_warm = counters.n_seen > rules.warm_up
    params = ReadoutParams(
        sink=float(rules.sink * (counters.mean_weight if rules.label_weight > 0.0 else 1.0)),
        cut=rules.cut,
        neighbour=rules.neighbour,
        width=float(counters.width),
        evenness=float(counters.evenness),
        typical=float(counters.typical),
        sigma=float(counters.sigma),
        outlier_distance=float(max(rules.cut, rules.outlier_distance / counters.width))
        if is_warm
        else np.inf,
        nearest_fallback=rules.nearest_fallback,
        sharpness=float(counters.sharpness),
    )
    return Frozen(solved, params)
