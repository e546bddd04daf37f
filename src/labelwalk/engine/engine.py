"""One stream through one graph: run the compiled loop, and do what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from time import perf_counter

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.engine import (
    bandwidth,
    cover,
    departure,
    forgetting,
    memory,
    signs,
    state,
    tuning,
    undo,
    union,
    weights,
)
from labelwalk.engine.frozen import Frozen, frozen
from labelwalk.interrupts import deliver_interrupts
from labelwalk.kernels import loop
from labelwalk.kernels.answer import KernelAnswers, balance, extend_rows
from labelwalk.kernels.compare import compare_with, draw, is_outlier
from labelwalk.kernels.counters import NEVER, NO_RECORD, NO_ROW, SOLVED, WAITING
from labelwalk.kernels.cover import UNLABELLED, compare_row
from labelwalk.kernels.system import System, rebuild
from labelwalk.settings import Settings
from labelwalk.solver import relaxation
from labelwalk.verdicts import blank_answers

FIRST_CAPACITY = 64
BALANCED_EVERY = 32  # examples
FIRST_CHOICE = 64
MANY = 64  # rows for which a screen is worth its making
# No interrupt can stop the compiled loop, so it is run in blocks of rows that take about so long.
BLOCK_S = 0.01
FIRST_BLOCK, LARGEST_BLOCK = 16, 4096  # rows
MOST_EVENTS = 1000  # that one example can wait for; a handful is usual


class Engine:
    """The state of a learner, and every way it can change."""

    def __init__(self, settings: Settings, now: state.State) -> None:
        self.settings = settings
        self.rules = settings.rules()
        self.now = now
        self.shares = np.ones(0)
        self._settled: tuple[System, Floats] | None = None
        self._frozen: Frozen | None = None

    @classmethod
    def start(cls, settings: Settings, n_features: int) -> Engine:
        """Return an engine that has seen nothing."""
        now = state.empty(
            FIRST_CAPACITY,
            n_features,
            0,
            moving=settings.moving,
            remember=settings.remember,
        )
        bandwidth.schedule(now.counters, settings.similarity)
        if settings.half_life is not None:
            forgetting.schedule(now.counters, settings.half_life)
        if tuning.is_due(settings):
            now.counters.choose_at_seen = FIRST_CHOICE
        return cls(settings, now)

    def learn(self, rows: Floats, codes: Ints, shares: Floats) -> KernelAnswers:
        """Learn rows in order, all with their classes or all without (UNLABELLED, BARRED).

        Labels are learned such that they can be taken back.
        """
        taught = codes[0] >= 0
        # by name and not as attributes, which take microseconds: this is all that most calls need
        if not taught and self.now.progress["n_pending"][0] == NO_RECORD:
            return self.feed(rows, codes, shares)
        before = int(self.now.counters.n_seen)
        if taught:
            undo.record(self.now)
        try:
            return self.feed(rows, codes, shares)
        finally:
            counters = self.now.counters
            if taught and counters.n_pending >= 0:
                counters.n_pending += counters.n_seen - before
            if counters.n_pending == 0 or (not taught and counters.n_seen > before):
                undo.drop_record(self.now)

    def feed(self, rows: Floats, codes: Ints, shares: Floats) -> KernelAnswers:
        """Learn rows in order, taught ones (class code) or not (UNLABELLED); answer the latter.

        The caller holds interrupts; they take effect between two blocks of rows.
        `shares` is what each class is believed to have of the stream, where there is a prior: of
        all that are known from the first row on. After an error, the rows before stay learned,
        with their classes.
        """
        if self.now.progress["stage"][0] != WAITING:
            raise RuntimeError(
                "this learner failed in the middle of an example and cannot go on. "
                "Load it from its last file."
            )
        n_known, n_classes = self.now.n_classes, len(shares)
        self.shares = shares
        self._know(n_classes)
        self._settled = self._frozen = None
        answers = blank_answers(len(rows), n_classes)
        row, block = 0, FIRST_BLOCK
        try:
            while row < len(rows):
                if row > 0:
                    deliver_interrupts()
                start, began_s = row, perf_counter()
                row, event = self._run(rows[: row + block], codes, row, answers)
                if event != loop.DONE:
                    row = self._finish(event, rows[: row + 1], codes, row, answers)
                block = next_block(row - start, perf_counter() - began_s)
        except BaseException:
            self._know(max(n_known, 1 + int(codes[:row].max(initial=-1))))
            raise
        return answers

    def teach_later(self, number: int, x: Floats, code: int, shares: Floats) -> None:
        """Teach an example that is remembered, as if it came again with its label."""
        self.now.counters.id = number
        try:
            self.learn(x, np.array([code]), shares)
        finally:
            if self.now.counters.stage == WAITING:
                self.now.counters.id = NO_ROW

    def taught(self, number: int) -> int:
        """Return the class an example was taught, or UNLABELLED."""
        i = departure.taught_vertex(self.now, number)
        return int(self.now.vertices.label[i]) if i >= 0 else UNLABELLED

    def retract(self, number: int) -> None:
        """Take the label of an example back, and the example with it."""
        now, i = self.now, departure.taught_vertex(self.now, number)
        since = departure.taught_when(now, number)
        departure.untell(now, i, number)
        self._draw_without(since, 1)

    def retract_class(self, code: int) -> None:
        """Take all labels of a class back, and the examples with them."""
        now = self.now
        gone = np.flatnonzero(now.vertices.label[: now.n] == code)
        since = departure.class_taught_since(now, code)
        n_labels = int(now.vertices.taught[gone].sum())
        departure.remove(now, gone)
        now.memory.seen_label[now.memory.seen_label == code] = UNLABELLED
        self._draw_without(since, n_labels)

    def forget_class(self, code: int) -> None:
        """Take all labels of a class back, and strike the class out."""
        self.retract_class(code)
        self.now = state.without_class(self.now, code)

    def _draw_without(self, since: int, n_labels: int) -> None:
        """Draw the graph without labels that have left: as it was, or by measuring it again."""
        now = self.now
        self._settled = self._frozen = None
        restored = undo.taken_back(now, since, n_labels)
        if not restored and now.counters.measure_at_founded != NEVER:
            self._bandwidths_moved()
        self._draw()
        if self.rules.label_weight == 0.0:
            now.system.v[: now.n] = now.vertices.decayed_count[: now.n]
        relaxation.refresh(now.system, now.n)

    def _run(self, rows: Floats, codes: Ints, row: int, answers: KernelAnswers) -> tuple[int, int]:
        now = self.now
        places = (now.vertices, now.system, now.progress, self.rules, now.comparison, now.readout)
        kept = (now.quarantine, now.memory, now.watch)
        return loop.feed(*places, *kept, rows, codes, row, answers)

    def compile(self) -> None:
        """Compile the loop, or read it from the cache."""
        self._run(np.empty((0, 1)), np.empty(0, dtype=np.int64), 0, blank_answers(0, 0))

    def _finish(
        self, event: int, rows: Floats, codes: Ints, row: int, answers: KernelAnswers
    ) -> int:
        """Take the current row, the last of `rows`, all the way; return the next one."""
        for _ in range(MOST_EVENTS):
            self._attend(event, int(codes[row]))
            row, event = self._run(rows, codes, row, answers)
            if event == loop.DONE:
                return row
        raise RuntimeError(f"an example waits for event {event} for ever; please report this.")

    def _attend(self, event: int, code: int) -> None:
        now = self.now
        if event == loop.GROW:
            self._make_room()
        elif event == loop.MEASURE:
            self.measure()
        elif event == loop.TRIM:
            budget = self.settings.labels_per_class
            self._regroup(cover.trim_labels(now.vertices, now.counters, code, budget))
            undo.spoil(now)
        elif event == loop.COARSEN:
            self._regroup(cover.coarsen(now.vertices, now.counters, self.settings))
        elif event == loop.REBALANCE:
            weights.weigh(self.now, self.rules)
            rebuild(now.system, now.n)
        elif event == loop.BALANCE:
            relaxation.settle_vertices(now.system, now.n, self.rules.tolerance, now.readout)
            balance(now.vertices, now.system, now.n, self.shares)
            before = int(now.counters.n_seen) - 1
            now.counters.balance_at_seen = before + max(1, min(BALANCED_EVERY, before))
        elif event == loop.CHOOSE:
            self._choose()
        elif event == loop.FORGET:
            self._forget()
        elif event == loop.SOLVE:
            relaxation.solve_exactly(now.system, now.n)
            now.counters.stage = SOLVED
        elif event == loop.JUDGE:
            signs.judge(now, self.settings)

    def _choose(self) -> None:
        now, counters = self.now, self.now.counters
        counters.choose_at_seen = 4 * counters.n_seen
        chosen = tuning.choose(now, self.settings, self.rules)
        counters.sharpness = chosen.sharpness
        if (counters.width, counters.evenness) != (chosen.width, chosen.evenness):
            counters.width, counters.evenness = chosen.width, chosen.evenness
            self.measure()

    def _forget(self) -> None:
        now, half_life = self.now, self.settings.half_life
        assert half_life is not None
        undo.spoil(now)
        forgetting.schedule(now.counters, half_life)
        forgetting.fade(now, half_life)
        light = forgetting.find_light(now)
        if len(light):
            departure.remove(now, light)
        weights.weigh(now, self.rules)
        forgetting.lower_radius(now.counters, self.settings)
        relaxation.refresh(now.system, now.n)

    def _know(self, n_classes: int) -> None:
        if n_classes != self.now.n_classes:
            self.now = state.with_classes(self.now, n_classes)

    def _make_room(self) -> None:
        now, capacity = self.now, self.now.capacity
        labelled = int(now.n - now.counters.n_unlabelled)
        enough = (self.settings.n_centroids or 2 * capacity) + labelled + 16
        capacity = max(capacity + 16, min(2 * capacity, enough))
        self.now = state.resized(now, capacity, now.n_classes)

    def measure(self) -> None:
        """Measure bandwidths, and draw the graph with them where any has changed."""
        self._settled = self._frozen = None
        if self._bandwidths_moved():
            self._draw()
            relaxation.refresh(self.now.system, self.now.n)

    def _bandwidths_moved(self) -> bool:
        now, similarity = self.now, self.settings.similarity
        return bandwidth.measure(
            now.counters, similarity, self.rules, now.vertices, now.comparison.moments
        )

    def _draw(self) -> None:
        now, vertices = self.now, self.now.vertices
        draw(vertices.mean_distances, vertices.bandwidth, now.n, self.rules.cut, now.system.w)

    def _regroup(self, regrouping: cover.Regrouping) -> None:
        counters = self.now.counters
        relaxation.keep(self.now.system, regrouping.kept)
        counters.vertex = regrouping.heir[counters.vertex]
        memory.follow(self.now.memory, regrouping.heir)
        bandwidth.measure_soon(counters)
        self._draw()
        weights.weigh(self.now, self.rules)
        relaxation.refresh(self.now.system, self.now.n)

    def extend(self, rows: Floats, shares: Floats) -> KernelAnswers:
        """Answer rows without learning: the harmonic extension of the graph to each."""
        now = self.now
        answers = blank_answers(len(rows), len(shares))
        if now.n == 0:
            return answers
        if len(rows) >= MANY:
            return self.frozen(shares).answer(rows)
        system, errors = self.settled(shares)
        parts = (
            now.vertices,
            system,
            now.progress,
            self.rules,
            now.comparison,
            errors,
            now.readout,
        )
        extend_rows(*parts, rows, answers)
        return answers

    def settled(self, shares: Floats) -> tuple[System, Floats]:
        """Return a copy of the system in which every vertex is settled, and their errors.

        Where the prior is due it is brought to bear, as it would be for the next row.
        """
        if self._settled is None:
            now, counters, tolerance = self.now, self.now.counters, self.rules.tolerance
            settled = relaxation.settled_copy(now.system, now.n, tolerance, now.readout)
            if self.rules.balanced and counters.n_seen >= counters.balance_at_seen:
                balance(now.vertices, settled[0], now.n, shares)
            self._settled = settled  # only now: an interrupt must not leave half of it
        return self._settled

    def frozen(self, shares: Floats) -> Frozen:
        """Return what answers as this learner does now, and learns no more."""
        if self._frozen is None:
            self._frozen = frozen(self.now, self.rules, *self.settled(shares))
        return self._frozen

    def similarities(self, x: Floats) -> Floats:
        """Return how similar a row is to every vertex; to none where it is an outlier."""
        now, n = self.now, self.now.n
        compare_row(now.vertices, now.counters, x, now.comparison)
        compare_with(now.vertices.bandwidth, now.counters, self.rules, now.comparison)
        outlier = is_outlier(now.vertices.bandwidth, now.counters, self.rules, now.comparison)
        return np.zeros(n) if outlier else now.comparison.similarities[:n].copy()

    @property
    def sink(self) -> float:
        """The sink of a row that is not in the graph."""
        return float(
            self.rules.sink
            * (self.now.counters.mean_weight if self.rules.label_weight > 0 else 1.0)
        )

    def certificate(self) -> float:
        """Return the largest proven error of any vertex as it stands."""
        return float(relaxation.proven_errors(self.now.system, self.now.n).max())

    def merge(self, theirs: state.State, order: list[int]) -> None:
        """Take in the vertices of a state with our class codes, its features in another order."""
        for part in (theirs.vertices.points, theirs.vertices.means, theirs.comparison.moments.T):
            part[:] = part[order[: len(part)]]  # there may be no means
        both = self.now = union.united(self.now, theirs)
        self._settled = self._frozen = None
        regrouping = cover.unite(both.vertices, both.counters, self.settings, both.n_classes)
        relaxation.keep(both.system, regrouping.kept)
        self.stand()

    def stand(self) -> None:
        """Measure, draw, weigh and solve anew, from the cover alone; what came before is gone."""
        now = self.now
        memory.forget(now.memory, now.counters)
        undo.drop_record(now)
        self._bandwidths_moved()
        self.rebuild_graph()
        signs.watch_anew(now)

    def rebuild_graph(self) -> None:
        """Draw, weigh and solve anew, from the cover and its bandwidths."""
        self._draw()
        weights.weigh(self.now, self.rules)
        relaxation.refresh(self.now.system, self.now.n)
        relaxation.solve_exactly(self.now.system, self.now.n)


def next_block(n_rows: int, took_s: float) -> int:
    """Return how many rows to run next, at most twice as many, given how long the last ones took.

    Examples
    --------
    >>> next_block(16, took_s=1e-4), next_block(100, took_s=0.02), next_block(1, took_s=1.0)
    (32, 50, 1)
    """
    return max(1, min(2 * n_rows, LARGEST_BLOCK, int(n_rows * BLOCK_S / max(took_s, 1e-9))))


def class_by_class(codes: Ints, n_known: int) -> Iterator[tuple[slice, int]]:
    """Yield runs of rows in which no row but the first has a new class, and how many are known.

    So one call does what several would do: a class is unknown until its first row.

    Examples
    --------
    >>> for rows, n_classes in class_by_class(np.array([0, 2, -1, 0, 3]), n_known=2):
    ...     print(rows.start, rows.stop, n_classes)
    0 1 2
    1 4 3
    4 5 4
    """
    known = np.maximum.accumulate(np.maximum(codes + 1, n_known))
    starts = np.flatnonzero(np.diff(known, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(codes)]):
        yield slice(start, stop), int(known[start])
