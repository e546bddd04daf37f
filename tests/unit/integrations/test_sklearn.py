"""The scikit-learn face: its conventions, and the same answers as the learner behind it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from labelwalk import Gaussian, OnlineLearner, QuantizedHarmonicClassifier
from labelwalk.arrays import Floats

pytestmark = pytest.mark.compiled

Labels = NDArray[Any]

EXPECTED_TO_FAIL = {
    "check_classifiers_classes": "it trains on the classes -1 and 1, and unlabeled=-1 by default"
}


def moons(n: int = 100, labels: int = 4, seed: int = 0) -> tuple[Floats, Labels, Labels]:
    """Two half moons in random order: rows, what is known of them, and the truth."""
    X, truth = make_moons(n, noise=0.08, random_state=seed)
    y = np.full(n, -1)
    for c in (0, 1):
        given_rows = np.flatnonzero(truth == c)[:labels]
        y[given_rows] = c
    return X, y, truth


def small(**parameters: Any) -> QuantizedHarmonicClassifier:
    return QuantizedHarmonicClassifier(**({"n_centroids": 40} | parameters))


# scikit-learn's own checks


def expected_failures(estimator: QuantizedHarmonicClassifier) -> dict[str, str]:
    return EXPECTED_TO_FAIL if estimator.unlabeled == -1 else {}


@pytest.mark.slow
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [QuantizedHarmonicClassifier(), QuantizedHarmonicClassifier(unlabeled=None)],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_conventions_of_scikit_learn(
    estimator: QuantizedHarmonicClassifier, check: Callable[[QuantizedHarmonicClassifier], None]
) -> None:
    check(estimator)


@pytest.mark.slow
def test_expected_failure_is_the_only_one_and_does_fail() -> None:
    results = check_estimator(
        QuantizedHarmonicClassifier(),
        expected_failed_checks=EXPECTED_TO_FAIL,
        on_fail=None,
        on_skip=None,
    )
    statuses = {result["check_name"]: result["status"] for result in results}
    unusual = {name for name, status in statuses.items() if status in ("failed", "xfail")}
    assert unusual == set(EXPECTED_TO_FAIL)
    assert all(statuses[name] == "xfail" for name in EXPECTED_TO_FAIL)
    assert len(EXPECTED_TO_FAIL) <= 1


# The learner behind it


def test_constructor_stores_its_parameters_verbatim() -> None:
    similarity = Gaussian(0.5)
    parameters = {
        "n_centroids": "many",
        "similarity": similarity,
        "scale": "large",
        "sink": -1,
        "growth": "fast",
        "coarsening": "none",
        "labelled": None,
        "label_weight": "heavy",
        "weight_cap": "light",
        "labels_per_class": 0.5,
        "representative": "me",
        "readout": 5,
        "unreached": "panic",
        "quarantine": "flu",
        "half_life": "short",
        "calibrate": "no",
        "prior": [],
        "tolerance": 2,
        "unlabeled": "?",
    }
    stored = QuantizedHarmonicClassifier(**parameters).get_params()  # type: ignore[arg-type]
    assert stored == parameters
    assert stored["similarity"] is similarity


def test_defaults_are_those_of_the_learner_but_for_k() -> None:
    X, y, _ = moons(20)
    learner = QuantizedHarmonicClassifier().fit(X, y).learner_
    assert learner.settings == OnlineLearner(n_centroids=200, remember=0).settings


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"coarsening": "doubling", "labelled": "absorb", "label_weight": None},
        {"similarity": Gaussian(0.2, threshold=0.0), "sink": 1e-3, "tolerance": 0.0},
        {"n_centroids": None, "labels_per_class": 2, "growth": 2.0},
    ],
    ids=["default", "paper", "wide", "all"],
)
def test_fit_is_labels_first_and_then_the_stream(parameters: dict[str, Any]) -> None:
    X, y, _ = moons()
    model = small(**parameters).fit(X, y)
    learner = OnlineLearner(**({"n_centroids": 40} | parameters), remember=0)
    learner.teach(X[y != -1], y[y != -1].tolist())
    learner.observe(X[y == -1])
    assert model.learner_.digest() == learner.digest()
    grid = np.random.default_rng(1).uniform(-1.5, 2.5, size=(100, 2))
    verdicts = learner.predict(grid)
    answered = verdicts.label != None  # noqa: E711
    assert answered.any()
    assert model.predict(grid)[answered].tolist() == verdicts.label[answered].tolist()
    order = [learner.classes.index(c) for c in model.classes_]
    shares = verdicts.scores[answered] / verdicts.scores[answered].sum(1)[:, None]
    np.testing.assert_allclose(model.predict_proba(grid)[answered], shares[:, order], rtol=1e-12)


def test_transduction_is_given_labels_and_predictions_at_the_end() -> None:
    X, y, truth = moons()
    model = small().fit(X, y)
    known = y != -1
    assert model.transduction_[known].tolist() == y[known].tolist()
    assert model.transduction_[~known].tolist() == model.predict(X[~known]).tolist()
    assert np.mean(model.transduction_ == truth) > 0.9


def test_fit_forgets() -> None:
    X, y, _ = moons()
    once = small().fit(X, y).learner_.digest()
    again = small().partial_fit(X, y).fit(X, y).fit(X, y).learner_.digest()
    assert once == again


def test_partial_fit_teaches_and_observes_in_the_order_given() -> None:
    X, y, _ = moons(60, labels=6)
    model = small(n_centroids=10).partial_fit(X, y)
    learner = OnlineLearner(n_centroids=10, remember=0)
    for x, label in zip(X, y.tolist(), strict=True):
        if label == -1:
            learner.observe(x)
        else:
            learner.teach(x, label)
    assert model.learner_.digest() == learner.digest()


@given(st.lists(st.integers(0, 60), max_size=6), st.integers(0, 3))
def test_any_chunking_gives_the_same_learner(cuts: list[int], seed: int) -> None:
    X, y, _ = moons(60, labels=5, seed=seed)
    whole = small(n_centroids=10).partial_fit(X, y)
    edges = sorted({0, *cuts, 60})
    chunked = small(n_centroids=10)
    for start, stop in pairwise(edges):
        chunked.partial_fit(X[start:stop], y[start:stop])
    assert chunked.learner_.digest() == whole.learner_.digest()
    assert chunked.classes_.tolist() == whole.classes_.tolist()


def test_runs_of_rows_are_fed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int]] = []
    for name in ("teach", "observe"):
        original = getattr(OnlineLearner, name)

        def counted(
            self: OnlineLearner, X: Floats, *rest: Any, _do: Any = original, _name: str = name
        ) -> Any:
            calls.append((_name, len(X)))
            return _do(self, X, *rest)

        monkeypatch.setattr(OnlineLearner, name, counted)
    X, _, _ = moons(10)
    small().partial_fit(X, [-1, -1, 0, 1, 1, -1, 0, -1, -1, -1])
    assert calls == [("observe", 2), ("teach", 3), ("observe", 1), ("teach", 1), ("observe", 3)]


# Labels of every kind


@pytest.mark.parametrize(
    ("unlabeled", "y", "classes"),
    [
        (-1, np.array(["b", "a", -1, -1], dtype=object), ["a", "b"]),
        (-1, ["b", "a", -1, -1], ["a", "b"]),
        (None, ["b", "a", None, None], ["a", "b"]),
        (None, np.array(["b", "a", None, np.nan], dtype=object), ["a", "b"]),
        (None, np.array([7, 3, None, None], dtype=object), [3, 7]),
        (None, [7.0, 3.0, np.nan, np.nan], [3.0, 7.0]),
        ("", np.array(["b", "a", "", ""]), ["a", "b"]),
        ("?", ("b", "a", "?", "?"), ["a", "b"]),
        (0, [2, 1, 0, 0], [1, 2]),
        (-1, [2.0, 1.0, -1.0, -1.0], [1.0, 2.0]),
        (-1, np.array([True, False, -1, -1], dtype=object), [False, True]),
        (None, [-1, -2, None, None], [-2, -1]),
        (np.int64(-1), np.array([2, 1, -1, -1], dtype=np.int8), [1, 2]),
    ],
    ids=str,
)
def test_labels_and_what_marks_their_absence(unlabeled: Any, y: Any, classes: list[Any]) -> None:
    X = [[5.0, 5.0], [0.0, 0.0], [0.5, 0.1], [5.3, 4.9]]
    model = QuantizedHarmonicClassifier(unlabeled=unlabeled).fit(X, y)
    assert model.classes_.tolist() == classes
    assert model.transduction_.tolist() == [classes[1], classes[0], classes[0], classes[1]]
    assert model.predict(X).tolist() == model.transduction_.tolist()
    assert model.score(X, y) == 1.0
    assert model.learner_.n_vertices == 4
    streamed = QuantizedHarmonicClassifier(unlabeled=unlabeled).partial_fit(X, y)
    assert streamed.learner_.digest() == model.learner_.digest()


def test_many_classes_on_few_rows_are_no_reason_to_warn() -> None:
    X = np.arange(30.0)[:, None]
    model = QuantizedHarmonicClassifier().partial_fit(X, range(30), classes=range(40))
    assert len(model.classes_) == 40
    assert model.predict(X).tolist() == list(range(30))


def test_anything_that_becomes_an_array_will_do() -> None:
    class Column:
        def __init__(self, values: Any) -> None:
            self.values = np.asarray(values)

        def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
            return np.array(self.values, dtype=dtype)

    X, y, _ = moons(40)
    model = small().fit(Column(X), Column(y))
    assert model.learner_.digest() == small().fit(X, y).learner_.digest()


def test_classes_grow_and_stay_sorted() -> None:
    model = small().partial_fit([[0.0], [1.0]], ["m", "z"])
    assert model.classes_.tolist() == ["m", "z"]
    model.partial_fit([[5.0], [6.0]], ["aardvark", -1])
    assert model.classes_.tolist() == ["aardvark", "m", "z"]
    assert model.learner_.classes == ("m", "z", "aardvark")
    assert model.predict([[0.0], [1.0], [5.0]]).tolist() == ["m", "z", "aardvark"]
    assert model.predict_proba([[0.0]]).argmax() == 1


def test_classes_given_are_all_there_and_sorted() -> None:
    model = small().partial_fit([[0.0], [9.0]], [3, -1], classes=[5, 3, -1, 1])
    assert model.classes_.tolist() == [1, 3, 5]
    assert model.predict_proba([[0.0]]).tolist() == [[0.0, 1.0, 0.0]]
    model.partial_fit([[1.0]], [1], classes=[1, 3, 5]).partial_fit([[2.0]], [5])
    assert model.classes_.tolist() == [1, 3, 5]
    assert model.predict([[0.0], [1.0], [2.0]]).tolist() == [3, 1, 5]


def test_stream_may_begin_without_a_label() -> None:
    model = small().partial_fit([[0.0], [9.0]], [-1, -1])
    with pytest.raises(NotFittedError, match="not seen a label yet"):
        model.predict([[0.0]])
    model.partial_fit([[0.1]], ["left"])
    assert model.predict([[0.0]]).tolist() == ["left"]


# Answers


def test_always_a_class_where_the_learner_abstains() -> None:
    X, y, _ = moons()
    model = small(unreached="abstain").fit(X, y)
    far = np.array([[1e6, -1e6], [-1e9, 1e9], [0.0, 1e5]])
    assert model.learner_.predict(far).label.tolist() == [None] * 3
    vertices = model.learner_.vertices
    taught = np.flatnonzero([label is not None for label in vertices.label])
    gaps = np.linalg.norm(far[:, None] - vertices.points[taught], axis=2)
    nearest = vertices.label[taught][gaps.argmin(axis=1)]
    assert model.predict(far).tolist() == nearest.tolist()
    probabilities = model.predict_proba(far)
    np.testing.assert_allclose(probabilities, 0.5, atol=1e-6)


def test_a_fit_that_is_refused_leaves_the_fitted_model_as_it_was() -> None:
    X, y, _ = moons()
    model = small().fit(X, y)
    answers = model.predict(X).tolist()
    with pytest.raises(ValueError, match="no label"):
        model.fit(np.zeros((4, 6)), [-1] * 4)
    assert model.n_features_in_ == 2
    assert model.predict(X).tolist() == answers


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_probabilities_decisions_and_answers_agree(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(120, 3)) + 3 * rng.integers(0, n_classes, size=(120, 1))
    y = np.where(rng.random(120) < 0.2, (X.mean(axis=1) > 1.5) + (X.mean(axis=1) > 4.5) * 1, -1)
    y = np.minimum(y, n_classes - 1)
    model = small(n_centroids=20).fit(X, y)
    assert len(model.classes_) == n_classes
    asked = np.vstack([X, rng.normal(scale=30, size=(50, 3))])
    probabilities = model.predict_proba(asked)
    answers = model.predict(asked)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(probabilities >= 0)
    assert model.classes_[probabilities.argmax(axis=1)].tolist() == answers.tolist()
    scores = model.decision_function(asked)
    if n_classes == 2:
        assert scores.shape == (170,)
        assert model.classes_[(scores > 0).astype(int)].tolist() == answers.tolist()
    else:
        assert scores.shape == (170, n_classes)
        assert model.classes_[scores.argmax(axis=1)].tolist() == answers.tolist()


def test_score_leaves_unlabelled_rows_out() -> None:
    X, y, truth = moons()
    model = small().fit(X, y)
    right = model.predict(X) == truth
    assert model.score(X, truth) == right.mean()
    half = np.where(np.arange(len(X)) % 2 == 0, truth, -1)
    assert model.score(X, half) == right[::2].mean()
    weights = np.arange(len(X))
    assert model.score(X, half, weights) == pytest.approx(
        np.average(right[::2], weights=weights[::2])
    )


def test_asking_changes_nothing() -> None:
    X, y, _ = moons()
    model = small().fit(X, y)
    before = model.learner_.digest()
    for ask in (model.predict, model.predict_proba, model.decision_function):
        ask(X + 0.1)
    model.score(X, y)
    assert model.learner_.digest() == before


@pytest.mark.slow
def test_digits_from_four_labels_a_class() -> None:
    X, truth = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, truth = X[order], truth[order]
    known = np.concatenate([np.flatnonzero(truth == c)[:4] for c in range(10)])
    y = np.full(len(X), -1)
    y[known] = truth[known]
    model = QuantizedHarmonicClassifier(n_centroids=200).fit(X, y)
    hidden = y == -1
    accuracy = np.mean(model.transduction_[hidden] == truth[hidden])
    nearest = KNeighborsClassifier(1).fit(X[known], truth[known]).score(X[hidden], truth[hidden])
    assert accuracy > 0.86
    assert accuracy > nearest + 0.03


# Among the other estimators


def test_in_a_pipeline() -> None:
    X, y, truth = moons()
    stretched = X * [1.0, 1000.0]
    pipeline = make_pipeline(StandardScaler(), small()).fit(stretched, y)
    by_hand = small().fit(StandardScaler().fit_transform(stretched), y)
    assert pipeline[-1].learner_.digest() == by_hand.learner_.digest()
    assert pipeline.score(stretched, truth) > small().fit(stretched, y).score(stretched, truth)


def test_in_a_grid_search() -> None:
    X, y, truth = moons(90, labels=15)
    grid = {"n_centroids": [5, 30], "similarity": [None, Gaussian(0.3)]}
    search = GridSearchCV(small(), grid, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 4
    assert scores.min() > 0.8
    best = small(**search.best_params_).fit(X, y)
    assert search.best_estimator_.learner_.digest() == best.learner_.digest()
    assert search.score(X, truth) == best.score(X, truth)


def test_clone_is_unfitted_and_equal() -> None:
    X, y, _ = moons()
    model = small(similarity=Gaussian(0.3), unlabeled=None).fit(
        X, [None if label < 0 else label for label in y.tolist()]
    )
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "learner_")


def through_pickle(model: Any, folder: Path) -> Any:
    return pickle.loads(pickle.dumps(model))


def through_joblib_mapped_read_only(model: Any, folder: Path) -> Any:
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib", mmap_mode="r")


@pytest.mark.parametrize("through", [through_pickle, through_joblib_mapped_read_only])
def test_a_copy_goes_on_identically(through: Callable[[Any, Path], Any], tmp_path: Path) -> None:
    X, y, _ = moons(120)
    model = small().fit(X[:80], y[:80])
    twin = through(model, tmp_path)
    assert twin.learner_.digest() == model.learner_.digest()
    assert twin.transduction_.tolist() == model.transduction_.tolist()
    for each in (model, twin):
        each.partial_fit(X[80:], y[80:])
        each.partial_fit([[0.0, 0.0]], [7])
    assert twin.learner_.digest() == model.learner_.digest()
    assert twin.predict_proba(X).tolist() == model.predict_proba(X).tolist()


def test_unfitted_models_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(small())).get_params() == small().get_params()


# What is said when it cannot be done

ROWS = [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize(
    ("unlabeled", "y", "message"),
    [
        (-1, [-1, -1, -1], "y contains no label: all 3 of its entries are unlabeled=-1"),
        (None, [None, None, None], "y contains no label: all 3 of its entries are unlabeled=None"),
        (-1, [0, 1], "inconsistent numbers of samples"),
        (-1, None, "requires y to be passed"),
        (-1, [0.5, 1.5, 2.5], "Unknown label type: y is continuous"),
        (-1, [0, np.inf, 1], "Input y contains infinity"),
        (-1, [0, np.nan, 1], "Set unlabeled=None if missing means unlabelled"),
        (-1, ["a", None, "b"], "Set unlabeled=None if missing means unlabelled"),
        (None, ["a", 1, None], r"y mixes strings and numbers: \['a', 1\]"),
        (-1, np.array(["a", "b", -1]), "NumPy converts numbers among strings to strings"),
        (-1, [[0, 1], [1, 0], [1, 1]], "y should be a 1d array"),
        (-1, np.array([1j, 2, 3]), "Complex data not supported"),
    ],
    ids=str,
)
def test_labels_that_cannot_be_used(unlabeled: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QuantizedHarmonicClassifier(unlabeled=unlabeled).fit(ROWS, y)


def test_column_of_labels_is_flattened_with_a_warning() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = small().fit(ROWS, [[0], [1], [-1]])
    assert model.transduction_.shape == (3,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_centroids": 0}, "n_centroids=0 is not an integer from 1"),
        ({"sink": 0}, "sink=0 is not a number"),
        ({"coarsening": "none"}, "coarsening='none' is not supported"),
        ({"similarity": "rbf"}, "similarity='rbf' is neither a SelfTuning nor a Gaussian"),
    ],
    ids=str,
)
def test_parameters_are_checked_by_fit(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QuantizedHarmonicClassifier(**parameters).fit(ROWS, [0, 1, -1])


def test_classes_given_are_final() -> None:
    model = small().partial_fit(ROWS, [0, 1, -1], classes=[0, 1])
    before = model.learner_.digest()
    with pytest.raises(ValueError, match=r"y contains \[2\], which is not in classes=\[0, 1\]"):
        model.partial_fit(ROWS, [0, 2, -1])
    with pytest.raises(ValueError, match=r"classes=\[0, 1, 2\] differ from those of earlier calls"):
        model.partial_fit(ROWS, [0, 1, -1], classes=[0, 1, 2])
    assert model.learner_.digest() == before


def test_first_call_checks_labels_against_classes() -> None:
    with pytest.raises(
        ValueError, match=r"y contains \['c'\], which is not in classes=\['a', 'b'\]"
    ):
        small().partial_fit(ROWS, ["a", "c", -1], classes=["b", "a"])


def test_kinds_of_label_do_not_mix_across_calls() -> None:
    model = small().partial_fit(ROWS, [0, 1, -1])
    with pytest.raises(ValueError, match="strings and numbers do not mix"):
        model.partial_fit(ROWS, ["0", "1", "2"])
    assert model.classes_.tolist() == [0, 1]


def test_nothing_is_learned_from_a_chunk_with_a_bad_row() -> None:
    model = small().partial_fit(ROWS, [0, 1, -1])
    before = model.learner_.digest()
    with pytest.raises(ValueError, match=r"X\[2, 0\] is 1e\+200"):
        model.partial_fit([[0.0], [1.0], [1e200]], [-1, 0, -1])
    assert model.learner_.digest() == before


def test_failed_fit_leaves_the_fitted_learner() -> None:
    X, y, _ = moons(40)
    model = small().fit(X, y)
    before = model.learner_.digest()
    with pytest.raises(ValueError, match="growth=0"):
        model.set_params(growth=0).fit(X, y)
    assert model.learner_.digest() == before


def test_score_needs_a_label() -> None:
    model = small().fit(ROWS, [0, 1, -1])
    with pytest.raises(
        ValueError, match="y contains no label to compare with: all of its 3 entries"
    ):
        model.score(ROWS, [-1, -1, -1])


def test_answers_need_a_fit() -> None:
    with pytest.raises(NotFittedError):
        small().predict(ROWS)
