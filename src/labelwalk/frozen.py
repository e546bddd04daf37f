"""A learner that answers and learns no more: near vertices are found by a screen."""

from __future__ import annotations

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.decision import blank_answers
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.labelling import Reach, Solved, label_rows
from labelwalk.kernels.progress import Rules
from labelwalk.kernels.system import System
from labelwalk.kernels.verdict import Answers
from labelwalk.screen import Screen
from labelwalk.state import State


class Frozen:
    """A solved graph, ready to answer many rows.

    Parameters
    ----------
    solved : Solved
    reach : Reach
    """

    def __init__(self, solved: Solved, reach: Reach) -> None:
        self.solved, self.reach = solved, reach
        self._screen = Screen(*solved.points.shape)
        self._screen.put(0, solved.points)

    def answer(self, rows: Floats) -> Answers:
        """Answer rows, each by the harmonic extension of the graph to it."""
        answers = blank_answers(len(rows), self.solved.f.shape[1])
        for some, sight in self._screen.sights(rows, len(self.solved.points)):
            label_rows(self.solved, self.reach, sight, rows[some], answers, some.start)
        return answers


def frozen(now: State, rules: Rules, system: System, errors: Floats) -> Frozen:
    """Return what answers as a state does, whose vertices are settled within these errors."""
    here, n = now.here, now.n
    label = now.vertices.label[:n]
    solved = Solved(
        points=now.representatives.T.copy(),
        bandwidth=now.vertices.bandwidth[:n].copy(),
        weight=system.v[:n].copy(),
        lit=system.lit[system.component[:n]],
        f=system.f[1:, :n].T.copy(),
        errors=errors[:n].copy(),
        labelled=np.flatnonzero(label != UNLABELLED),
        label=label[label != UNLABELLED],
        bias=system.bias.copy(),
    )
    is_warm = here.n_seen > rules.warm_up
    reach = Reach(
        sink=float(rules.sink * (here.mu if rules.label_weight > 0.0 else 1.0)),
        cut=rules.cut,
        neighbour=rules.neighbour,
        width=float(here.width),
        evenness=float(here.evenness),
        typical=float(here.typical),
        sigma=float(here.sigma),
        far=float(max(rules.cut, rules.far / here.width)) if is_warm else np.inf,
        guess=rules.guess,
        sharpness=float(here.sharpness),
    )
    return Frozen(solved, reach)
