"""The CapyMOA face: its conventions, and the same answers as the learner behind it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from capymoa.base import ClassifierSSL, learner_from_params
from capymoa.core import Instance, LabeledInstance
from capymoa.core.io import load_model, save_model
from capymoa.evaluation import prequential_ssl_evaluation
from capymoa.stream import NumpyStream, Schema
from capymoa.stream.generator import RandomTreeGenerator
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons

from labelwalk import Gaussian, OnlineLearner
from labelwalk.integrations.capymoa import OnlineHarmonicSSL
from tests.support.streams import CLASSES, Step, costly, streams, take

pytestmark = pytest.mark.shell

NAMES = [str(name) for name in CLASSES]
UNKNOWN = -1  # the index of a label that is missing


def schema_of(n_features: int) -> Any:
    names = [f"feature {i}" for i in range(n_features)]
    return Schema.from_custom([*names, "class"], target="class", categories={"class": NAMES})


COLOURED = Schema.from_custom(
    ["length", "colour", "class", "width"],
    target="class",
    categories={"class": ["yes", "no"], "colour": ["red", "green", "blue"]},
)


def small(schema: Any, **parameters: Any) -> OnlineHarmonicSSL:
    return OnlineHarmonicSSL(schema, **({"n_centroids": 10} | parameters))


def instance_of(schema: Any, *x: float) -> Any:
    return Instance.from_array(schema, np.array(x))


def labelled(schema: Any, label: int, *x: float) -> Any:
    return LabeledInstance.from_array(schema, np.array(x), label)


def taught(**parameters: Any) -> OnlineHarmonicSSL:
    """A model of two places, which are the second and the fourth class."""
    schema = schema_of(2)
    model = small(schema, **parameters)
    model.train(labelled(schema, 3, 0.0, 0.0))
    model.train(labelled(schema, 1, 9.0, 9.0))
    return model


def moons(n: int = 120) -> Any:
    return NumpyStream(*make_moons(n, noise=0.08, random_state=0), dataset_name="moons")


# The learner behind it


def test_defaults_are_those_of_the_learner_but_for_k() -> None:
    model = OnlineHarmonicSSL(schema_of(2))
    assert isinstance(model, ClassifierSSL)
    assert model.learner.settings == OnlineLearner(n_centroids=200, remember=0).settings


def test_every_parameter_reaches_the_learner() -> None:
    parameters: dict[str, Any] = {
        "n_centroids": 7,
        "similarity": Gaussian(0.5),
        "scale": "robust",
        "sink": 0.01,
        "growth": 2.0,
        "coarsening": "doubling",
        "labelled": "absorb",
        "label_weight": 4.0,
        "weight_cap": 5.0,
        "labels_per_class": 3,
        "representative": "founder",
        "readout": "vertex",
        "unreached": "abstain",
        "quarantine": 9,
        "half_life": 100.0,
        "calibrate": False,
        "prior": "uniform",
        "tolerance": 0.1,
        "abstain_below": 0.4,
    }
    model = OnlineHarmonicSSL(schema_of(2), **parameters)
    assert model.learner.settings == OnlineLearner(**parameters, remember=0).settings
    assert model.get_params() == parameters


@costly
@given(streams(), st.sampled_from(["none", "robust"]))
def test_same_stream_same_answers_same_state(stream: list[Step], scale: Any) -> None:
    schema = schema_of(len(stream[0][1]))
    model, learner = small(schema, scale=scale), OnlineLearner(10, scale=scale, remember=0)
    for label, x in stream:
        index = UNKNOWN if label is None else CLASSES.index(label)
        instance = labelled(schema, index, *x)
        answer = model.predict(instance)
        assert (None if answer is None else NAMES[answer]) == learner.predict(x).label
        model.train(instance)
        take(learner, (None if label is None else str(label), x))
    assert model.learner.digest() == learner.digest()


def test_an_unlabelled_instance_keeps_its_secret() -> None:
    model, twin = taught(), taught()
    model.train_on_unlabeled(labelled(model.schema, 2, 1.0, 1.0))
    twin.train_on_unlabeled(instance_of(twin.schema, 1.0, 1.0))
    assert model.learner.digest() == twin.learner.digest()
    assert model.learner.classes == (NAMES[3], NAMES[1])


# Answers


def test_before_any_label_nothing_is_known() -> None:
    model = small(schema_of(1))
    instance = instance_of(model.schema, 1.0)
    assert model.predict(instance) is None
    assert model.predict_proba(instance) is None
    model.train_on_unlabeled(instance)
    assert model.predict(instance) is None
    assert model.predict_proba(instance) is None


@pytest.mark.parametrize(
    ("parameters", "x"),
    [({"similarity": Gaussian(1.0)}, (1e6, -1e6)), ({"abstain_below": 1.0}, (4.4, 4.4))],
    ids=["outlier", "not sure"],
)
def test_it_abstains_as_the_learner_does(
    parameters: dict[str, Any], x: tuple[float, float]
) -> None:
    model = taught(**parameters)
    assert model.learner.predict(x).label is None
    assert model.predict(instance_of(model.schema, *x)) is None
    assert model.predict_proba(instance_of(model.schema, *x)) is None


def test_probabilities_are_shares_of_all_classes_of_the_schema() -> None:
    model = taught()
    shares = model.predict_proba(instance_of(model.schema, 1.0, 2.0))
    assert shares is not None
    assert shares.shape == (4,)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[[0, 2]].tolist() == [0.0, 0.0]
    assert shares.argmax() == model.predict(instance_of(model.schema, 1.0, 2.0)) == 3


def test_asking_changes_nothing() -> None:
    model = taught()
    before = model.learner.digest()
    model.predict(instance_of(model.schema, 3.0, 1.0))
    model.predict_proba(instance_of(model.schema, 3.0, 1.0))
    assert model.learner.digest() == before


# Nominal attributes


def test_values_of_a_nominal_attribute_are_one_apart() -> None:
    model = small(COLOURED)
    for colour in (0, 1, 2):
        model.train(labelled(COLOURED, 0, 5.0, colour, 7.0))
    points = model.learner.vertices.points
    assert points[:, [0, 4]].tolist() == [[5.0, 7.0]] * 3
    gaps = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(gaps, 1.0 - np.eye(3))


def test_instances_that_come_from_java() -> None:
    stream = RandomTreeGenerator(num_numerics=2, num_nominals=1, num_vals_per_nominal=3)
    model = small(stream.get_schema())
    for _ in range(20):
        model.train(stream.next_instance())
    assert model.learner.n_seen == 20
    assert model.learner.n_features == 5
    assert model.predict(stream.next_instance()) in (0, 1)


# Among the tools of CapyMOA


def test_prequential_evaluation() -> None:
    stream = moons()
    model = small(stream.get_schema())
    results = prequential_ssl_evaluation(
        stream, model, label_probability=0.1, store_predictions=True, store_y=True
    )
    answers, truth = results.predictions(), results.ground_truth_y()
    assert answers[0] is None
    scored = [0 if answer is None else answer for answer in answers]  # so does CapyMOA
    assert results.cumulative.accuracy() == pytest.approx(100 * np.mean(scored == truth))
    assert np.mean(answers == truth) > 0.7
    assert results.learner == "OnlineHarmonicSSL"


def test_a_saved_model_goes_on_identically() -> None:
    stream = moons(40)
    model = small(stream.get_schema())
    for i, instance in enumerate(stream):
        if i == 20:
            file = io.BytesIO()
            save_model(model, file)
            file.seek(0)
            twin = load_model(file)
        for each in (model, twin) if i >= 20 else (model,):
            each.train(instance) if i % 4 == 0 else each.train_on_unlabeled(instance)
    assert twin.learner.digest() == model.learner.digest()
    assert twin.predict(instance) == model.predict(instance)


def test_made_again_from_its_parameters() -> None:
    model = taught(sink=0.01)
    description = {
        "learner": "labelwalk.integrations.capymoa.OnlineHarmonicSSL",
        "params": model.get_params(),
    }
    twin = learner_from_params(description, model.schema)
    assert twin.learner.settings == model.learner.settings
    assert twin.learner.n_seen == 0


# What is said when it cannot be done


def test_a_numeric_target_is_refused() -> None:
    schema = Schema.from_custom(["a", "price"], target="price", name="houses")
    with pytest.raises(ValueError, match="schema='houses' has a numeric target"):
        OnlineHarmonicSSL(schema)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ((1.0, 2.0), "instance has 2 attributes, but the schema has 3"),
        ((np.nan, 0.0, 1.0), "attribute 'length' is nan, which is not between"),
        ((1.0, 0.0, np.inf), "attribute 'width' is inf, which is not between"),
        ((1.0, 3.0, 1.0), "attribute 'colour' is 3.0, which is not between 0 and 2"),
        ((1.0, -1.0, 1.0), "attribute 'colour' is -1.0, which is not between 0 and 2"),
        ((1.0, np.nan, 1.0), "attribute 'colour' is nan, which is not between 0 and 2"),
    ],
    ids=["width", "missing", "infinite", "too high", "too low", "missing colour"],
)
def test_an_instance_that_cannot_be_is_named(x: tuple[float, ...], message: str) -> None:
    model = small(COLOURED)
    model.train(labelled(COLOURED, 0, 1.0, 1.0, 1.0))
    before = model.learner.digest()
    for call in (model.train, model.train_on_unlabeled, model.predict, model.predict_proba):
        with pytest.raises(ValueError, match=message):
            call(labelled(COLOURED, 0, *x))
    assert model.learner.digest() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment", [{"PATH": ""}, {"JAVA_HOME": "/there/is/no/java"}], ids=["none", "wrong"]
)
def test_without_java_it_says_so(environment: dict[str, str]) -> None:
    run = subprocess.run(
        [sys.executable, "-c", "import labelwalk.integrations.capymoa"],
        env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith("ImportError: CapyMOA requires Java, which could not be started:")
    assert "OpenJDK 17" in last
