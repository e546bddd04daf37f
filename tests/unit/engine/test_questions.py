"""What the learner asks, and how it explains itself."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner
from labelwalk.arrays import Floats
from labelwalk.engine.active_learning import choose_vertices
from tests.reference.harmonic import quantized_row_form

seeds = st.integers(0, 2**32 - 1)
rules = st.sampled_from(["error", "uncertainty", "variance"])


def started(seed: int, **settings: Any) -> tuple[OnlineLearner, Floats]:
    rng = np.random.default_rng(seed)
    rows = 3.0 * rng.normal(size=(3, 2))[rng.integers(0, 3, 80)] + rng.normal(size=(80, 2))
    learner = OnlineLearner(25, **settings)
    learner.teach(rows[:4], ["a", "b", "a", "c"])
    learner.observe(rows[4:])
    return learner, rows


@given(seeds, rules, st.integers(1, 30))
def test_it_asks_about_the_vertices_that_help_most(seed: int, by: Any, n: int) -> None:
    learner, rows = started(seed)
    before = learner.digest()
    asked = learner.ask(n, by=by)
    assert learner.digest() == before
    table, engine = learner.vertices, learner._engine
    f = np.ascontiguousarray(engine.settle(learner._shares())[0].f[1:, : learner.n_vertices].T)
    best = choose_vertices(engine.state.graph, f, table.count.astype(float), n, by)
    assert [question.vertex for question in asked] == best.tolist()
    for question in asked:
        assert table.label[question.vertex] is None
        assert question.count == table.count[question.vertex]
        assert question.example_id is not None
        np.testing.assert_array_equal(question.example, rows[question.example_id])
        held = engine.state.memory.seen_vertex
        mine = [i for i in range(4, 80) if held[i] == question.vertex]
        apart = np.linalg.norm(rows[mine] - table.means[question.vertex], axis=1)
        assert mine[int(np.argmin(apart))] == question.example_id


def test_an_answer_ends_the_question() -> None:
    learner, _ = started(1)
    for name in "abc":
        question = learner.ask()[0]
        assert question.example_id is not None
        learner.teach_later(question.example_id, name)
        assert learner.predict(question.example).label == name


def test_no_example_is_asked_about_twice() -> None:
    learner, _ = started(3)
    asked: list[int] = []
    for _ in range(12):
        question = learner.ask(by="variance")[0]
        if question.example_id is not None:
            asked.append(question.example_id)
            learner.teach_later(question.example_id, "a")
    assert len(asked) == len(set(asked)) > 5


def test_where_the_examples_are_forgotten_the_representative_is_shown() -> None:
    learner, _ = started(2, remember=0)
    for question in learner.ask(3):
        assert question.example_id is None
        np.testing.assert_array_equal(question.example, learner.vertices.means[question.vertex])


@given(seeds, rules, st.integers(0, 3), st.integers(1, 40))
def test_vertices_without_an_example_to_show_are_asked_about_by_their_means(
    seed: int, by: Any, remember: int, n: int
) -> None:
    learner, rows = started(seed, remember=remember)
    asked, table = learner.ask(n, by=by), learner.vertices
    free = sum(label is None for label in table.label)
    assert len({question.vertex for question in asked}) == len(asked) == min(n, free)
    shown = [question.example_id is not None for question in asked]
    assert shown == sorted(shown, reverse=True)
    for question in asked:
        example = table.means[question.vertex]
        if question.example_id is not None:
            example = rows[question.example_id]
        np.testing.assert_array_equal(question.example, example)


@pytest.mark.parametrize("labelled", ["pure", "absorb"])
def test_it_asks_even_where_all_that_is_remembered_has_a_label(labelled: Any) -> None:
    learner, rows = started(0, remember=1, labelled=labelled)
    if labelled == "pure":
        learner.teach_later(learner.n_seen - 1, "a")
    else:
        learner.teach(rows[-1], "a")
        learner.observe(rows[-1])
    assert [question.example_id for question in learner.ask(10)] == [None] * 10


def test_without_labels_it_asks_too() -> None:
    assert OnlineLearner().ask() == []
    learner = OnlineLearner()
    learner.observe([[0.0], [1.0], [7.0]])
    question = learner.ask(by="variance")[0]
    assert (question.guess, question.confidence) == (None, 0.0)
    taught, _ = started(4)
    for name in "abc":
        taught.retract(label=name)
    by_default, by_variance = taught.ask(5), taught.ask(5, by="variance")
    assert [one.vertex for one in by_default] == [one.vertex for one in by_variance]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n=0 is not an integer"),
        ({"n": 2.5}, "n=2.5 is not an integer"),
        ({"by": "luck"}, "by='luck' is not supported. Choose error or uncertainty or variance"),
    ],
)
def test_a_bad_question_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OnlineLearner().ask(**arguments)


@given(seeds, st.sampled_from([{}, {"similarity": Gaussian("cover")}, {"label_weight": None}]))
def test_labels_met_add_up_to_the_prediction(seed: int, settings: dict[str, Any]) -> None:
    learner, rows = started(seed, **settings)
    before = learner.digest()
    for x in rows[::9]:
        explanation, verdict = learner.explain(x), learner.predict(x)
        sums = dict.fromkeys(learner.classes, 0.0)
        for end in explanation.met:
            assert end.label is not None
            sums[end.label] += end.probability
        off = np.abs(np.array(list(sums.values())) - verdict.probabilities).max()
        assert off <= verdict.bound + 1e-9
        assert explanation.sink == pytest.approx(1.0 - sum(sums.values()), abs=1e-9)
        chances = [end.probability for end in explanation.met]
        assert chances == sorted(chances, reverse=True)
    assert learner.digest() == before


@given(seeds)
def test_the_path_goes_along_edges_to_the_label_met_most(seed: int) -> None:
    learner, rows = started(seed)
    w = learner._engine.state.graph.w
    for x in rows[::9]:
        explanation = learner.explain(x)
        if not explanation.met:
            assert explanation.path == []
            continue
        *between, last = [point.vertex for point in explanation.path]
        assert last == explanation.met[0].vertex
        assert all(learner.vertices.label[i] is None for i in between)
        for i, j in pairwise([*between, last]):
            assert w[i, j] > 0.0
        assert all(0.0 < point.probability <= 1.0 for point in explanation.path)


def test_an_example_like_nothing_known_meets_no_label() -> None:
    rng = np.random.default_rng(0)
    learner = OnlineLearner(25)
    learner.teach([[0.0, 0.0], [2.0, 2.0]], ["a", "b"])
    learner.observe(rng.normal(size=(200, 2)))
    explanation = learner.explain([1e5, 1e5])
    assert (explanation.met, explanation.sink, explanation.path) == ([], 1.0, [])
    assert "100.0%  no label" in str(explanation)
    assert OnlineLearner().explain([1.0]).sink == 1.0


def test_exact_ends_on_a_given_graph() -> None:
    learner = OnlineLearner(similarity=Gaussian(1.0), label_weight=None, sink=0.1)
    learner.teach([[0.0], [4.0]], ["left", "right"])
    learner.observe([[1.0], [3.0]])
    met = learner.explain([2.0]).met
    points = np.array([0.0, 4.0, 1.0, 3.0, 2.0])
    w = np.exp(-((points[:, None] - points) ** 2) / 2)
    exact = quantized_row_form(w[:4, :4], np.ones(4), [0, 1], np.eye(2), 0.1)
    row = w[4, :4] @ exact / (w[4, :4].sum() + 0.1)
    assert {end.label: pytest.approx(end.probability) for end in met} == dict(
        zip(["left", "right"], row, strict=True)
    )


def test_one_example_at_a_time_is_explained() -> None:
    learner, rows = started(0)
    with pytest.raises(ValueError, match=r"x has 2 rows\. Pass one example"):
        learner.explain(rows[:2])
