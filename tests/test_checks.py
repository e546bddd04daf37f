"""The public laws: kept by what is known to keep them, broken one at a time by what is not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import pairwise

from labelwalk import Gaussian, OnlineLearner, Pairwise
from labelwalk.arrays import Floats
from labelwalk.checks import LawBroken, check_distance, check_similarity
from labelwalk.similarity import euclidean

Function = Callable[[Floats, Floats], Any]
Check = Callable[[Function, Any], None]

X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [4.0, 3.0], [-2.0, 0.5]])

matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(3, 6), st.integers(1, 4)),
    elements=st.floats(-1e100, 1e100),
)
tame_matrices = hnp.arrays(
    np.float64, st.tuples(st.integers(3, 6), st.integers(1, 4)), elements=st.floats(-50, 50)
)


def manhattan(x: Floats, rows: Floats) -> Floats:
    return np.asarray(np.abs(rows - x).sum(axis=1))


def gaussian(x: Floats, rows: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * euclidean(x, rows) ** 2))


def of_sklearn(name: str) -> Function:
    metric = getattr(pairwise, name)
    return lambda x, rows: metric(x[None], rows)[0]


def law_broken_by(check: Check, function: Function) -> LawBroken:
    with pytest.raises(LawBroken) as caught:
        check(function, X)
    return caught.value


# Functions that are right


METRICS: dict[str, Function] = {
    "euclidean": euclidean,
    "manhattan": manhattan,
    "manhattan of scikit-learn": of_sklearn("manhattan_distances"),
    "haversine of scikit-learn": of_sklearn("haversine_distances"),
    "largest gap": lambda x, rows: np.abs(rows - x).max(axis=1),
    "hamming": lambda x, rows: (rows != x).mean(axis=1),
    "list": lambda x, rows: [abs(float(row[0] - x[0])) for row in rows],
    "zero": lambda x, rows: np.zeros(len(rows)),
}
SIMILARITIES: dict[str, Function] = {
    "gaussian": gaussian,
    "rbf of scikit-learn": of_sklearn("rbf_kernel"),
    "laplacian of scikit-learn": of_sklearn("laplacian_kernel"),
    "share of equals": lambda x, rows: (rows == x).mean(axis=1),
    "inverse": lambda x, rows: 1 / (1 + manhattan(x, rows)),
    "zero": lambda x, rows: np.zeros(len(rows)),
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics_pass(name: str) -> None:
    check_distance(METRICS[name], X)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities_pass(name: str) -> None:
    check_similarity(SIMILARITIES[name], X)


@given(matrices)
def test_euclidean_is_a_metric_on_any_rows(rows: Floats) -> None:
    check_distance(euclidean, rows)


@given(matrices)
def test_manhattan_is_a_metric_on_any_rows(rows: Floats) -> None:
    check_distance(manhattan, rows)


@given(tame_matrices, st.floats(0.1, 50))
def test_gaussian_of_a_distance_is_a_similarity(rows: Floats, sigma: float) -> None:
    check_similarity(lambda x, others: gaussian(x / sigma, others / sigma), rows)


@given(tame_matrices)
def test_square_root_of_a_metric_is_a_metric(rows: Floats) -> None:
    check_distance(lambda x, others: np.sqrt(manhattan(x, others)), rows)


@given(tame_matrices, st.integers(0, 5), st.floats(1.1, 10))
def test_one_way_surcharge_is_found(rows: Floats, place: int, surcharge: float) -> None:
    dear = rows[place % len(rows)].copy()

    def one_way(x: Floats, others: Floats) -> Floats:
        return manhattan(x, others) * (surcharge if np.array_equal(x, dear) else 1.0)

    if (rows == dear).all():
        check_distance(one_way, rows)
    else:
        with pytest.raises(LawBroken) as caught:
            check_distance(one_way, rows)
        assert caught.value.law in {"symmetric", "triangle inequality"}


# Functions that break one law


def writes_into_rows(x: Floats, rows: Floats) -> Floats:
    rows -= x
    return np.asarray(np.abs(rows).sum(axis=1))


def writes_into_x(x: Floats, rows: Floats) -> Floats:
    answer = manhattan(x, rows)
    x[:] = 0.0
    return answer


class Forgetful:
    """Says another thing each time."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Floats, rows: Floats) -> Floats:
        self.calls += 1
        return manhattan(x, rows) * self.calls


def far_is_forbidden(x: Floats, rows: Floats) -> Floats:
    gaps = manhattan(x, rows)
    return np.where(gaps > 3, 100.0, gaps)


OF_BOTH: dict[str, tuple[str, Function]] = {
    "one number": ("shape", lambda x, rows: 1.0),
    "matrix": ("shape", lambda x, rows: np.abs(rows - x)),
    "nothing": ("shape", lambda x, rows: None),
    "text": ("shape", lambda x, rows: ["near"] * len(rows)),
    "too few": ("shape", lambda x, rows: manhattan(x, rows)[:-1]),
    "nan": ("finite", lambda x, rows: np.where(rows[:, 0] == 4, np.nan, 0)),
    "infinity": ("finite", lambda x, rows: np.where(rows[:, 0] == 4, np.inf, 0)),
    "negative": ("not negative", lambda x, rows: manhattan(x, rows) - 0.1),
    "writes into rows": ("inputs unchanged", writes_into_rows),
    "writes into x": ("inputs unchanged", writes_into_x),
    "forgetful": ("repeatable", Forgetful()),
    "relative": ("row by row", lambda x, rows: manhattan(x, rows) / len(rows)),
    "uphill": ("symmetric", lambda x, rows: np.maximum(rows - x, 0).sum(axis=1)),
}
OF_DISTANCES: dict[str, tuple[str, Function]] = {
    "similarity": ("zero to itself", gaussian),
    "almost zero": ("zero to itself", lambda x, rows: manhattan(x, rows) + 1e-12),
    "squared": ("triangle inequality", lambda x, rows: manhattan(x, rows) ** 2),
    "far is forbidden": ("triangle inequality", far_is_forbidden),
}
OF_SIMILARITIES: dict[str, Function] = {
    "distance": manhattan,
    "squared product": lambda x, rows: (rows @ x) ** 2,
}


@pytest.mark.parametrize("name", OF_BOTH)
@pytest.mark.parametrize("check", [check_similarity, check_distance])
def test_laws_of_both_are_found_broken(check: Check, name: str) -> None:
    law, function = OF_BOTH[name]
    assert law_broken_by(check, function).law == law


@pytest.mark.parametrize("name", OF_DISTANCES)
def test_laws_of_distances_are_found_broken(name: str) -> None:
    law, function = OF_DISTANCES[name]
    assert law_broken_by(check_distance, function).law == law


@pytest.mark.parametrize("name", OF_SIMILARITIES)
def test_laws_of_similarities_are_found_broken(name: str) -> None:
    broken = law_broken_by(check_similarity, OF_SIMILARITIES[name])
    assert broken.law == "most similar to itself"


def test_cosine_distance_is_no_metric() -> None:
    rows = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    with pytest.raises(LawBroken) as caught:
        check_distance(of_sklearn("cosine_distances"), rows)
    assert caught.value.law == "triangle inequality"
    assert caught.value.rows == (0, 1, 2)


def test_distances_from_products_leave_rounding() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 5))
    with pytest.raises(LawBroken, match="compute from the differences rows - x"):
        check_distance(of_sklearn("euclidean_distances"), rows)


# What is said


def test_message_names_law_rows_values_and_repair() -> None:
    def squared(x: Floats, rows: Floats) -> Floats:
        return euclidean(x, rows) ** 2

    with pytest.raises(LawBroken) as caught:
        check_distance(squared, [[0.0], [1.0], [2.0]])
    assert str(caught.value) == (
        "Law broken: triangle inequality. squared(X[0], X[2]) = 4.0 is more than the detour "
        "squared(X[0], X[1]) + squared(X[1], X[2]) = 1.0 + 1.0. Use a metric: the square root of a "
        "squared distance, or the angle in place of the cosine distance. "
        "Here X[0] = [0.], X[1] = [1.], X[2] = [2.]."
    )


def test_every_message_shows_its_rows_and_a_repair() -> None:
    for law, function in OF_BOTH.values():
        broken = law_broken_by(check_distance, function)
        assert str(broken).startswith(f"Law broken: {law}. ")
        assert broken.rows
        assert all(f"X[{i}] = [" in broken.details for i in broken.rows)


def test_long_rows_are_shortened() -> None:
    with pytest.raises(LawBroken) as caught:
        check_distance(lambda x, rows: np.ones(len(rows)), np.zeros((3, 1000)))
    assert len(str(caught.value)) < 400


def test_error_is_a_value_error_and_can_be_pickled() -> None:
    broken = law_broken_by(check_distance, lambda x, rows: 1.0)
    assert isinstance(broken, ValueError)
    again = pickle.loads(pickle.dumps(broken))
    assert (again.law, again.rows, str(again)) == (broken.law, broken.rows, str(broken))


def test_errors_of_the_function_come_through() -> None:
    def failing(x: Floats, rows: Floats) -> Floats:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        check_similarity(failing, X)


@pytest.mark.parametrize(
    ("check", "rows", "message"),
    [
        (check_similarity, [[1.0, 2.0]], "X has 1 rows, and these laws compare 2"),
        (check_distance, [[1.0], [2.0]], "X has 2 rows, and these laws compare 3"),
        (check_distance, [[1.0], [np.nan], [2.0]], r"X\[1, 0\] is nan"),
        (check_similarity, [["a"], ["b"]], "not numeric"),
    ],
)
def test_rows_that_cannot_be_used(check: Check, rows: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(manhattan, rows)


# What is checked can be used


def test_checked_functions_make_a_learner() -> None:
    check_distance(manhattan, X)
    check_similarity(gaussian, X)
    for similarity in (Gaussian(distance=manhattan), Pairwise(gaussian, distance=manhattan)):
        learner = OnlineLearner(n_centroids=3, similarity=similarity)
        learner.teach(X[:2], ["a", "b"])
        assert len(learner.observe(X)) == len(X)
