"""Laws of the learner: what may not change an answer, and how an answer may change."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner, SelfTuning, Verdict, Verdicts, load
from labelwalk.arrays import Floats, Label
from labelwalk.kernels import loop
from tests.reference.harmonic import full_graph, hard, quantized_row_form, repeated
from tests.support.streams import plain_learner

Maker: TypeAlias = Callable[[], OnlineLearner]


class Stream(NamedTuple):
    """Rows in order; where `labels` holds None the row is observed, else taught."""

    rows: Floats
    labels: tuple[Label | None, ...]


LEARNERS: dict[str, Maker] = {
    "paper, scale": lambda: OnlineLearner.paper(8),
    "paper, cover": lambda: OnlineLearner.paper(8, bandwidth="cover", sink=0.01),
    "paper, number, threshold": lambda: OnlineLearner.paper(
        8, bandwidth=0.4, sink=0.1, threshold=0.01
    ),
    "paper, exact": lambda: OnlineLearner.paper(8, bandwidth=0.7, tolerance=0.0),
    "default": lambda: OnlineLearner(10),
    "default, scale": lambda: OnlineLearner(10, similarity=Gaussian("scale", threshold=0.3)),
    "default, number": lambda: OnlineLearner(10, similarity=Gaussian(0.5, threshold=0.01)),
    "default, exact": lambda: OnlineLearner(10, tolerance=0.0),
    "default, everything kept": lambda: OnlineLearner(None, sink=0.1),
    "just-enough, absorb, few labels": lambda: OnlineLearner(
        10, labelled="absorb", labels_per_class=2, growth=2.0
    ),
    "doubling, pure, doubtful": lambda: OnlineLearner(
        10, coarsening="doubling", sink=0.05, abstain_below=0.6
    ),
    "prior": lambda: OnlineLearner(10, prior="uniform"),
    "prior, robust scale": lambda: OnlineLearner(10, prior="uniform", scale="robust"),
    "fading": lambda: OnlineLearner(10, half_life=50),
}
PROFILES: dict[str, Maker] = {name: LEARNERS[name] for name in ("paper, scale", "default")}

every_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
both_profiles = pytest.mark.parametrize("make", PROFILES.values(), ids=PROFILES.keys())
learners = st.sampled_from(sorted(LEARNERS)).map(LEARNERS.__getitem__)


def made_stream(seed: int, n: int, d: int, *, grid: bool, taught: float, classes: int) -> Stream:
    """Clusters that drift apart, or points of a small grid with many twins and ties."""
    rng = np.random.default_rng(seed)
    if grid:
        rows = rng.integers(-3, 4, size=(n, d)) / 2.0
    else:
        centres = rng.normal(scale=2.0, size=(4, d))
        rows = centres[rng.integers(0, 4, n)] + rng.normal(scale=0.4, size=(n, d))
        rows *= np.linspace(1.0, 3.0, n)[:, None]
    names: list[Label] = ["a", 7, "c"]
    picks = np.where(rng.random(n) < taught, rng.integers(0, classes, n), -1)
    return Stream(rows, tuple(None if pick < 0 else names[pick] for pick in picks))


@st.composite
def streams(draw: st.DrawFn, most: int = 90) -> Stream:
    return made_stream(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(1, most)),
        draw(st.integers(1, 4)),
        grid=draw(st.booleans()),
        taught=draw(st.sampled_from([0.0, 0.05, 0.2, 1.0])),
        classes=draw(st.integers(1, 3)),
    )


def chunks(stream: Stream, cuts: Iterable[int]) -> Iterator[Stream]:
    """Pieces between cuts, and where taught and observed rows meet."""
    places = {0, len(stream.rows), *cuts}
    for i, (before, after) in enumerate(pairwise(stream.labels), 1):
        if (before is None) != (after is None):
            places.add(i)
    for start, stop in pairwise(sorted(places)):
        yield Stream(stream.rows[start:stop], stream.labels[start:stop])


def every(size: int, stream: Stream) -> range:
    return range(0, len(stream.rows), size)


def facts(verdict: Verdict) -> tuple[Any, ...]:
    """All of a verdict, to the last bit."""
    return (
        verdict.label,
        verdict.confidence.hex(),
        verdict.probabilities.tobytes(),
        verdict.outlier,
        verdict.bound.hex(),
        verdict.certain,
    )


def fed(learner: OnlineLearner, stream: Stream, cuts: Iterable[int] = ()) -> list[Verdict]:
    """Feed a stream; a chunk of one row goes in as a single row."""
    verdicts: list[Verdict] = []
    for rows, labels in chunks(stream, cuts):
        if labels[0] is not None:
            learner.teach(rows, [label for label in labels if label is not None])
        elif len(rows) == 1:
            verdicts.append(learner.observe(rows[0]))
        else:
            verdicts.extend(learner.observe(rows))
    return verdicts


def outcome(learner: OnlineLearner, stream: Stream, cuts: Iterable[int] = ()) -> tuple[Any, ...]:
    """The state and all answers, to the last bit."""
    return tuple(facts(verdict) for verdict in fed(learner, stream, cuts)), learner.digest()


def own_graph(learner: OnlineLearner) -> tuple[Floats, list[int], Floats, Floats, Floats]:
    """Similarities, labelled vertices, their one-hot rows, weights and sinks as they stand."""
    n, system = learner.n_vertices, learner._engine.state.system
    table = learner.vertices
    labelled = [i for i in range(n) if table.label[i] is not None]
    return (
        system.w[:n, :n].copy(),
        labelled,
        table.probabilities[labelled],
        table.weight,
        system.g[:n].copy(),
    )


def exact_solution(learner: OnlineLearner) -> Floats:
    """The harmonic solution of the learner's own graph, by the twin; 0 where no label is near."""
    w, labelled, targets, weights, sinks = own_graph(learner)
    if not labelled:
        return np.zeros((learner.n_vertices, len(learner.classes)))
    return quantized_row_form(w, weights, labelled, targets, sinks)


class TestChunks:
    @every_learner
    @pytest.mark.parametrize(
        "grid",
        [
            pytest.param(False, id="clusters"),
            pytest.param(True, id="grid", marks=pytest.mark.slow),
        ],
    )
    def test_chunks_of_1_7_and_1000_give_the_same_bytes(self, make: Maker, grid: bool) -> None:
        stream = made_stream(5, 260, 3, grid=grid, taught=0.04, classes=3)
        learner = make()
        whole = outcome(learner, stream, every(1000, stream))
        assert learner.settings.n_centroids is None or learner.radius > 0.0, "never coarsened"
        assert outcome(make(), stream, every(1, stream)) == whole
        assert outcome(make(), stream, every(7, stream)) == whole

    @pytest.mark.slow
    @both_profiles
    def test_a_longer_stream_cut_at_every_1_7_and_1000(self, make: Maker) -> None:
        stream = made_stream(6, 3500, 5, grid=False, taught=0.001, classes=3)
        first, second, third = (
            outcome(make(), stream, every(size, stream)) for size in (1, 7, 1000)
        )
        assert first == second == third

    @given(learners, streams(), st.data())
    def test_any_cuts_give_the_same_bytes(
        self, make: Maker, stream: Stream, data: st.DataObject
    ) -> None:
        cuts = data.draw(st.sets(st.integers(0, len(stream.rows)), max_size=20))
        assert outcome(make(), stream, cuts) == outcome(make(), stream)

    @given(st.sampled_from([None, "uniform"]), st.integers(2, 60), st.integers(0, 2**32 - 1))
    def test_a_class_is_unknown_until_its_first_row(
        self, prior: Literal["uniform"] | None, n: int, seed: int
    ) -> None:
        rows = np.random.default_rng(seed).normal(size=(100 + n, 2))
        labels = ["old"] * (n - 1) + ["new"]
        once, twice = (OnlineLearner(20, prior=prior) for _ in range(2))
        for learner in (once, twice):
            learner.teach(rows[:2], ["old", "other"])
            learner.observe(rows[2:100])
        once.teach(rows[100:], labels)
        twice.teach(rows[100:-1], labels[:-1])
        twice.teach(rows[-1], labels[-1])
        assert once.digest() == twice.digest()

    def test_signs_are_judged_by_the_classes_known_then(self) -> None:
        rows = np.random.default_rng(0).normal(size=(1030, 2))
        once, twice = OnlineLearner(20), OnlineLearner(20)
        for learner in (once, twice):
            learner.teach(rows[0], "old")
            learner.observe(rows[1:1020])
        once.teach(rows[1020:], ["old"] * 9 + ["new"])
        twice.teach(rows[1020:-1], ["old"] * 9)
        twice.teach(rows[-1], "new")
        assert once.events == twice.events
        assert once.digest() == twice.digest()

    @given(learners, streams(), st.data())
    def test_predicting_in_between_changes_nothing(
        self, make: Maker, stream: Stream, data: st.DataObject
    ) -> None:
        cuts = data.draw(st.sets(st.integers(0, len(stream.rows)), max_size=5))
        curious = make()
        verdicts = []
        for chunk in chunks(stream, cuts):
            curious.predict(chunk.rows)
            _ = curious.certificate, curious.distortion, curious.vertices, curious.digest()
            verdicts += [facts(verdict) for verdict in fed(curious, chunk)]
        assert (tuple(verdicts), curious.digest()) == outcome(make(), stream)

    @every_learner
    def test_prediction_does_not_depend_on_its_chunks(self, make: Maker) -> None:
        stream = made_stream(8, 120, 2, grid=False, taught=0.1, classes=3)
        learner = make()
        fed(learner, stream)
        many = [facts(verdict) for verdict in learner.predict(stream.rows)]
        assert many == [facts(learner.predict(row)) for row in stream.rows]

    @given(learners, streams(), st.data())
    def test_memory_order_and_type_of_the_rows_do_not_matter(
        self, make: Maker, stream: Stream, data: st.DataObject
    ) -> None:
        rows = np.round(stream.rows, 1).astype(np.float32).astype(np.float64)
        plain = Stream(rows, stream.labels)
        form = data.draw(st.sampled_from(["fortran", "sliced", "float32", "list", "big-endian"]))
        other: Any = {
            "fortran": np.asfortranarray(rows),
            "sliced": np.repeat(rows, 2, axis=1)[:, ::2],
            "float32": rows.astype(np.float32),
            "list": rows.tolist(),
            "big-endian": rows.astype(">f8"),
        }[form]
        assert outcome(make(), Stream(other, stream.labels)) == outcome(make(), plain)

    def test_rows_are_left_alone_and_not_held(self) -> None:
        stream = made_stream(9, 50, 2, grid=False, taught=0.1, classes=2)
        mine = stream.rows.copy()
        learner = OnlineLearner(5)
        fed(learner, Stream(mine, stream.labels))
        np.testing.assert_array_equal(mine, stream.rows)
        before = learner.digest()
        mine[:] = 1e9
        assert learner.digest() == before


@st.composite
def multiplicities(draw: st.DrawFn) -> tuple[Floats, list[int], int]:
    """Distinct points, how often each appears, and how many of them are labelled."""
    n = draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    return rng.normal(size=(n, 2)), counts, draw(st.integers(1, n - 1))


def gaussians(points: Floats, sigma: float) -> Floats:
    gaps = points[:, None] - points[None]
    alike: Floats = np.exp(-(gaps**2).sum(axis=2) / (2 * sigma**2))
    return alike


def shuffled_copies(counts: Sequence[int], seed: int = 3) -> list[int]:
    order = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(seed).shuffle(order)
    return [int(i) for i in order]


class TestMultiplicity:
    @given(multiplicities(), st.sampled_from([0.01, 0.1, 1.0]))
    def test_n_copies_weigh_n_in_paper_mode(
        self, drawn: tuple[Floats, list[int], int], sink: float
    ) -> None:
        """The learner on copies = the full graph with a vertex for every copy (Proposition 1)."""
        points, counts, n_labelled = drawn
        learner = OnlineLearner.paper(50, bandwidth=0.8, sink=sink, tolerance=0.0)
        for i in range(n_labelled):
            learner.teach([points[i]] * counts[i], [f"class {i % 2}"] * counts[i])
        for i in shuffled_copies(counts):
            if i >= n_labelled:
                learner.observe(points[i])
        codes = [i % 2 if i < n_labelled else -1 for i in range(len(points))]
        copies = [code for code, count in zip(codes, counts, strict=True) for _ in range(count)]
        n_classes = min(2, n_labelled)
        full = full_graph(repeated(gaussians(points, 0.8), counts), copies, sink, n_classes)
        last_copy = np.cumsum(counts) - 1
        table = learner.vertices
        for point, count, f in zip(table.points, table.count, table.probabilities, strict=True):
            i = int(np.flatnonzero((points == point).all(axis=1))[0])
            assert count == counts[i]
            np.testing.assert_allclose(f, full[last_copy[i]], atol=1e-9)

    @given(multiplicities(), st.sampled_from([0.01, 0.1, 1.0]))
    def test_n_copies_weigh_n_outside_paper_mode(
        self, drawn: tuple[Floats, list[int], int], sink: float
    ) -> None:
        """Unlabelled copies add up; however often a label is repeated, it weighs 3 means."""
        points, counts, n_labelled = drawn
        similarity = Gaussian(0.8, threshold=0.0)
        learner = plain_learner(50, similarity=similarity, sink=sink, tolerance=0.0)
        for i in range(n_labelled):
            learner.teach([points[i]] * counts[i], [f"class {i % 2}"] * counts[i])
        order = [i for i in shuffled_copies(counts) if i >= n_labelled]
        learner.observe(points[order])
        table = learner.vertices
        rows = [int(np.flatnonzero((points == point).all(axis=1))[0]) for point in table.points]
        mean = np.mean(counts[n_labelled:])
        mu = table.weight[0] / 3.0
        assert mu == pytest.approx(mean, rel=0.0501)
        weights = np.array([3.0 * mu if i < n_labelled else counts[i] for i in rows])
        np.testing.assert_allclose(table.weight, weights)
        w = gaussians(points[rows], 0.8)
        targets = np.eye(2)[[i % 2 for i in rows[:n_labelled]]][:, : min(2, n_labelled)]
        f = quantized_row_form(w, weights, list(range(n_labelled)), targets, sink * mu)
        np.testing.assert_allclose(table.probabilities, f, atol=1e-9)

    @given(streams(), st.sampled_from([0.01, 1.0]))
    def test_the_state_is_the_exact_solution_on_its_own_graph(
        self, stream: Stream, sink: float
    ) -> None:
        """With tolerance 0, coarsening and all, the answers are those of the twin."""
        for learner in (
            plain_learner(6, similarity=Gaussian(0.9), sink=sink, tolerance=0.0),
            OnlineLearner.paper(6, bandwidth=0.9, sink=sink, tolerance=0.0),
        ):
            for chunk in chunks(stream, every(1, stream)):
                for verdict in fed(learner, chunk):
                    at = int(learner._engine.state.counters.vertex)
                    if verdict.outlier:
                        continue
                    exact = exact_solution(learner)[at]
                    np.testing.assert_allclose(verdict.probabilities, exact, atol=1e-9)
                    assert verdict.bound <= 1e-6


class TestScale:
    @given(st.sampled_from(sorted(LEARNERS)), streams(), st.integers(-60, 60))
    def test_a_power_of_two_changes_nothing_but_scale(
        self, name: str, stream: Stream, power: int
    ) -> None:
        factor = 2.0**power
        one, other = LEARNERS[name](), rescaled(LEARNERS[name](), factor)
        verdicts = fed(one, stream)
        scaled = fed(other, Stream(stream.rows * factor, stream.labels))
        assert [facts(verdict) for verdict in verdicts] == [facts(verdict) for verdict in scaled]
        mine, theirs = one.vertices, other.vertices
        np.testing.assert_array_equal(mine.points * factor, theirs.points)
        units = 1.0 if one.settings.scale == "robust" else factor  # scaled units stay
        np.testing.assert_array_equal(mine.reach * units, theirs.reach)
        assert one.radius * units == other.radius
        assert one.bandwidth * units == other.bandwidth
        assert one.distortion * units == other.distortion
        for same in ("count", "weight", "probabilities", "label"):
            np.testing.assert_array_equal(getattr(mine, same), getattr(theirs, same))
        queries = stream.rows + 0.25
        assert [facts(v) for v in one.predict(queries)] == [
            facts(v) for v in other.predict(queries * factor)
        ]


def rescaled(learner: OnlineLearner, factor: float) -> OnlineLearner:
    """The same learner, told of a bandwidth in other units."""
    similarity = learner.settings.similarity
    if not isinstance(similarity, Gaussian) or isinstance(similarity.bandwidth, str):
        return learner
    wider = Gaussian(similarity.bandwidth * factor, similarity.threshold)
    return OnlineLearner(**(learner.settings.parameters() | {"similarity": wider}))


@st.composite
def small_worlds(draw: st.DrawFn) -> Stream:
    """A few points, well connected at bandwidth 1, of which at least one a class is labelled."""
    n = draw(st.integers(3, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes = draw(st.integers(1, 3))
    labels: list[Label | None] = [f"class {c}" for c in range(classes)]
    labels += [f"class {c}" if c < classes else None for c in rng.integers(0, 9, n)]
    labels.append(None)
    return Stream(rng.normal(size=(len(labels), 2)), tuple(labels))


EXACT: dict[str, Callable[[float], OnlineLearner]] = {
    "paper": lambda sink: OnlineLearner.paper(50, bandwidth=1.0, sink=sink, tolerance=0.0),
    "default": lambda sink: plain_learner(
        50, similarity=Gaussian(1.0, threshold=0.0), sink=sink, tolerance=0.0
    ),
    "default, coarse": lambda sink: plain_learner(
        3, similarity=Gaussian(1.0, threshold=0.0), sink=sink, tolerance=0.0
    ),
}
exact_learners = pytest.mark.parametrize("make", EXACT.values(), ids=EXACT.keys())


class TestSink:
    @exact_learners
    @given(world=small_worlds())
    def test_without_a_sink_it_is_the_plain_harmonic_solution(
        self, make: Callable[[float], OnlineLearner], world: Stream
    ) -> None:
        learner = make(1e-12)
        verdicts = fed(learner, world)
        w, labelled, targets, weights, _ = own_graph(learner)
        plain = hard(w * weights, labelled, targets, 0.0)
        np.testing.assert_allclose(learner.vertices.probabilities, plain, atol=1e-7)
        at = int(learner._engine.state.counters.vertex)
        np.testing.assert_allclose(verdicts[-1].probabilities, plain[at], atol=1e-7)
        assert verdicts[-1].sink <= 1e-7

    @exact_learners
    @given(world=small_worlds())
    def test_under_an_endless_sink_labels_are_counted_alone(
        self, make: Callable[[float], OnlineLearner], world: Stream
    ) -> None:
        learner = make(1e12)
        verdicts = fed(learner, world)
        w, labelled, targets, weights, sinks = own_graph(learner)
        votes = (w * weights)[:, labelled] @ targets
        free = learner.vertices.label == None  # noqa: E711
        solution = learner.vertices.probabilities
        np.testing.assert_allclose((solution * sinks[:, None])[free], votes[free], rtol=1e-6)
        if not verdicts[-1].outlier:
            assert_elected(verdicts[-1], votes[int(learner._engine.state.counters.vertex)], learner)
        for query in world.rows + 0.3:
            similar = gaussians(np.vstack([query, learner.vertices.points]), 1.0)[0, 1:]
            vote = (similar * weights)[labelled] @ targets
            assert_elected(learner.predict(query), vote, learner)

    @exact_learners
    @given(world=small_worlds(), low=st.floats(-6, 2), step=st.floats(0.01, 4))
    def test_raising_it_lowers_every_class_probability(
        self, make: Callable[[float], OnlineLearner], world: Stream, low: float, step: float
    ) -> None:
        one, other = make(10.0**low), make(10.0 ** (low + step))
        answers, lowered = fed(one, world), fed(other, world)
        pairs = [(a.probabilities, b.probabilities) for a, b in zip(answers, lowered, strict=True)]
        queries = world.rows + 0.3
        pairs.append((one.predict(queries).probabilities, other.predict(queries).probabilities))
        free = one.vertices.label == None  # noqa: E711
        pairs.append((one.vertices.probabilities[free], other.vertices.probabilities[free]))
        for before, after in pairs:
            assert (after <= before * (1 + 1e-9)).all()
        if low >= -2 and step >= 1:
            before, after = pairs[-1]
            assert (after < before)[before > 0].all()

    def test_no_sink_at_all_is_refused(self) -> None:
        with pytest.raises(ValueError, match="sink"):
            OnlineLearner(sink=0.0)


def assert_elected(verdict: Verdict, vote: Floats, learner: OnlineLearner) -> None:
    ranked = np.sort(vote)[::-1]
    if len(ranked) == 1 or ranked[0] > ranked[1] * (1 + 1e-6):
        assert verdict.label == learner.classes[int(np.argmax(vote))]


class TestProbabilities:
    @given(learners, streams())
    def test_classes_and_sink_sum_to_one_and_none_is_negative(
        self, make: Maker, stream: Stream
    ) -> None:
        learner = make()
        verdicts = fed(learner, stream) + list(learner.predict(stream.rows * 1.1))
        for verdict in verdicts:
            assert (verdict.probabilities >= 0.0).all()
            assert (verdict.probabilities <= 1.0).all()
            assert 0.0 <= verdict.sink <= 1.0
            assert verdict.probabilities.sum() + verdict.sink == pytest.approx(1.0, abs=1e-12)
            unbiased = learner.settings.prior is None
            surest = verdict.probabilities.max(initial=0.0) if unbiased else 0.0
            guessed = verdict.sink / (1 + len(verdict.probabilities))
            guessing = learner.settings.unreached == "nearest" and not verdict.outlier
            reached = 1.0 - verdict.sink + guessed * guessing
            assert surest * (1 - 1e-12) <= verdict.confidence <= reached + 1e-12
            assert 0.0 <= verdict.bound <= 1.0
            if verdict.outlier:
                assert verdict.label is None
                assert verdict.confidence == 0.0

    @given(
        streams(most=40),
        st.sampled_from([1e-6, 1e-2, 1.0]),
        st.sampled_from([0.2, 0.05, 1e-2, 1e-4]),
    )
    def test_no_answer_is_further_from_the_exact_one_than_its_bound(
        self, stream: Stream, sink: float, tolerance: float
    ) -> None:
        similarity = Gaussian(0.9, threshold=1e-3)
        for learner in (
            plain_learner(6, similarity=similarity, sink=sink, tolerance=tolerance),
            OnlineLearner.paper(6, bandwidth=0.6, sink=sink, tolerance=tolerance),
        ):
            for chunk in chunks(stream, every(1, stream)):
                for verdict in fed(learner, chunk):
                    if verdict.outlier:
                        continue
                    exact = exact_solution(learner)[int(learner._engine.state.counters.vertex)]
                    error = np.abs(verdict.probabilities - exact).max(initial=0.0)
                    assert error <= verdict.bound + 1e-9
                    assert verdict.bound <= tolerance
                    if verdict.certain and verdict.label is not None:
                        assert exact[learner.classes.index(verdict.label)] >= exact.max() - 1e-9
            everywhere = np.abs(learner.vertices.probabilities - exact_solution(learner))
            assert everywhere.max(initial=0.0) <= learner.certificate + 1e-9


def replayed(learner: OnlineLearner, rows: Floats, times: int, shuffle: bool) -> None:
    rng = np.random.default_rng(11)
    for _ in range(times):
        learner.observe(rng.permutation(rows) if shuffle else rows)


def stationary(seed: int, n: int, classes: int, twins: bool) -> tuple[Floats, Floats, list[Label]]:
    """Rows (some of them repeated, if twins are wanted), labelled ones among them."""
    rng = np.random.default_rng(seed)
    rows, taught = rng.normal(size=(n, 2)), rng.normal(size=(2 * classes, 2))
    if twins:
        rows = np.repeat(rows, rng.integers(1, 5, n), axis=0)
    labels: list[Label] = [f"class {c}" for c in range(classes)]
    return np.vstack([rows, taught]), taught, labels * 2


def change_over_100_passes(
    make: Maker, seed: int, n: int, *, shuffle: bool, twins: bool
) -> tuple[float, Floats, Floats]:
    """Largest change of a probability; the sinks after the second pass and after the 100th."""
    rows, taught, labels = stationary(seed, n, 2, twins)
    learner = make()
    learner.teach(taught, labels)
    replayed(learner, rows, 2, shuffle)
    queries = np.vstack([rows, rows[:5] + 0.2])
    early = learner.predict(queries)
    replayed(learner, rows, 98, shuffle)
    late = learner.predict(queries)
    assert learner.n_seen == len(taught) + 100 * len(rows)
    change = np.abs(late.probabilities - early.probabilities).max()
    return float(change), early.sink, late.sink


# A graph that is chosen by left-out labels may change at the counts where it is chosen.
GIVEN = SelfTuning(width=0.28, evenness=0.25)
ENDLESS: dict[str, Maker] = {
    "default": lambda: OnlineLearner(40, similarity=GIVEN, tolerance=1e-3),
    "default, number": lambda: OnlineLearner(
        40, similarity=Gaussian(0.5, threshold=0.0), sink=0.1, tolerance=1e-3
    ),
    "default, large sink": lambda: OnlineLearner(40, similarity=GIVEN, sink=1.0, tolerance=1e-3),
    "paper's cover": lambda: OnlineLearner(
        40,
        similarity=GIVEN,
        coarsening="doubling",
        labelled="absorb",
        sink=0.1,
        tolerance=1e-3,
    ),
}


class TestEndlessStreams:
    @pytest.mark.parametrize("make", ENDLESS.values(), ids=ENDLESS.keys())
    def test_100_replays_of_a_few_points_change_no_probability_by_more_than_two_percent(
        self, make: Maker
    ) -> None:
        change, _, _ = change_over_100_passes(make, 1, 5, shuffle=False, twins=False)
        assert change <= 0.02

    @pytest.mark.slow
    @given(
        st.sampled_from(sorted(ENDLESS)),
        st.integers(0, 2**32 - 1),
        st.integers(1, 30),
        st.booleans(),
        st.booleans(),
    )
    def test_100_replays_of_any_stream_change_no_probability_by_more_than_two_percent(
        self, name: str, seed: int, n: int, shuffle: bool, twins: bool
    ) -> None:
        make = ENDLESS[name]
        change, _, _ = change_over_100_passes(make, seed, n, shuffle=shuffle, twins=twins)
        assert change <= 0.02

    @pytest.mark.compiled
    def test_in_paper_mode_the_sink_dries_up(self) -> None:
        """The contrast: with weights = counts and a constant γ, "I don't know" fades away."""

        def paper() -> OnlineLearner:
            return OnlineLearner.paper(40, bandwidth=0.5, sink=0.5, tolerance=1e-3)

        change, early, late = change_over_100_passes(paper, 0, 25, shuffle=False, twins=False)
        assert early.mean() > 0.1
        assert late.mean() < early.mean() / 10
        assert change > 0.1

    @both_profiles
    def test_memory_stops_growing(self, make: Maker) -> None:
        stream = made_stream(12, 1200, 3, grid=False, taught=0.02, classes=3)
        learner = make()
        fed(learner, stream)
        size = learner.nbytes
        for _ in range(3):
            learner.observe(stream.rows)
            assert learner.nbytes == size


CONTINUE = """
import sys
import numpy as np
from labelwalk import load

learner = load(sys.argv[1])
print(learner.digest())
with np.load(sys.argv[2]) as data:
    learner.observe(data["observed"])
    learner.teach(data["taught"], data["labels"])
    verdicts = learner.observe(data["more"])
print(learner.digest(), verdicts.probabilities.sum().hex())
"""


class TestSavedLearners:
    @given(learners, streams(), st.data())
    def test_a_learner_loaded_at_any_cut_goes_on_identically(
        self, make: Maker, stream: Stream, data: st.DataObject
    ) -> None:
        cuts = data.draw(st.sets(st.integers(0, len(stream.rows)), max_size=4))
        learner = make()
        verdicts = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.labelwalk"
            for chunk in chunks(stream, cuts):
                learner.save(path)
                before = learner.digest()
                learner = load(path)
                assert learner.digest() == before
                verdicts += [facts(verdict) for verdict in fed(learner, chunk)]
        untouched = make()
        assert (tuple(verdicts), learner.digest()) == outcome(untouched, stream)
        assert [facts(v) for v in learner.predict(stream.rows)] == [
            facts(v) for v in untouched.predict(stream.rows)
        ]

    @every_learner
    def test_everything_that_can_be_asked_survives(self, make: Maker, tmp_path: Path) -> None:
        stream = made_stream(13, 200, 3, grid=False, taught=0.05, classes=3)
        learner = make()
        fed(learner, stream)
        learner.save(tmp_path / "a.labelwalk")
        back = load(tmp_path / "a.labelwalk")
        assert back.settings == learner.settings
        for name in (
            *("classes", "n_features", "n_seen", "n_outliers", "n_vertices"),
            *("radius", "bandwidth", "distortion", "certificate"),
        ):
            assert getattr(back, name) == getattr(learner, name), name
        for name in ("points", "count", "weight", "reach", "label", "probabilities"):
            mine, theirs = getattr(learner.vertices, name), getattr(back.vertices, name)
            np.testing.assert_array_equal(mine, theirs)

    @pytest.mark.slow
    @both_profiles
    def test_a_fresh_process_goes_on_identically(self, make: Maker, tmp_path: Path) -> None:
        stream = made_stream(14, 150, 3, grid=False, taught=0.1, classes=3)
        learner = make()
        fed(learner, stream)
        learner.save(tmp_path / "a.labelwalk")
        saved = learner.digest()
        rng = np.random.default_rng(15)
        data = {name: rng.normal(scale=4, size=(30, 3)) for name in ("observed", "taught", "more")}
        labels = np.array(["new", "a"] * 15)
        arrays: dict[str, Any] = {"labels": labels} | data
        np.savez(tmp_path / "data.npz", **arrays)
        learner.observe(data["observed"])
        learner.teach(data["taught"], labels)
        total = learner.observe(data["more"]).probabilities.sum().hex()
        command = [sys.executable, "-c", CONTINUE, "a.labelwalk", "data.npz"]
        package = str(Path(sys.modules["labelwalk"].__file__ or "").parent.parent)
        answer = run_with_package(command, package, tmp_path)
        assert answer.split() == [saved, learner.digest(), total]

    @pytest.mark.compiled
    @pytest.mark.parametrize(
        "seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2))]
    )
    def test_saving_at_any_time_of_a_long_stream_changes_nothing(
        self, seed: int, tmp_path: Path
    ) -> None:
        """Long enough for rows to be drawn anew, coarsened and rebuilt after each saving."""
        stream = made_stream(seed, 1000, 3, grid=False, taught=0.02, classes=3)
        untouched, saved = OnlineLearner(100), OnlineLearner(100)
        for chunk in chunks(stream, []):
            fed(untouched, chunk)
            fed(saved, chunk)
            saved.save(tmp_path / "a.labelwalk")
            saved = load(tmp_path / "a.labelwalk")
            assert saved.digest() == untouched.digest()

    def test_an_empty_learner_comes_back_empty(self, tmp_path: Path) -> None:
        learner = OnlineLearner(7)
        learner.save(tmp_path / "a.labelwalk")
        back = load(tmp_path / "a.labelwalk")
        assert back.digest() == learner.digest()
        assert back.n_features is None
        back.teach([[0.0, 1.0]], ["a"])
        assert back.observe([0.0, 1.0]).label == "a"

    @pytest.mark.parametrize("kind", [np.float32, np.float64])
    def test_parameters_of_numpy_types_survive(self, kind: type[Any], tmp_path: Path) -> None:
        learner = OnlineLearner(
            np.int64(5),  # type: ignore[arg-type]
            similarity=Gaussian(kind(0.5), threshold=kind(0.25)),
            sink=kind(0.5),
            growth=kind(2.0),
            label_weight=kind(3.0),
            labels_per_class=np.int32(4),  # type: ignore[arg-type]
            tolerance=kind(0.125),
            abstain_below=kind(0.5),
        )
        plain = OnlineLearner(
            5,
            similarity=Gaussian(0.5, threshold=0.25),
            sink=0.5,
            growth=2.0,
            label_weight=3.0,
            labels_per_class=4,
            tolerance=0.125,
            abstain_below=0.5,
        )
        stream = made_stream(16, 60, 2, grid=False, taught=0.2, classes=2)
        assert outcome(learner, stream) == outcome(plain, stream)
        learner.save(tmp_path / "a.labelwalk")
        assert load(tmp_path / "a.labelwalk").digest() == plain.digest()


def run_with_package(command: Sequence[str], package: str, folder: Path) -> str:
    import os

    paths = [package, os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestClasses:
    @both_profiles
    def test_new_classes_are_welcome_at_any_time(self, make: Maker) -> None:
        rng = np.random.default_rng(17)
        learner = make()
        centres = 20.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
        for n_known, centre in enumerate(centres, 1):
            learner.teach(centre, f"class {n_known}")
            learner.observe(centre + rng.normal(size=(20, 2)))
            assert learner.classes == tuple(f"class {i}" for i in range(1, n_known + 1))
            verdict = learner.observe(centre + 0.5)
            assert verdict.probabilities.shape == (n_known,)
            assert learner.vertices.probabilities.shape == (learner.n_vertices, n_known)
        for i, centre in enumerate(centres, 1):
            assert learner.predict(centre + 0.1).label == f"class {i}"

    @given(learners, streams(most=40))
    def test_a_stream_without_labels_abstains_until_the_first_one(
        self, make: Maker, stream: Stream
    ) -> None:
        learner = make()
        unlabelled = learner.observe(stream.rows)
        predicted = learner.predict(stream.rows)
        for verdicts in (unlabelled, predicted):
            assert verdicts.label.tolist() == [None] * len(stream.rows)
            assert verdicts.probabilities.shape == (len(stream.rows), 0)
            np.testing.assert_array_equal(verdicts.confidence, 0.0)
            np.testing.assert_array_equal(verdicts.sink, 1.0)
            np.testing.assert_array_equal(verdicts.bound, 0.0)
            assert verdicts.certain.all()
        assert learner.certificate == 0.0
        learner.teach(stream.rows[0], "first")
        answer = learner.observe(stream.rows[0])
        if learner.settings.abstain_below == 0.0:
            assert answer.label == "first"
        assert answer.probabilities[0] > 0.0

    def test_labels_of_every_type_come_back_plain(self) -> None:
        given_labels = ["text", 3, np.int8(4), np.str_("numpy text"), np.uint64(5), -6, ""]
        learner = OnlineLearner(20, similarity=Gaussian(0.1))
        points = np.arange(7.0)[:, None]
        learner.teach(points, given_labels)  # type: ignore[arg-type]
        assert learner.classes == ("text", 3, 4, "numpy text", 5, -6, "")
        assert [type(name) for name in learner.classes] == [str, int, int, str, int, int, str]
        answers = learner.observe(points).label
        assert answers.tolist() == list(learner.classes)
        assert [type(name) for name in answers] == [type(name) for name in learner.classes]

    def test_one_and_its_digit_are_two_classes(self) -> None:
        learner = OnlineLearner()
        learner.teach([[0.0], [1.0]], [1, "1"])
        assert learner.classes == (1, "1")

    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["a", "b"]),
            np.array(["a", "b"], dtype=object),
            ("a", "b"),
            iter(["a", "b"]),
            {"a": 1, "b": 2}.keys(),
        ],
        ids=["array", "object array", "tuple", "iterator", "keys"],
    )
    def test_labels_in_any_container(self, labels: Iterable[str]) -> None:
        learner = OnlineLearner()
        learner.teach([[0.0], [1.0]], labels)
        assert learner.classes == ("a", "b")

    @pytest.mark.parametrize("label", ["word", 12, np.int64(12), np.str_("text")], ids=repr)
    def test_a_single_label_for_a_single_row(self, label: Label) -> None:
        one, other = OnlineLearner(), OnlineLearner()
        one.teach([0.0, 1.0], label)
        other.teach([[0.0, 1.0]], [label])
        assert one.digest() == other.digest()


class TestVerdicts:
    @both_profiles
    def test_one_row_gives_a_verdict_and_many_give_verdicts(self, make: Maker) -> None:
        learner = make()
        learner.teach([[0.0, 0.0], [4.0, 4.0]], ["a", "b"])
        for method in (learner.observe, learner.predict):
            assert isinstance(method([1.0, 0.0]), Verdict)
            assert isinstance(method(np.array([1.0, 0.0])), Verdict)
            assert isinstance(method([[1.0, 0.0]]), Verdicts)
            many = method([[1.0, 0.0], [3.0, 4.0]])
            assert isinstance(many, Verdicts)
            assert len(many) == 2
            assert [facts(v) for v in many] == [facts(many[0]), facts(many[1])]
            np.testing.assert_array_equal(many.sink, [many[0].sink, many[1].sink])

    @given(streams(), st.floats(0.01, 1.0))
    def test_abstain_below_abstains_exactly_there_and_changes_nothing_else(
        self, stream: Stream, least: float
    ) -> None:
        bold, careful = OnlineLearner(8, sink=0.1), OnlineLearner(8, sink=0.1, abstain_below=least)
        for cuts in ((), every(1, stream)):
            for one, other in zip(fed(bold, stream, cuts), fed(careful, stream, cuts), strict=True):
                assert other.label == (one.label if one.confidence >= least else None)
                assert other.confidence == one.confidence
                assert other.bound == one.bound
                assert other.outlier == one.outlier
                np.testing.assert_array_equal(other.probabilities, one.probabilities)
                assert one.certain or not other.certain
                assert not (other.certain and abs(one.confidence - least) <= one.bound)

    def test_an_outlier_changes_nothing_but_the_counts(self) -> None:
        learner = OnlineLearner(10, similarity=Gaussian(1.0, threshold=0.1))
        learner.teach([0.0], "a")
        learner.observe([[0.5], [1.0]])
        before = learner.vertices
        verdict = learner.observe([50.0])
        assert verdict.outlier
        assert (verdict.label, verdict.confidence, verdict.sink) == (None, 0.0, 1.0)
        assert (learner.n_outliers, learner.n_seen) == (1, 4)
        np.testing.assert_array_equal(learner.vertices.points, before.points)
        np.testing.assert_array_equal(learner.vertices.probabilities, before.probabilities)


class TestOutliers:
    def test_without_a_threshold_nothing_is_an_outlier(self) -> None:
        """However far: exp(-d²/2σ²) is 0 in floating point past 39 σ."""
        learner = OnlineLearner(10, similarity=Gaussian(1.0, threshold=0.0))
        learner.teach([0.0], "a")
        assert not learner.observe([100.0]).outlier
        assert learner.n_vertices == 2

    def test_a_bandwidth_still_to_be_measured_makes_no_outliers(self) -> None:
        """150 equal examples have no bandwidth; the next one must still be let in."""
        learner = OnlineLearner(10, similarity=Gaussian())
        learner.observe(np.zeros((150, 1)))
        assert not learner.predict([1.0]).outlier
        assert not learner.observe([1.0]).outlier
        assert learner.n_vertices == 2
        assert learner.bandwidth > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_replays_of_more_points_than_vertices_change_less_and_less(seed: int) -> None:
    """Examples counted while the cover took shape are diluted, about as one over the passes."""
    rows = np.random.default_rng(seed).normal(size=(200, 2))
    learner = OnlineLearner(40, tolerance=1e-4)
    learner.teach(rows[:4], ["a", "b", "c", "a"])
    seen = []
    for passes in (1, 9, 30, 60, 40):
        for _ in range(passes):
            learner.observe(rows)
        seen.append(learner.predict(rows).probabilities)
    after_10, after_40, after_100, after_140 = seen[1:]
    assert np.abs(after_100 - after_10).max() <= 0.08
    assert np.abs(after_140 - after_40).max() <= 0.02
    assert np.abs(after_140 - after_100).max() <= 0.01


def test_read_only_rows_are_no_new_type_to_the_compiler() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 3))
    learner, frozen = OnlineLearner(5), OnlineLearner(5)
    learner.observe(rows)
    seen = len(getattr(loop.feed, "signatures", ()))
    rows.flags.writeable = False
    frozen.observe(rows)
    frozen.predict(rows[0])
    assert len(getattr(loop.feed, "signatures", ())) == seen
    assert frozen.digest() == learner.digest()


@pytest.mark.parametrize("abstain_below", [0.0, 0.6])
def test_one_row_alone_is_decided_like_one_of_many(abstain_below: float) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 2)) * 3
    learner = OnlineLearner(8, similarity=Gaussian(0.7), abstain_below=abstain_below)
    learner.teach(rows[:3], ["a", "b", "c"])
    learner.observe(rows)
    many = learner.predict(np.vstack([rows, [[1e5, 1e5]]]))
    assert any(verdict.label is None for verdict in many)
    for row, among_many in zip([*rows, [1e5, 1e5]], many, strict=True):
        assert facts(learner.predict(row)) == facts(among_many)
    assert [facts(verdict) for verdict in many[3:5]] == [facts(many[3]), facts(many[4])]


def test_learners_and_verdicts_say_what_they_are_in_one_line() -> None:
    learner = OnlineLearner(5, similarity=Gaussian(1.0))
    learner.teach([[0.0], [3.0]], ["a", "b"])
    verdicts = learner.predict([[0.1], [2.9], [1e6]])
    assert repr(learner) == "<OnlineLearner: 2 examples seen, 2 vertices, 2 classes>"
    assert repr(verdicts) == "<Verdicts: 3 examples, 2 answered, 1 outliers>"


def test_the_package_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "labelwalk", "--help"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "demo" in outcome.stdout
