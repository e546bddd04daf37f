"""Drift detection: equal to its reference implementation, and an alarm only after a change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from labelwalk.arrays import Floats
from labelwalk.engine import state
from labelwalk.kernels.counters import Counters, CountersArray
from labelwalk.kernels.drift import (
    CUSUM_LIMIT,
    DRIFT_BLOCK_ROWS,
    DriftWindow,
    add_row,
    end_block,
    restart,
)
from tests.reference.drift import ReferenceWatch


class Watcher(NamedTuple):
    """The detector alone, without a learner around it."""

    watch: DriftWindow
    progress: CountersArray

    @property
    def counters(self) -> Counters:
        counters: Counters = self.progress[0]
        return counters

    def take(self, rows: Floats) -> None:
        for x in rows:
            self.counters.n_seen += 1
            add_row(self.watch, self.progress[0], x)
            if self.counters.n_seen % DRIFT_BLOCK_ROWS == 0:
                end_block(self.watch, self.progress)

    def alarms(self, rows: Floats) -> list[int]:
        """Counts at which there was an alarm."""
        found: list[int] = []
        for start in range(0, len(rows), DRIFT_BLOCK_ROWS):
            self.take(rows[start : start + DRIFT_BLOCK_ROWS])
            if self.counters.alarm_at and self.counters.alarm_at not in found:
                found.append(int(self.counters.alarm_at))
        return found


def watcher(n_features: int) -> Watcher:
    empty = state.create_state(0, n_features, 0)
    return Watcher(empty.watch, empty.progress)


def clusters(seed: int, n: int, d: int) -> Floats:
    """Eight Gaussian clusters, five of their widths apart."""
    rng = np.random.default_rng(seed)
    centres = 5.0 * rng.normal(size=(8, d)) / np.sqrt(d)
    rows: Floats = centres[rng.integers(0, 8, n)] + rng.normal(size=(n, d)) / np.sqrt(d)
    return rows


@st.composite
def changing(draw: st.DrawFn) -> list[tuple[int, Floats]]:
    """Blocks of unequal size, some features constant, with a jump somewhere."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, n_blocks = draw(st.integers(1, 3)), draw(st.integers(2, 18))
    size = draw(st.sampled_from([0.0, 0.3, 2.0, 100.0]))
    at = draw(st.integers(0, n_blocks))
    scale = rng.choice([0.0, 1.0, 1e-5, 1e6], size=d, p=[0.1, 0.7, 0.1, 0.1])
    blocks = []
    for number in range(n_blocks):
        n = int(rng.choice([100, 128, 150]))
        rows = scale * (rng.normal(size=(n, d)) + (size if number >= at else 0.0))
        blocks.append((n, rows))
    return blocks


@given(changing())
def test_it_equals_the_reference_implementation(blocks: list[tuple[int, Floats]]) -> None:
    d = blocks[0][1].shape[1]
    ours, reference = watcher(d), ReferenceWatch()
    alarms = []
    for number, (n, rows) in enumerate(blocks, 1):
        for row in rows:
            add_row(ours.watch, ours.progress[0], row)
            reference.add(tuple(row.tolist()))
        ours.counters.n_seen += n
        end_block(ours.watch, ours.progress)
        reference.end()
        if ours.counters.alarm_at == ours.counters.n_seen:
            alarms.append(number)
        assert ours.counters.suspicion == pytest.approx(reference.suspicion, rel=1e-6, abs=1e-6)
        assert ours.counters.alarm == pytest.approx(reference.alarm, rel=1e-6, abs=1e-6)
        assert ours.counters.usual == pytest.approx(reference.usual, rel=1e-6)
        assert ours.counters.unsteady == pytest.approx(reference.variance, rel=1e-6)
        if reference.blocks > 0:
            assert ours.watch.level.ravel() == pytest.approx(reference.level, abs=1e-6)
            assert ours.watch.noise.ravel() == pytest.approx(reference.noise, abs=1e-6)
            assert ours.watch.chance.ravel() == pytest.approx(reference.chance, abs=1e-6)
    assert alarms == reference.alarms


@pytest.mark.parametrize("d", [1, 2, 16])
def test_a_stationary_stream_raises_no_alarm(d: int) -> None:
    assert watcher(d).alarms(clusters(1, 40 * DRIFT_BLOCK_ROWS, d)) == []


def learner_alarms(rows: Floats) -> int:
    learner = OnlineLearner(10)
    learner.observe(rows)
    assert len(learner.events) < 64, "some may have been forgotten"
    return sum(event.name == "drift" for event in learner.events)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 8, 32])
def test_nor_does_a_long_one_while_the_cover_grows_and_after(d: int) -> None:
    assert [learner_alarms(clusters(seed, 200_000, d)) for seed in range(3)] == [0, 0, 0]


@pytest.mark.slow
def test_nor_do_heavy_tails_or_runs_of_one_cluster() -> None:
    rng = np.random.default_rng(4)
    assert learner_alarms(rng.standard_t(1.5, size=(200_000, 3))) == 0
    centres = np.repeat(5.0 * rng.normal(size=(8, 4))[rng.integers(0, 8, 10_000)], 20, axis=0)
    assert learner_alarms(centres + rng.normal(size=(200_000, 4))) == 0


@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.parametrize("change", ["jump", "new cluster", "wider", "a constant moves"])
def test_a_change_is_noticed_within_a_thousand(d: int, change: str) -> None:
    rng, at, n = np.random.default_rng(d), 20 * DRIFT_BLOCK_ROWS, 24 * DRIFT_BLOCK_ROWS
    rows = np.column_stack([clusters(d, n, d), np.ones(n)])
    later = rows[at:]
    if change == "jump":
        later[:, :d] += 2.0 / np.sqrt(d)
    elif change == "new cluster":
        later[rng.random(len(later)) < 0.2, :d] = 7.5 / np.sqrt(d)
    elif change == "wider":
        later *= 1.5
    else:
        later[:, d] += 1e-9
    alarms = watcher(d + 1).alarms(rows)
    assert alarms
    assert at < alarms[0] <= at + 1024


def test_a_turning_stream_is_noticed() -> None:
    """A quarter turn in 4000 examples."""
    n, at = 36 * DRIFT_BLOCK_ROWS, 20 * DRIFT_BLOCK_ROWS
    rows = clusters(7, n, 2)
    angle = np.clip((np.arange(n) - at) / 4000, 0, None) * np.pi / 2
    x, y = rows.T
    turned = np.column_stack(
        [np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y]
    )
    alarms = watcher(2).alarms(turned)
    assert alarms
    assert at < alarms[0] <= at + 3000


def test_one_glitch_is_no_change_however_large() -> None:
    rows = clusters(2, 20 * DRIFT_BLOCK_ROWS, 3)
    rows[15 * DRIFT_BLOCK_ROWS + 7] = 1e150
    watch = watcher(3)
    assert watch.alarms(rows) == []
    assert all(np.isfinite(array).all() for array in watch.watch)


def test_after_an_alarm_the_new_stream_is_the_usual_one() -> None:
    rows = clusters(3, 45 * DRIFT_BLOCK_ROWS, 2)
    rows[15 * DRIFT_BLOCK_ROWS :] += 4.0
    watch = watcher(2)
    alarms = watch.alarms(rows)
    assert len(alarms) == 1
    assert watch.counters.alarm == 0.0
    assert watch.counters.suspicion <= CUSUM_LIMIT


def test_beginning_anew_forgets_all_but_when_the_last_alarm_was() -> None:
    watch = watcher(2)
    watch.take(clusters(3, 12 * DRIFT_BLOCK_ROWS, 2))
    watch.counters.alarm = 9.0
    restart(watch.watch, watch.progress)
    for name, array in watch.watch._asdict().items():
        assert name == "marks" or not array.any()
    assert (watch.counters.blocks, watch.counters.watched, watch.counters.alarm) == (0, 0, 0.0)


def test_a_label_is_not_watched_and_an_outlier_is() -> None:
    learner = OnlineLearner(20)
    learner.teach(clusters(0, 30, 2), ["a"] * 30)
    assert learner._engine.state.counters.watched == 0
    learner.observe(clusters(1, 110, 2))
    assert learner.observe([1e6, 1e6]).outlier
    assert learner._engine.state.counters.watched == 111


def test_labels_that_change_under_the_same_examples_are_not_noticed() -> None:
    """What the watch cannot see: it never looks at a label."""
    rows = clusters(6, 4 * DRIFT_BLOCK_ROWS, 2)
    learner, other = OnlineLearner(10), OnlineLearner(10)
    learner.teach([rows[0], rows[1]], ["a", "b"])
    other.teach([rows[0], rows[1]], ["b", "a"])
    learner.observe(rows)
    other.observe(rows)
    counters, there = learner._engine.state.counters, other._engine.state.counters
    assert (counters.suspicion, counters.usual) == (there.suspicion, there.usual)
