"""One stream through one graph: run the compiled loop, and do what it asks for."""

from __future__ import annotations

import numpy as np

from labelwalk import bandwidth, cover, relaxation, state, union
from labelwalk.arrays import Floats, Ints
from labelwalk.decision import blank_answers
from labelwalk.kernels import stream
from labelwalk.kernels.comparison import gaussian_matrix
from labelwalk.kernels.extension import extend, extend_rows
from labelwalk.kernels.progress import COMPARED, SOLVED, WAITING
from labelwalk.kernels.system import System, rebuild
from labelwalk.kernels.verdict import Answers
from labelwalk.settings import Settings
from labelwalk.similarity import Gaussian, compare

FIRST_CAPACITY = 64


class Engine:
    """The state of a learner, and every way it can change."""

    def __init__(self, settings: Settings, now: state.State) -> None:
        self.settings = settings
        self.rules = settings.rules()
        self.now = now
        self._settled: tuple[System, Floats] | None = None

    @classmethod
    def start(cls, settings: Settings, n_features: int) -> Engine:
        """Return an engine that has seen nothing."""
        now = state.empty(FIRST_CAPACITY, n_features, 0)
        bandwidth.schedule(now.here, settings.similarity)
        return cls(settings, now)

    def feed(self, rows: Floats, codes: Ints, n_classes: int) -> Answers:
        """Learn rows in order, taught ones (class code) or not (UNLABELLED); answer the latter.

        Where a function of the user's raises, the rows before stay learned, with their classes.
        """
        n_known = self.now.n_classes
        self._make_room(n_classes)
        self._settled = None
        answers = blank_answers(len(rows), n_classes)
        row, event = 0, stream.DONE
        while row < len(rows):
            now = self.now
            places = (now.vertices, now.system, now.progress, self.rules, now.beside)
            row, event = stream.feed(*places, rows, codes, row, answers)
            if event == stream.COMPARE:
                try:
                    self._compare_arrived(rows[row])
                except BaseException:
                    self._make_room(max(n_known, 1 + int(codes[:row].max(initial=-1))))
                    raise
            elif event != stream.DONE:
                self._attend(event, int(codes[row]))
        return answers

    def _attend(self, event: int, code: int) -> None:
        now = self.now
        if event == stream.GROW:
            self._make_room(now.n_classes)
        elif event == stream.MEASURE:
            self._measure()
        elif event == stream.TRIM:
            budget = self.settings.labels_per_class
            self._regroup(cover.trim_labels(now.vertices, now.here, code, budget))
        elif event == stream.COARSEN:
            self._regroup(cover.coarsen(now.vertices, now.here, self.settings))
        elif event == stream.REBALANCE:
            self._weigh()
            rebuild(now.system, now.n)
        elif event == stream.SOLVE:
            relaxation.solve_exactly(now.system, now.n)
            now.here.stage = SOLVED

    def _make_room(self, n_classes: int) -> None:
        now, capacity = self.now, self.now.capacity
        if now.n == capacity:
            labelled = int(now.n - now.here.n_unlabelled)
            enough = (self.settings.n_centroids or 2 * capacity) + labelled + 16
            capacity = max(capacity + 16, min(2 * capacity, enough))
        if (capacity, n_classes) != (now.capacity, now.n_classes):
            self.now = state.resized(now, capacity, n_classes)

    def _compare(self, x: Floats) -> None:
        now, n = self.now, self.now.n
        rows = np.ascontiguousarray(now.vertices.points[:, :n].T)
        distances, similarities = compare(self.settings.similarity, x, rows, now.here.sigma)
        now.beside.distances[:n] = distances
        now.beside.similarities[:n] = similarities

    def _compare_arrived(self, x: Floats) -> None:
        here = self.now.here
        here.stage = WAITING
        here.n_seen -= 1
        self._compare(x)  # a function of the user's may raise: then the row has never come
        here.n_seen += 1
        here.stage = COMPARED

    def _measure(self) -> None:
        now, n = self.now, self.now.n
        similarity, moments = self.settings.similarity, now.beside.moments
        assert isinstance(similarity, Gaussian)
        if bandwidth.measure(now.here, similarity, moments, now.vertices.distance[:n, :n]):
            self._draw()
            relaxation.refresh(now.system, n)

    def _draw(self) -> None:
        now, here = self.now, self.now.here
        gaussian_matrix(now.vertices.distance, now.n, here.sigma, here.cutoff, now.system.w)

    def _regroup(self, regrouping: cover.Regrouping) -> None:
        here = self.now.here
        relaxation.keep(self.now.system, regrouping.kept)
        here.vertex = regrouping.heir[here.vertex]
        bandwidth.measure_soon(here)
        self._weigh()
        relaxation.refresh(self.now.system, self.now.n)

    def _weigh(self) -> None:
        now, here, n = self.now, self.now.here, self.now.n
        weights = now.system.v[:n]
        weights[:] = now.vertices.examples[:n]
        if self.rules.label_weight > 0:
            if here.n_unlabelled:
                here.mu = here.mass / here.n_unlabelled
            weights[now.system.clamped[:n]] = self.rules.label_weight * here.mu
            now.system.g[:n] = self.rules.sink * here.mu

    def extend(self, rows: Floats, n_classes: int) -> Answers:
        """Answer rows without learning: the harmonic extension of the graph to each."""
        now = self.now
        answers = blank_answers(len(rows), n_classes)
        if now.n == 0:
            return answers
        if self._settled is None:
            n, tolerance = now.n, self.rules.tolerance
            self._settled = relaxation.settled_copy(now.system, n, tolerance)
        system, errors = self._settled
        parts = (now.progress, self.rules, now.beside, errors)
        values = np.empty(n_classes)
        if not self.rules.pairwise:
            extend_rows(now.vertices, system, *parts, rows, values, answers)
        else:
            for row, x in enumerate(rows):
                self._compare(x)
                extend(system, *parts, values, answers, row)
        return answers

    def certificate(self) -> float:
        """Return the largest proven error of any vertex as it stands."""
        return float(relaxation.proven_errors(self.now.system, self.now.n).max())

    def merge(self, theirs: state.State) -> None:
        """Take in the vertices of another state whose class codes are ours."""
        similarity = self.settings.similarity
        self.now = now = union.united(self.now, theirs, similarity)
        regrouping = cover.unite(now.vertices, now.here, self.settings, now.n_classes)
        relaxation.keep(now.system, regrouping.kept)
        if isinstance(similarity, Gaussian):
            self._measure()
            self._draw()
        self._weigh()
        relaxation.refresh(now.system, now.n)
        relaxation.solve_exactly(now.system, now.n)
        self._settled = None
