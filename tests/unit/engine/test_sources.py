"""No source has more than its share of what is learned."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, ModelFileError, OnlineLearner, load
from labelwalk.engine.sources import FIRST, Sources
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.storage import model_file
from tests.support.streams import costly

names = st.lists(st.sampled_from(["a", "b", "c", 7]), max_size=300)
shares = st.sampled_from([0.2, 0.5, 0.9, 1.0])


@given(names, shares)
def test_no_source_exceeds_its_share(stream: list[Any], share: float) -> None:
    sources = Sources()
    for name in stream:
        before = dict(sources.counts)
        if sources.admit(name, share):
            own, total = sources.counts[name], sum(sources.counts.values())
            fair = max(share, 1 / max(1, len(before)))
            assert own <= FIRST + 1 or own <= fair * total + 2.001


@given(st.integers(1, 8), shares)
def test_sources_that_speak_equally_often_are_all_learned(n: int, share: float) -> None:
    sources = Sources()
    assert all(sources.admit(name, share) for _ in range(200) for name in range(n))


@given(names, shares, st.integers(1, 299))
def test_codes_foresee_who_is_admitted(stream: list[Any], share: float, cut: int) -> None:
    whole, parts = Sources(), Sources()
    codes = whole.codes(stream, share)
    foreseen = [*parts.codes(stream[:cut], share)]
    for name in stream[:cut]:
        parts.admit(name, share)
    foreseen += [*parts.codes(stream[cut:], share)]
    assert codes.tolist() == foreseen


def test_a_source_that_falls_silent_is_forgotten() -> None:
    sources = Sources()
    for name in ["a", "b"] * 100:
        sources.admit(name, 0.5)
    learned = [sources.admit("a", 0.5) for _ in range(10_000)]
    assert sum(learned[:50]) <= 4
    assert all(learned[-1000:])


def started(**settings: Any) -> tuple[OnlineLearner, np.ndarray[Any, Any]]:
    learner = OnlineLearner(30, source_share=0.5, **settings)
    rows = np.random.default_rng(0).normal(size=(600, 2))
    learner.teach([[-1.0, 0.0], [1.0, 0.0]], ["left", "right"])
    learner.observe(rows[:200], source=["door", "yard"] * 100)
    return learner, rows


def test_what_exceeds_a_share_is_answered_and_not_learned() -> None:
    learner, rows = started()
    learner.observe(rows[400:420], source="door")
    before = learner.vertices
    foreseen = learner.predict(rows[200:400])
    verdicts = learner.observe(rows[200:400], source="door")
    off = np.abs(verdicts.probabilities - foreseen.probabilities).max(axis=1)
    assert (off <= verdicts.bound + foreseen.bound).all()
    assert learner.n_seen == 422
    np.testing.assert_array_equal(learner.vertices.means, before.means)
    np.testing.assert_array_equal(learner.vertices.count, before.count)
    gone = learner._engine.state.counters.n_removed
    assert learner.vertices.count.sum() + learner.n_outliers + gone == learner.n_seen


@costly
@given(
    st.lists(st.sampled_from(["good", "flood", "flood", "flood"]), min_size=50, max_size=300),
    st.sampled_from([{}, {"half_life": 30}]),
    st.sampled_from([0.0, 1e-2]),
)
def test_a_flood_leaves_no_trace_and_makes_nobody_older(
    stream: list[str], settings: dict[str, Any], threshold: float
) -> None:
    """The cover is that of a learner which never met what was not to be learned."""
    rows = np.random.default_rng(len(stream)).normal(size=(len(stream), 2))
    similarity = Gaussian(0.5, threshold=threshold)
    common: dict[str, Any] = {"similarity": similarity, "calibrate": False, **settings}
    flooded = OnlineLearner(15, source_share=0.3, **common)
    flooded.observe(rows, source=stream)
    never = OnlineLearner(15, **common)
    learned = Sources().codes([*stream], 0.3) == UNLABELLED
    never.observe(rows[learned])
    assert flooded.n_seen == never.n_seen + (~learned).sum()
    mine, theirs = flooded.vertices, never.vertices
    for name in ("points", "means", "count", "weight", "reach"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    n = len(mine)
    w, others = (each._engine.state.system.w[:n, :n] for each in (flooded, never))
    np.testing.assert_array_equal(w, others)
    gone = flooded._engine.state.counters.n_removed
    assert mine.count.sum() + flooded.n_outliers + gone == flooded.n_seen


@pytest.mark.parametrize("settings", [{}, {"half_life": 300}])
def test_a_flood_is_not_remembered(settings: dict[str, Any], tmp_path: Path) -> None:
    learner = OnlineLearner(30, source_share=0.5, remember=200, **settings)
    rows = np.random.default_rng(0).normal(size=(1100, 2))
    _, good = learner.observe(rows[:100], source="good", ids=True)
    _, flood = learner.observe(rows[100:], source="flood", ids=True)
    learner.save(tmp_path / "a.labelwalk")
    learner = load(tmp_path / "a.labelwalk")
    learner.teach_later(good[50], "seen")
    np.testing.assert_array_equal(learner.vertices.points[-1], rows[50])
    with pytest.raises(ValueError, match=r"is not remembered.*over the share of their source"):
        learner.teach_later(flood[-1], "seen")
    for question in learner.ask(5):
        assert question.example_id is not None
        np.testing.assert_array_equal(question.example, rows[question.example_id])
    learner.retract(good[50])
    assert "seen" not in learner.vertices.label


def test_one_stuck_source_leaves_the_others_their_say() -> None:
    learner, rows = started()
    for _ in range(20):
        learner.observe(np.repeat(rows[:1], 50, axis=0), source="door")
        learner.observe(rows[200:250], source="yard")
    counts = learner._sources.counts
    assert counts["door"] <= 0.51 * sum(counts.values())


@costly
@given(st.lists(st.integers(1, 299), max_size=4))
def test_any_chunks_and_any_saving_give_the_same_learner(cuts: list[int]) -> None:
    rows = np.random.default_rng(1).normal(size=(300, 2))
    stream = np.array(["a"] * 100 + ["b", "a"] * 50 + ["a"] * 100, dtype=object)
    whole, parts = (OnlineLearner(20, source_share=0.3, scale="robust") for _ in range(2))
    whole.observe(rows, source=stream)
    places = sorted(set(cuts))
    for some, sources in zip(np.split(rows, places), np.split(stream, places), strict=True):
        parts.observe(some, source=sources)
        parts = pickle.loads(pickle.dumps(parts))
    assert parts.digest() == whole.digest()


def test_sources_are_saved(tmp_path: Path) -> None:
    learner, _ = started()
    learner.save(tmp_path / "a.labelwalk")
    back = load(tmp_path / "a.labelwalk")
    assert back._sources.counts == learner._sources.counts
    assert back.digest() == learner.digest()


@pytest.mark.parametrize("pairs", [[["a"]], [[1.5, 1.0]], [["a", "b"]], [["a", -1.0]], 3, None])
def test_a_file_that_says_nonsense_is_refused(pairs: Any, tmp_path: Path) -> None:
    learner, _ = started()
    header, arrays = learner._contents()
    model_file.write(tmp_path / "a.labelwalk", header | {"sources": pairs}, arrays)
    with pytest.raises(ModelFileError, match="does not contain a valid learner"):
        load(tmp_path / "a.labelwalk")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["a"], r"source=\['a'\] does not give the sources of 600 examples"),
        (1.5, "source=1.5 does not give"),
        ([None] * 600, "source=.* does not give"),
    ],
)
def test_bad_sources_are_named_and_change_nothing(source: Any, message: str) -> None:
    learner, rows = started()
    before = learner.digest()
    with pytest.raises(ValueError, match=message):
        learner.observe(rows, source=source)
    assert learner.digest() == before


def test_a_learner_that_tells_no_sources_apart_says_so() -> None:
    with pytest.raises(ValueError, match=r"source='a' requires a learner.*source_share=None"):
        OnlineLearner().observe([1.0], source="a")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source_share": 0}, "source_share=0 is not a number"),
        ({"source_share": 2.0}, "source_share=2.0 is not a number"),
        ({"source_share": 0.5, "readout": "vertex"}, "requires readout='example'"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnlineLearner(**settings)
