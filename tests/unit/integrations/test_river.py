"""The River face: its conventions, and the same answers as the learner behind it."""

from __future__ import annotations

import copy
import os
import pickle
import random
import warnings
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import checks, compose, datasets, ensemble, evaluate, metrics, preprocessing

from labelwalk import Gaussian, OnlineLearner
from labelwalk.integrations.river import OnlineHarmonicClassifier
from tests.support.streams import Step, costly, streams, take

pytestmark = pytest.mark.shell

Model = OnlineHarmonicClassifier


def small(**parameters: Any) -> Model:
    return Model(**({"n_centroids": 10} | parameters))


def named(x: tuple[float, ...]) -> dict[Hashable, float]:
    return {f"feature {i}": value for i, value in enumerate(x)}


def taught(**parameters: Any) -> Model:
    """A model of two places: low and high."""
    model = small(**parameters)
    model.learn_one({"h": 0.0, "w": 0.0}, "low")
    model.learn_one({"h": 9.0, "w": 9.0}, "high")
    return model


def digest(model: Model) -> str:
    assert model.learner is not None
    return model.learner.digest()


# River's own checks


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1",
    reason="minutes with the compiler off, and it reaches no line that other tests do not",
)
@pytest.mark.filterwarnings("ignore:x has features that the first example did not have")
@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{check.__name__}-{i}")
        for i, check in enumerate(checks.yield_checks(Model()))
    ],
)
def test_conventions_of_river(check: Callable[[Model], None]) -> None:
    random.seed(0)  # the checks draw from it
    check(Model())


# The learner behind it


def test_constructor_stores_its_parameters_verbatim() -> None:
    similarity = Gaussian(0.5)
    parameters: dict[str, Any] = {name: f"any {name}" for name in Model()._get_params()}
    parameters["similarity"] = similarity
    stored = Model(**parameters)._get_params()
    assert stored == parameters
    assert stored["similarity"] is similarity


def test_defaults_are_those_of_the_learner_but_for_k() -> None:
    model = Model()
    model.learn_one({"a": 1.0})
    assert model.learner is not None
    assert model.learner.settings == OnlineLearner(n_centroids=200, remember=0).settings


@costly
@given(streams(), st.randoms(use_true_random=False), st.sampled_from(["none", "robust"]))
def test_same_stream_same_answers_same_state(
    stream: list[Step], rng: random.Random, scale: str
) -> None:
    model, learner = small(scale=scale), OnlineLearner(10, scale=scale, remember=0)  # type: ignore[arg-type]
    for label, x in stream:
        features = list(named(x).items())
        rng.shuffle(features)  # the order of a dictionary has no influence
        assert model.predict_one(dict(features)) == learner.predict(x).label
        model.learn_one(dict(features), label)
        take(learner, (label, x))
    learner.feature_names = tuple(map(str, named(stream[0][1])))
    assert digest(model) == learner.digest()


def test_columns_are_the_sorted_names_whatever_their_kind() -> None:
    model = small()
    model.learn_one({"b": 1.0, 10: 2.0, ("t", 1): 3.0, "a": 4.0, 9: 5.0}, "y")
    assert model.features == (9, 10, "a", "b", ("t", 1))
    assert model.learner is not None
    assert model.learner.vertices.points.tolist() == [[5.0, 2.0, 4.0, 1.0, 3.0]]


def test_missing_features_count_as_zero() -> None:
    model, spelt_out = taught(), taught()
    model.learn_one({"w": 3.0})
    spelt_out.learn_one({"h": 0.0, "w": 3.0})
    assert digest(model) == digest(spelt_out)
    assert model.predict_proba_one({}) == model.predict_proba_one({"h": 0.0, "w": 0.0})


def test_new_features_are_ignored_with_a_warning() -> None:
    model, plain = taught(), taught()
    with pytest.warns(UserWarning, match=r"did not have: \('new', 'other'\)\. They") as caught:
        model.learn_one({"h": 1.0, "other": 5.0, "w": 1.0, "new": 7.0})
    assert caught[0].filename == __file__
    plain.learn_one({"h": 1.0, "w": 1.0})
    assert digest(model) == digest(plain)
    with pytest.warns(UserWarning, match="new"):
        assert model.predict_one({"h": 0.1, "w": 0.1, "new": 7.0}) == "low"


@pytest.mark.parametrize(
    "number", [2, 2.0, True, np.float32(2), np.int8(2), np.bool_(True)], ids=repr
)
def test_numbers_of_any_kind_will_do(number: Any) -> None:
    model, plain = taught(), taught()
    model.learn_one({"h": number, "w": 0})
    plain.learn_one({"h": float(number), "w": 0.0})
    assert digest(model) == digest(plain)


# Labels


@pytest.mark.parametrize("kind", [bool, np.bool_], ids=["Python", "NumPy"])
def test_booleans_come_back_as_booleans(kind: Any) -> None:
    model = small(prior={True: 0.5, False: 0.5})
    model.learn_one({"a": 0.0}, kind(False))
    model.learn_one({"a": 9.0}, kind(True))
    assert model.predict_one({"a": 0.5}) is False
    assert model.predict_one({"a": 8.5}) is True
    assert [type(name) for name in model.predict_proba_one({"a": 0.5})] == [bool, bool]
    assert model.learner is not None
    assert model.learner.classes == (0, 1)


@pytest.mark.parametrize(("y", "name"), [("a", "a"), (1, 1), (np.int64(7), 7), (np.str_("b"), "b")])
def test_other_labels_come_back_plain(y: Any, name: Any) -> None:
    model = small()
    model.learn_one({"a": 0.0}, y)
    answer = model.predict_one({"a": 0.0})
    assert answer == name
    assert type(answer) is type(name)


# Answers


def test_before_any_label_nothing_is_known() -> None:
    model = small()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.learner is None
    model.learn_one({"a": 1.0})
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}


@pytest.mark.parametrize(
    ("parameters", "x"),
    [({"similarity": Gaussian(1.0)}, {"h": 1e6, "w": -1e6}), ({"abstain_below": 1.0}, {"h": 4.4})],
    ids=["outlier", "not sure"],
)
def test_where_it_abstains_it_casts_no_vote(parameters: dict[str, Any], x: Any) -> None:
    model = taught(**parameters)
    assert model.predict_one(x) is None
    assert model.predict_proba_one(x) == {}
    other = taught()
    voters = ensemble.VotingClassifier([model, other])
    assert voters.predict_one(x) == other.predict_one(x)


@costly
@given(streams(n_classes=3), st.tuples(st.floats(-9, 9), st.floats(-9, 9)))
def test_probabilities_are_shares_of_all_classes(
    stream: list[Step], x: tuple[float, float]
) -> None:
    model = small()
    for label, row in stream:
        model.learn_one({"a": row[0], "b": row[-1]}, label)
    shares = model.predict_proba_one({"a": x[0], "b": x[1]})
    answer = model.predict_one({"a": x[0], "b": x[1]})
    assert (answer is None) == (shares == {})
    if shares:
        assert model.learner is not None
        assert tuple(shares) == model.learner.classes
        assert sum(shares.values()) == pytest.approx(1.0)
        assert max(shares.values()) == shares[answer]  # type: ignore[index]


def test_asking_changes_nothing() -> None:
    model = taught()
    before = digest(model)
    model.predict_one({"h": 3.0, "w": 1.0})
    model.predict_proba_one({"h": 3.0, "w": 1.0})
    assert digest(model) == before


# Among the other models


def test_in_a_pipeline() -> None:
    pipeline = preprocessing.StandardScaler() | small()
    scaler, model = preprocessing.StandardScaler(), small()
    for i, (x, y) in enumerate(datasets.Phishing().take(40)):
        pipeline.learn_one(x, y if i < 10 else None)
        scaler.learn_one(x)
        model.learn_one(scaler.transform_one(x), y if i < 10 else None)
    assert isinstance(pipeline, compose.Pipeline)
    assert digest(pipeline["OnlineHarmonicClassifier"]) == digest(model)
    assert pipeline.predict_one(x) == model.predict_one(scaler.transform_one(x))


def test_progressive_validation_with_labels_and_with_probabilities() -> None:
    examples = list(datasets.Phishing().take(60))
    for metric in (metrics.Accuracy(), metrics.ROCAUC()):
        score = evaluate.progressive_val_score(examples, small(), metric)
        assert score.get() > 0.6


def through_pickle(model: Model) -> Model:
    copied: Model = pickle.loads(pickle.dumps(model))
    return copied


def through_clone(model: Model) -> Model:
    copied: Model = model.clone(include_attributes=True)
    return copied


@pytest.mark.parametrize("through", [through_pickle, copy.deepcopy, through_clone])
def test_a_copy_goes_on_identically(through: Callable[[Model], Model]) -> None:
    model = small()
    for i, (x, y) in enumerate(datasets.Phishing().take(40)):
        if i == 20:
            twin = through(model)
            assert digest(twin) == digest(model)
        for each in (model, twin) if i >= 20 else (model,):
            each.learn_one(x, y if i % 4 == 0 else None)
    assert digest(twin) == digest(model)
    assert twin.predict_proba_one(x) == model.predict_proba_one(x)


def test_clone_has_learned_nothing() -> None:
    model = taught(similarity=Gaussian(2.0))
    twin = model.clone({"n_centroids": 7})
    assert twin._get_params() == model._get_params() | {"n_centroids": 7}
    assert twin.learner is None
    assert twin.features == ()


# What is said when it cannot be done


@pytest.mark.parametrize(
    "value", ["red", "1.5", None, np.nan, np.inf, 1e200, 10**400, 1j, [1.0]], ids=str
)
def test_a_value_that_is_no_finite_number_is_named(value: Any) -> None:
    model = taught()
    before = digest(model)
    for call in (model.learn_one, model.predict_one, model.predict_proba_one):
        with pytest.raises(ValueError, match=r"feature 'w' is .*: only finite numbers"):
            call({"h": 0.0, "w": value})
    assert digest(model) == before


@pytest.mark.parametrize("y", [1.5, np.nan, ("a",), b"a"])
def test_a_label_that_is_none_is_refused(y: Any) -> None:
    with pytest.raises(ValueError, match=r"y=.* is neither a string, an integer nor a boolean"):
        taught().learn_one({"h": 0.0, "w": 0.0}, y)


def test_an_empty_first_example_is_refused() -> None:
    with pytest.raises(ValueError, match=r"x=\{\} has no features"):
        small().learn_one({})


def test_what_is_refused_leaves_no_trace() -> None:
    model = small(prior={"a": 0.5, "b": 0.5})
    for x, y in [({"x": "text"}, "a"), ({"x": 1.0}, "c"), ({"x": 1.0}, 1.5)]:
        with pytest.raises(ValueError, match=r"text|no share|neither"):
            model.learn_one(x, y)  # type: ignore[arg-type]
    assert model.learner is None
    assert model.features == ()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one({"y": 1.0}, "a")


def test_a_setting_that_cannot_be_is_named_at_the_first_example() -> None:
    with pytest.raises(ValueError, match="sink"):
        small(sink=-1.0).learn_one({"a": 1.0})
