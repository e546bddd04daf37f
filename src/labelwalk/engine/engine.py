"""The engine of a learner: scales rows, runs the compiled loop and handles its events."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import Self, TypeAlias

import numpy as np

from labelwalk.arrays import Floats, Ints, SmallInts
from labelwalk.concurrency import deliver_interrupts
from labelwalk.engine import bandwidth, cover, health_metrics, label_removal, weights
from labelwalk.engine.batch_predictor import BatchPredictor, compute_row_sink, freeze
from labelwalk.engine.scaling import Scale, check_same_scale
from labelwalk.engine.state import State, create_state, merge_states, recode_classes, resize
from labelwalk.kernels.answer import KernelAnswers, extend_rows, fit_biases
from labelwalk.kernels.compare import compute_row_similarities, compute_similarities, is_outlier
from labelwalk.kernels.counters import NEVER, NO_RECORD, NO_ROW, RowStage
from labelwalk.kernels.cover import UNLABELLED, measure_row
from labelwalk.kernels.loop import LoopEvent, feed
from labelwalk.kernels.system import System, rebuild
from labelwalk.settings import Settings
from labelwalk.solver import relaxation
from labelwalk.verdicts import blank_answers, joined

FIRST_CAPACITY = 64
BALANCED_EVERY = 32  # examples
FIRST_CHOICE = 64
MANY = 64  # rows from which building an index pays
# No interrupt can stop the compiled loop, so it is run in blocks of rows that take about so long.
BLOCK_S = 0.01
FIRST_BLOCK, LARGEST_BLOCK = 16, 4096  # rows
MOST_EVENTS = 1000  # that one example can wait for; a handful is usual

GetShares: TypeAlias = Callable[[int], Floats]
"""Return the expected shares of the first n classes, which a prior may set."""


class Engine:
    """The state and the scale of a learner, and all operations that change them.

    The caller defers interrupts; they take effect between two blocks of rows.
    """

    def __init__(self, settings: Settings, state: State, scale: Scale) -> None:
        self.settings = settings
        self.rules = settings.rules()
        self.state = state
        self.scale = scale
        self.shares = np.ones(0)
        self._settled: tuple[System, Floats] | None = None
        self._frozen: BatchPredictor | None = None

    @classmethod
    def start(cls, settings: Settings, n_features: int, scale: Scale) -> Self:
        """Return an engine that has seen nothing."""
        state = create_state(
            FIRST_CAPACITY,
            n_features,
            0,
            moving=settings.moving,
            remember=settings.remember,
        )
        bandwidth.schedule(state.counters, settings.similarity)
        if settings.half_life is not None:
            weights.schedule_fading(state.counters, settings.half_life)
        if bandwidth.needs_tuning(settings):
            state.counters.choose_at_seen = FIRST_CHOICE
        return cls(settings, state, scale)

    def teach(self, rows: Floats, codes: Ints, get_shares: GetShares) -> None:
        """Learn rows with classes, which may be new, in order."""
        for block, n_classes in split_at_new_classes(codes, self.state.n_classes):
            self.learn(rows[block], codes[block], n_classes, get_shares)

    def learn(
        self, rows: Floats, codes: Ints, n_classes: int, get_shares: GetShares
    ) -> KernelAnswers:
        """Learn rows in order, all with classes or all without (UNLABELLED, ANSWER_ONLY).

        While the scale is measured they are learned one at a time, then all together.
        """
        deliver_interrupts()
        if self.state.n_features == 0:
            self.state = self.start(self.settings, rows.shape[1], self.scale).state
        answers, row = [], 0
        while not self.scale.frozen and row < len(rows):
            if row > 0:
                deliver_interrupts()
            answers.append(self._warm_up(rows[row : row + 1], codes[row : row + 1], get_shares))
            row += 1
        if row < len(rows):
            scaled = self.scale.scaled(rows[row:])
            answers.append(self._learn_scaled(scaled, codes[row:], get_shares(n_classes)))
        return joined(answers)

    def _warm_up(self, row: Floats, code: Ints, get_shares: GetShares) -> KernelAnswers:
        """Learn one row; if it changes the scale, learn all rows so far again."""
        scale = self.scale.with_example(row, code)
        if scale.just_measured:
            engine = self.start(self.settings, row.shape[1], scale)
            rows, codes = scale.scaled(scale.rows), scale.labels
            for block, n_classes in split_at_new_classes(codes, 0):
                answers = engine.feed(rows[block], codes[block], get_shares(n_classes))
            self.state = engine.state
            self._settled = self._frozen = None
        else:
            shares = get_shares(1 + int(scale.labels.max()))
            answers = self._learn_scaled(scale.scaled(row), code, shares)
        # Assigned last, so that an error or an interrupt leaves the learner as it was.
        self.scale = scale
        if scale.complete:
            scale.freeze()
        return KernelAnswers._make(part[-1:] for part in answers)

    def _learn_scaled(self, rows: Floats, codes: Ints, shares: Floats) -> KernelAnswers:
        """Learn rows so that labels can be retracted."""
        taught = codes[0] >= 0
        # by name and not as attributes, which take microseconds: this is all that most calls need
        if not taught and self.state.progress["n_pending"][0] == NO_RECORD:
            return self.feed(rows, codes, shares)
        before = int(self.state.counters.n_seen)
        if taught:
            label_removal.begin_undo(self.state)
        try:
            return self.feed(rows, codes, shares)
        finally:
            counters = self.state.counters
            if taught and counters.n_pending >= 0:
                counters.n_pending += counters.n_seen - before
            if counters.n_pending == 0 or (not taught and counters.n_seen > before):
                label_removal.end_undo(self.state)

    def feed(self, rows: Floats, codes: Ints, shares: Floats) -> KernelAnswers:
        """Learn scaled rows in order, with class codes or UNLABELLED; answer the unlabelled ones.

        `shares` are those of all classes known at the first row. After an error, the previous rows
        stay learned, with their classes.
        """
        if self.state.progress["stage"].item() != RowStage.WAITING:
            raise RuntimeError(
                "this learner failed in the middle of an example and cannot continue. Load it "
                "from its last file."
            )
        n_known, n_classes = self.state.n_classes, len(shares)
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
                if event != LoopEvent.DONE:
                    row = self._finish(event, rows[: row + 1], codes, row, answers)
                block = next_block(row - start, perf_counter() - began_s)
        except BaseException:
            self._know(max(n_known, 1 + int(codes[:row].max(initial=-1))))
            raise
        return answers

    def teach_later(self, number: int, x: Floats, code: int, shares: Floats) -> None:
        """Teach a remembered example, as if it arrived again with its label."""
        self.state.counters.id = number
        try:
            self._learn_scaled(x, np.array([code]), shares)
        finally:
            if int(self.state.counters.stage) == RowStage.WAITING:
                self.state.counters.id = NO_ROW
        self.scale.freeze()

    def find_label(self, number: int) -> int:
        """Return the class of a taught example, or UNLABELLED."""
        i = label_removal.find_taught_vertex(self.state, number)
        return int(self.state.vertices.label[i]) if i >= 0 else UNLABELLED

    def retract(self, number: int) -> None:
        """Remove a taught example and its label; raise ValueError if it has none."""
        state = self.state
        label_removal.check_exists(state.counters, number)
        i = label_removal.find_taught_vertex(state, number)
        if i < 0 or state.vertices.label[i] == UNLABELLED:
            raise ValueError(
                f"example_id={number} is not a labelled example: it was never taught, was "
                "retracted, or merged with other labels of its class. Use retract(label=...) "
                "to remove all labels of the class."
            )
        self.scale.freeze()
        since = label_removal.find_taught_time(state, number)
        label_removal.remove_label(state, i, number)
        self._draw_without(since, 1)

    def retract_class(self, code: int) -> None:
        """Remove all labels of a class, and their examples."""
        self.scale.freeze()
        state = self.state
        gone = np.flatnonzero(state.vertices.label[: state.n] == code)
        since = label_removal.find_class_start(state, code)
        n_labels = int(state.vertices.taught[gone].sum())
        label_removal.remove_vertices(state, gone)
        state.memory.seen_label[state.memory.seen_label == code] = UNLABELLED
        self._draw_without(since, n_labels)

    def forget_class(self, code: int) -> None:
        """Remove all labels of a class, and the class itself."""
        self.retract_class(code)
        codes = np.arange(self.state.n_classes, dtype=np.int32)
        codes[code:] -= 1
        codes[code] = -1
        self.state = recode_classes(self.state, codes, self.state.n_classes - 1)

    def _draw_without(self, since: int, n_labels: int) -> None:
        """Rebuild the graph without removed labels: restored, or measured again."""
        state = self.state
        self._settled = self._frozen = None
        restored = label_removal.roll_back(state, since, n_labels)
        if not restored and state.counters.measure_at_founded != NEVER:
            self._bandwidths_moved()
        self._draw()
        if self.rules.label_weight == 0.0:
            state.system.v[: state.n] = state.vertices.decayed_count[: state.n]
        relaxation.refresh(state.system, state.n)

    def _run(self, rows: Floats, codes: Ints, row: int, answers: KernelAnswers) -> tuple[int, int]:
        state = self.state
        graph = (state.vertices, state.system, state.progress, self.rules, state.comparison)
        work = (state.readout, state.quarantine, state.memory, state.watch)
        return feed(*graph, *work, rows, codes, row, answers)

    def compile(self) -> None:
        """Compile the loop, or load it from the cache."""
        self._run(np.empty((0, 1)), np.empty(0, dtype=np.int64), 0, blank_answers(0, 0))

    def _finish(
        self, event: int, rows: Floats, codes: Ints, row: int, answers: KernelAnswers
    ) -> int:
        """Handle events until the last of `rows`, which is current, is done; return the next."""
        for _ in range(MOST_EVENTS):
            self._attend(event, int(codes[row]))
            row, event = self._run(rows, codes, row, answers)
            if event == LoopEvent.DONE:
                return row
        raise RuntimeError(f"an example is stuck at event {event}. Please report this bug.")

    def _attend(self, event: int, code: int) -> None:
        state = self.state
        if event == LoopEvent.GROW:
            self._make_room()
        elif event == LoopEvent.MEASURE:
            self.measure()
        elif event == LoopEvent.TRIM:
            budget = self.settings.labels_per_class
            self._regroup(cover.trim_labels(state.vertices, state.counters, code, budget))
            label_removal.invalidate_undo(state)
        elif event == LoopEvent.COARSEN:
            self._regroup(cover.coarsen(state.vertices, state.counters, self.settings))
        elif event == LoopEvent.REBALANCE:
            weights.weigh(self.state, self.rules)
            rebuild(state.system, state.n)
        elif event == LoopEvent.BALANCE:
            relaxation.settle_vertices(state.system, state.n, self.rules.tolerance, state.readout)
            fit_biases(state.vertices, state.system, state.n, self.shares)
            before = int(state.counters.n_seen) - 1
            state.counters.balance_at_seen = before + max(1, min(BALANCED_EVERY, before))
        elif event == LoopEvent.TUNE:
            self._choose()
        elif event == LoopEvent.FORGET:
            self._forget()
        elif event == LoopEvent.SOLVE:
            relaxation.solve_exactly(state.system, state.n)
            state.counters.stage = RowStage.SOLVED
        elif event == LoopEvent.CHECK_HEALTH:
            health_metrics.judge_metrics(state, self.settings)

    def _choose(self) -> None:
        state, counters = self.state, self.state.counters
        counters.choose_at_seen = 4 * counters.n_seen
        chosen = bandwidth.tune(state, self.settings, self.rules)
        counters.sharpness = chosen.sharpness
        if (counters.width, counters.evenness) != (chosen.width, chosen.evenness):
            counters.width, counters.evenness = chosen.width, chosen.evenness
            self.measure()

    def _forget(self) -> None:
        state, half_life = self.state, self.settings.half_life
        assert half_life is not None
        label_removal.invalidate_undo(state)
        weights.schedule_fading(state.counters, half_life)
        weights.fade(state, half_life)
        light = weights.find_light(state)
        if len(light):
            label_removal.remove_vertices(state, light)
        weights.weigh(state, self.rules)
        weights.lower_radius(state.counters, self.settings)
        relaxation.refresh(state.system, state.n)

    def _know(self, n_classes: int) -> None:
        if n_classes != self.state.n_classes:
            self.state = resize(self.state, self.state.capacity, n_classes)

    def _make_room(self) -> None:
        state, capacity = self.state, self.state.capacity
        labelled = int(state.n - state.counters.n_unlabelled)
        enough = (self.settings.n_centroids or 2 * capacity) + labelled + 16
        capacity = max(capacity + 16, min(2 * capacity, enough))
        self.state = resize(state, capacity, state.n_classes)

    def adjust(self, new: Settings) -> None:
        """Change the settings, and the state where it depends on them, in place."""
        state, old = self.state, self.settings
        self.settings, self.rules = new, new.rules()
        self._settled = self._frozen = None
        if state.n_features == 0:
            return
        if new.half_life != old.half_life:
            assert new.half_life is not None
            weights.schedule_fading(state.counters, new.half_life)
        if new.prior != old.prior:  # it is brought to bear from nothing, before the next answer
            state.system.bias[:] = 1.0
            state.counters.balance_at_seen = 0
        if new.sink != old.sink:
            state.system.g[: state.n] = self.sink
            relaxation.refresh(state.system, state.n)
            if state.n:
                relaxation.solve_exactly(state.system, state.n)

    def measure(self) -> None:
        """Measure bandwidths, and rebuild the graph if any has changed."""
        self._settled = self._frozen = None
        if self._bandwidths_moved():
            self._draw()
            relaxation.refresh(self.state.system, self.state.n)

    def _bandwidths_moved(self) -> bool:
        return bandwidth.measure(self.state, self.settings.similarity, self.rules)

    def _draw(self) -> None:
        state, vertices = self.state, self.state.vertices
        compute_similarities(
            vertices.mean_distances, vertices.bandwidth, state.n, self.rules.cut, state.system.w
        )

    def _regroup(self, remap: cover.VertexRemap) -> None:
        counters = self.state.counters
        relaxation.keep(self.state.system, remap.kept)
        counters.vertex = remap.merged_into[counters.vertex]
        label_removal.update_vertices_of_examples(self.state.memory, remap.merged_into)
        bandwidth.measure_soon(counters)
        self._draw()
        weights.weigh(self.state, self.rules)
        relaxation.refresh(self.state.system, self.state.n)

    def extend(self, rows: Floats, shares: Floats) -> KernelAnswers:
        """Answer rows without learning: the harmonic extension of the graph to each."""
        state, rows = self.state, self.scale.scaled(rows)
        answers = blank_answers(len(rows), len(shares))
        if state.n == 0:
            return answers
        if len(rows) >= MANY:
            return self.get_predictor(shares).answer(rows)
        system, errors = self.settle(shares)
        graph = (state.vertices, system, state.progress, self.rules, state.comparison)
        extend_rows(*graph, state.readout, errors, rows, answers)
        return answers

    def settle(self, shares: Floats) -> tuple[System, Floats]:
        """Return a copy of the system in which every vertex is certified, and the errors.

        If the biases of the prior are due, they are updated, as for the next row.
        """
        if self._settled is None:
            state, counters, tolerance = self.state, self.state.counters, self.rules.tolerance
            settled = relaxation.copy_settled(state.system, state.n, tolerance, state.readout)
            if self.rules.balanced and counters.n_seen >= counters.balance_at_seen:
                fit_biases(state.vertices, settled[0], state.n, shares)
            self._settled = settled  # only now: an interrupt must not leave half of it
        return self._settled

    def get_predictor(self, shares: Floats) -> BatchPredictor:
        """Return a predictor with the present answers of this learner."""
        if self._frozen is None:
            self._frozen = freeze(self.state, self.rules, *self.settle(shares))
        return self._frozen

    def similarities(self, x: Floats) -> Floats:
        """Return the similarity of a row to every vertex; all 0 for an outlier."""
        state, n = self.state, self.state.n
        x = self.scale.scaled(x[None])[0]
        measure_row(state.vertices, state.counters, x, state.comparison)
        compute_row_similarities(
            state.vertices.bandwidth, state.counters, self.rules, state.comparison
        )
        outlier = is_outlier(state.vertices.bandwidth, state.counters, self.rules, state.comparison)
        return np.zeros(n) if outlier else state.comparison.similarities[:n].copy()

    @property
    def sink(self) -> float:
        """The sink of a row that is not in the graph."""
        return compute_row_sink(self.state.counters, self.rules)

    def certificate(self) -> float:
        """Return the largest proven error of the present values of any vertex."""
        return float(relaxation.proven_errors(self.state.system, self.state.n).max())

    def merge(self, other: Self, codes: SmallInts, n_classes: int, order: list[int]) -> None:
        """Merge an engine whose class i is our class codes[i], with features in another order."""
        if self.state.n_features:
            check_same_scale(self.scale, other.scale, order)
        theirs = recode_classes(other.state, codes, n_classes)
        self._settled = self._frozen = None
        if self.state.n_features == 0:
            self.state, self.scale = theirs, replace(other.scale)
            return
        for part in (theirs.vertices.points, theirs.vertices.means, theirs.comparison.moments.T):
            part[:] = part[order[: len(part)]]  # there may be no means
        both = self.state = merge_states(self.state, theirs)
        remap = cover.merge_covers(both.vertices, both.counters, self.settings, both.n_classes)
        relaxation.keep(both.system, remap.kept)
        self.rebuild_from_cover()
        self.scale.freeze()

    def rebuild_from_cover(self) -> None:
        """Measure, build, weigh and solve the graph again from the cover alone."""
        state = self.state
        label_removal.clear_memory(state.memory, state.counters)
        label_removal.end_undo(state)
        self._bandwidths_moved()
        self.rebuild_graph()
        health_metrics.restart_drift_window(state)

    def rebuild_graph(self) -> None:
        """Build, weigh and solve the graph again, from the cover and its bandwidths."""
        self._draw()
        weights.weigh(self.state, self.rules)
        relaxation.refresh(self.state.system, self.state.n)
        relaxation.solve_exactly(self.state.system, self.state.n)


def next_block(n_rows: int, took_s: float) -> int:
    """Return the size of the next block, at most twice the last, given how long that took.

    Examples
    --------
    >>> next_block(16, took_s=1e-4), next_block(100, took_s=0.02), next_block(1, took_s=1.0)
    (32, 50, 1)
    """
    return max(1, min(2 * n_rows, LARGEST_BLOCK, int(n_rows * BLOCK_S / max(took_s, 1e-9))))


def split_at_new_classes(codes: Ints, n_known: int) -> Iterator[tuple[slice, int]]:
    """Yield runs of rows in which only the first may have a new class, and the number of classes.

    So one call equals several calls: a class is unknown until its first row.

    Examples
    --------
    >>> for rows, n_classes in split_at_new_classes(np.array([0, 2, -1, 0, 3]), n_known=2):
    ...     print(rows.start, rows.stop, n_classes)
    0 1 2
    1 4 3
    4 5 4
    """
    known = np.maximum.accumulate(np.maximum(codes + 1, n_known))
    starts = np.flatnonzero(np.diff(known, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(codes)]):
        yield slice(start, stop), int(known[start])
