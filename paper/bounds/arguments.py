"""What the statements take: solutions, assignments and the constants γ, c_u and n_l, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats, Ints
from labelwalk.parameters import check_number, check_whole
from labelwalk.solver.graphs import as_columns

LARGEST = 1e100  # squares of it can still be summed


def as_solution(name: str, values: ArrayLike, like: Floats | None = None) -> Floats:
    """Return a matrix of finite numbers with a row per example, as `solve_soft` returns it."""
    columns = as_columns(name, values, None if like is None else len(like))
    if like is not None and columns.shape != like.shape:
        raise ValueError(
            f"{name} has shape {columns.shape}, the other solutions {like.shape}: pass as many "
            "columns"
        )
    if not np.abs(columns).max(initial=0.0) <= LARGEST:
        wrong = columns[~(np.abs(columns) <= LARGEST)][0]
        raise ValueError(
            f"{name} contains {wrong}: pass numbers of at most {LARGEST:g}, "
            "and look for NaN where they come from"
        )
    return columns


def check_constants(c_u: float, sink: float, n_labelled: int = 0) -> None:
    """Refuse constants outside the theory: 0 < c_u ≤ c_l = 1, γ > 0, n_l ≥ 0."""
    check_number("c_u", c_u, 1e-50, 1.0, "0.01; section 4 has c_l = 1 and c_u below it")
    check_number("sink", sink, 1e-50, 1e50, "1.0, or a schedule of section 4.4")
    check_whole("n_labelled", n_labelled, "int(is_labelled.sum())", least=0)


def check_difference(difference: float) -> None:
    """Refuse what is no norm of a difference of Laplacians."""
    check_number("difference", difference, 0.0, LARGEST, "what quantization_error returns")


def as_assignment(assigned: ArrayLike, n: int, k: int) -> Ints:
    """Return which of k representatives stands for each of n examples."""
    own = np.asarray(assigned)
    if own.shape != (n,) or (own.dtype.kind not in "iu" and n > 0):
        raise ValueError(
            f"assigned has dtype {own.dtype} and shape {own.shape}: pass {n} integers, as "
            "nearest(examples, representatives) returns them"
        )
    wrong = (own < 0) | (own >= k)
    if wrong.any():
        raise ValueError(f"assigned contains {own[wrong][0]}: pass numbers in 0 .. {k - 1}")
    return own.astype(np.int64)
