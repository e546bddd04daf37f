"""Signs of health against literal computations, and the laws of the event log."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner, load
from labelwalk.arrays import Floats
from labelwalk.engine.health_metrics import (
    HEALTH_METRICS,
    MIN_LABELS,
    GraphBenefit,
    measure_graph_benefit,
)
from labelwalk.engine.state import MAX_EVENTS, EventLog, LoggedEvent
from labelwalk.kernels.drift import DRIFT_BLOCK_ROWS
from labelwalk.storage import model_file
from tests.invariants.test_learner_invariants import own_graph
from tests.reference.leave_one_out import held_out

LEARNERS: dict[str, Callable[[], OnlineLearner]] = {
    "default": lambda: OnlineLearner(12),
    "exact": lambda: OnlineLearner(12, tolerance=0.0),
    "paper": lambda: OnlineLearner.paper(12),
    "paper, threshold": lambda: OnlineLearner.paper(12, bandwidth=0.3, threshold=0.01),
    "everything kept": lambda: OnlineLearner(None, similarity=Gaussian(0.5)),
    "prior": lambda: OnlineLearner(12, prior="uniform"),
}
LIMITED = {name: make for name, make in LEARNERS.items() if make().settings.n_centroids}
every_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())


def blobs(seed: int, n: int) -> tuple[Floats, list[str]]:
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 3, n)
    rows = 4.0 * np.eye(3)[which][:, :2] + rng.normal(scale=0.5, size=(n, 2))
    return rows, [("a", "b", "c")[i] for i in which]


def fed(learner: OnlineLearner, n: int = 300, labels: int = 12, seed: int = 0) -> OnlineLearner:
    rows, names = blobs(seed, n + labels)
    if labels:
        learner.teach(rows[:labels], names[:labels])
    if n:
        learner.observe(rows[labels:])
    return learner


def assert_sane(learner: OnlineLearner) -> None:
    before = learner.digest()
    health = learner.health()
    assert learner.digest() == before
    assert [sign.name for sign in health] == list(HEALTH_METRICS)
    for sign in health:
        assert math.isfinite(sign.value)
        assert sign.limit is None or math.isfinite(sign.limit)
        assert sign.meaning.endswith(".")
        assert isinstance(sign.ok, bool)
        assert sign.name in str(health)
        assert health[sign.name] is sign
    for line in str(health).splitlines():
        assert len(line) <= 100


class TestSigns:
    @every_learner
    def test_every_sign_of_every_learner_says_something(
        self, make: Callable[[], OnlineLearner]
    ) -> None:
        for n, labels in ((0, 0), (0, 1), (0, 12), (1, 0), (40, 0), (40, 1), (300, 12)):
            assert_sane(fed(make(), n, labels))

    @every_learner
    def test_all_are_what_they_say(self, make: Callable[[], OnlineLearner]) -> None:
        learner = fed(make())
        health, table = learner.health(), learner.vertices
        free = np.array([name is None for name in table.label])
        assert health["radius"].value == learner.radius
        if learner.bandwidth:
            ratio = learner.distortion / learner.bandwidth
            assert health["distortion"].value == pytest.approx(ratio)
        assert health["outliers"].value == learner.n_outliers / learner.n_seen
        unknown = 1.0 - table.probabilities[free].sum(axis=1)
        mean = (unknown * table.count[free]).sum() / table.count[free].sum()
        assert health["sink"].value == pytest.approx(mean, abs=learner.certificate + 1e-12)
        masses = (table.probabilities * table.count[:, None]).sum(axis=0)
        shares = masses / masses.sum()
        entropy = -sum(share * math.log(share) for share in shares)
        assert health["classes"].value == pytest.approx(math.exp(entropy))
        assert health["classes"].limit == pytest.approx(math.sqrt(3))
        taken = table.count[~free].sum() / table.count.sum()
        assert health["absorbed"].value == pytest.approx(taken)
        bounds = learner.predict(table.points).bound
        assert health["certificate"].value <= max(learner.settings.tolerance, 1e-9)
        assert (bounds <= max(learner.settings.tolerance, 1e-9)).all()

    def test_rates_are_of_the_last_block_and_this_one(self) -> None:
        learner = OnlineLearner(12, similarity=Gaussian(0.5))
        learner.observe(np.zeros((DRIFT_BLOCK_ROWS, 1)))
        learner.observe(np.ones((DRIFT_BLOCK_ROWS, 1)))
        assert learner.health()["new vertices"].value == 1 / DRIFT_BLOCK_ROWS
        learner.observe(np.full((50, 1), 100.0)[:4])
        health = learner.health()
        assert health["recent outliers"].value == 4 / (DRIFT_BLOCK_ROWS + 4)
        assert health["outliers"].value == 4 / (2 * DRIFT_BLOCK_ROWS + 4)

    def test_labels_in_one_place_are_counted_in_pairs(self) -> None:
        learner = OnlineLearner(10)
        learner.teach([[0.0], [0.0], [0.0], [1.0], [1.0]], ["a", "b", "c", "a", "a"])
        sign = learner.health()["conflicts"]
        assert (sign.value, sign.ok) == (3.0, False)
        assert "(3 times)" in sign.meaning

    def test_labels_that_swallow_the_stream_are_named(self) -> None:
        rows, names = blobs(0, 300)
        learner = OnlineLearner.paper(3, bandwidth=1.0)
        learner.teach(rows[:6], names[:6])
        learner.observe(rows[6:])
        sign = learner.health()["absorbed"]
        assert sign.value > 0.5
        assert not sign.ok

    def test_a_learner_without_labels_asks_for_some(self) -> None:
        health = fed(OnlineLearner(12), 300, 0).health()
        assert health["sink"].value == 1.0
        assert not health["sink"].ok
        assert "teach" in health["sink"].meaning

    def test_an_empty_learner_is_well(self) -> None:
        assert OnlineLearner().health().ok

    def test_a_sink_too_small_for_proof_is_named(self) -> None:
        learner = OnlineLearner(12, sink=1e-18, similarity=Gaussian(1.0, threshold=1e-300))
        learner.teach([0.0], "far")
        learner.observe(30.0 + 0.1 * np.arange(100.0)[:, None])
        sign = learner.health()["certificate"]
        assert (sign.value, sign.ok) == (1.0, False)

    def test_an_unknown_name_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(KeyError, match="conflicts"):
            OnlineLearner().health()["pulse"]


class TestWorth:
    @every_learner
    def test_it_is_what_leaving_out_gives(self, make: Callable[[], OnlineLearner]) -> None:
        learner = fed(make())
        found = measure_graph_benefit(learner._engine.state, learner.settings)
        w, labelled, targets, weights, sinks = own_graph(learner)
        codes = targets.argmax(axis=1)
        bias = learner._engine.state.system.bias[1:]
        held = held_out(w, weights, sinks, labelled, targets) * bias
        right: dict[str, list[bool]] = {"graph": [], "nearest": []}
        for i, own in enumerate(codes):
            if (codes == own).sum() < 2:
                continue
            others = [j for j in range(len(codes)) if j != i]
            apart = learner._engine.state.vertices.mean_distances[
                labelled[i], [labelled[j] for j in others]
            ]
            near = codes[others[int(np.argmin(apart))]]
            walked = held[i].argmax() if held[i].max() > 0 else near
            if held[i].max() == 0 and learner.settings.unreached == "abstain":
                walked = -1
            right["graph"].append(bool(walked == own))
            right["nearest"].append(bool(near == own))
        assert found.n_labels == len(right["graph"])
        assert found.graph == pytest.approx(np.mean(right["graph"]))
        assert found.nearest == pytest.approx(np.mean(right["nearest"]))

    @pytest.mark.compiled
    def test_a_graph_that_leads_astray_is_said_not_to_help(self) -> None:
        """Two interleaved classes that touch: everything is one clump to the graph."""
        rng = np.random.default_rng(0)
        rows = rng.uniform(size=(620, 2))
        names = np.where((np.floor(3 * rows).sum(axis=1) % 2) > 0, "odd", "even")
        learner = OnlineLearner(100, similarity=Gaussian(2.0))
        learner.teach(rows[:60], names[:60].tolist())
        learner.observe(rows[60:])
        sign = learner.health()["graph"]
        assert not sign.ok
        assert sign.meaning.startswith("The graph does not help here:")

    def test_labels_of_one_moment_may_be_blind(self) -> None:
        learner = fed(OnlineLearner(12), 600, 12)
        assert "may be uninformative" in learner.health()["graph"].meaning
        rows, names = blobs(9, 12)
        learner.teach(rows, names)
        assert "may be uninformative" not in learner.health()["graph"].meaning

    def test_too_few_labels_are_said_to_be_too_few(self) -> None:
        sign = fed(OnlineLearner(12), 300, 3).health()["graph"]
        assert sign.ok
        assert "too few" in sign.meaning

    @given(st.integers(0, 30), st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.2), st.booleans())
    def test_few_labels_or_faultless_ones_never_condemn_a_graph(
        self, n: int, graph: float, nearest: float, error: float, young: bool
    ) -> None:
        found = GraphBenefit(n, graph, nearest, error, young, False)
        assert found.helps or (n >= MIN_LABELS and nearest < 1.0 and graph <= nearest and not young)


class TestEvents:
    def test_crossings_are_written_down_in_both_directions(self) -> None:
        learner = OnlineLearner(12)
        rows, names = blobs(0, 8 * DRIFT_BLOCK_ROWS)
        learner.observe(rows[: 4 * DRIFT_BLOCK_ROWS])
        (first,) = learner.events
        assert (first.at, first.name, first.value) == (4 * DRIFT_BLOCK_ROWS, "sink", 1.0)
        learner.teach(rows[:6], names[:6])
        learner.observe(rows[4 * DRIFT_BLOCK_ROWS :])
        last = learner.events[-1]
        assert (last.at, last.name) == (8 * DRIFT_BLOCK_ROWS, "sink")
        assert last.value <= 0.5
        assert last.meaning != first.meaning

    def test_only_the_last_are_kept(self) -> None:
        log = EventLog()
        for at in range(1, 151):
            for _ in range(2):
                log.note(LoggedEvent(at, "sink", at % 2 == 0, float(at), 0.5))
        assert [event.at for event in log.events] == list(range(151 - MAX_EVENTS, 151))
        again = EventLog.from_header(json.loads(json.dumps(log.to_header())), HEALTH_METRICS)
        assert (again.events, again.failing) == (log.events, log.failing)

    def test_drift_is_an_event(self) -> None:
        rows, names = blobs(3, 14 * DRIFT_BLOCK_ROWS)
        rows[11 * DRIFT_BLOCK_ROWS - 6 :] += 3.0
        learner = OnlineLearner(6)
        learner.teach(rows[:6], names[:6])
        learner.observe(rows[6:])
        alarms = [event for event in learner.events if event.name == "drift"]
        assert [alarm.at for alarm in alarms] == [13 * DRIFT_BLOCK_ROWS]
        assert not learner.health()["drift"].ok

    @pytest.mark.parametrize("make", LIMITED.values(), ids=LIMITED.keys())
    def test_any_cuts_and_files_give_the_same_bytes(
        self, make: Callable[[], OnlineLearner], tmp_path: Path
    ) -> None:
        rows, names = blobs(1, 4 * DRIFT_BLOCK_ROWS + 40)
        whole = make()
        whole.observe(rows[:300])
        whole.teach(rows[300:306], names[300:306])
        whole.observe(rows[306:])
        pieces = make()
        for start, stop in ((0, 1), (1, 255), (255, 256), (256, 257), (257, 300)):
            pieces.observe(rows[start:stop])
            pieces.health()
        pieces.teach(rows[300:306], names[300:306])
        pieces.save(tmp_path / "half.labelwalk")
        again = load(tmp_path / "half.labelwalk")
        assert again.events == pieces.events
        assert again.health() == pieces.health()
        for start in range(306, len(rows), 7):
            again.observe(rows[start : start + 7])
        assert again.digest() == whole.digest()
        assert again.events == whole.events
        assert whole._engine.state.counters.judge_at_seen == 5 * DRIFT_BLOCK_ROWS

    def test_merging_keeps_ones_own_events_and_begins_to_watch_again(self) -> None:
        ours, theirs = fed(OnlineLearner(12), 1100, 0), fed(OnlineLearner(12), 300, 6, seed=5)
        (before,) = ours.events
        ours.merge(theirs)
        assert ours.events == [before]
        counters = ours._engine.state.counters
        assert counters.judge_at_seen == 6 * DRIFT_BLOCK_ROWS
        assert (counters.watched, counters.blocks) == (0, 0)
        assert_sane(ours)
        fed(ours, 700, 0, seed=6)
        assert ours.events[-1].at == 8 * DRIFT_BLOCK_ROWS


FORGERIES: dict[str, tuple[str, float]] = {
    "a negative count of the watched": ("here.watched", -1),
    "more watched than seen": ("here.watched", 10**6),
    "a judgement that never comes": ("here.judge_at_seen", 10**9),
    "a judgement that is overdue": ("here.judge_at_seen", 0),
    "a label before the first": ("here.last_taught", 0),
    "an alarm in the future": ("here.alarm_at", 10**6),
    "a block that began in the future": ("marks", 10**6),
    "noise below zero": ("noise", -1.0),
    "suspicion that is no number": ("here.suspicion", math.nan),
    "an unsteadiness below zero": ("here.unsteady", -1.0),
}


@pytest.mark.parametrize(("name", "value"), FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_watch_is_refused(name: str, value: float, tmp_path: Path) -> None:
    learner = fed(OnlineLearner(12))
    header, arrays = learner._contents()
    arrays[name] = np.full_like(arrays[name], value)
    model_file.write(tmp_path / "forged.labelwalk", header, arrays)
    with pytest.raises(model_file.ModelFileError, match="its values are inconsistent"):
        load(tmp_path / "forged.labelwalk")


@pytest.mark.parametrize(
    "events",
    [
        5,
        {},
        {"log": [], "failing": ["unknown"]},
        {"log": [[1, "unknown", True, 0.0, 0.5]], "failing": []},
        {"log": [[1.5, "sink", True, 0.0, 0.5]], "failing": []},
        {"log": [[1, "sink", True, "0", 0.5]], "failing": []},
        {"log": [[1, "sink"]], "failing": []},
    ],
)
def test_a_forged_event_log_is_refused(events: object, tmp_path: Path) -> None:
    header, arrays = fed(OnlineLearner(12))._contents()
    model_file.write(tmp_path / "forged.labelwalk", header | {"events": events}, arrays)
    with pytest.raises(model_file.ModelFileError, match="does not contain a valid learner"):
        load(tmp_path / "forged.labelwalk")
