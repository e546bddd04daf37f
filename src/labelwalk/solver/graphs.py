"""What counts as a graph: similarities, weights and sinks, checked; and the degrees they give."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Bools, Floats
from labelwalk.one_thread import one_blas_thread

ASYMMETRY = 1e-8


class Graph(NamedTuple):
    """Similarities w, weights v and sinks γ, and which vertices are labelled."""

    w: Floats
    v: Floats
    gamma: Floats
    labelled: Bools


def as_graph(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    weights: ArrayLike | None,
    sink: ArrayLike,
    *,
    copies: bool = False,
) -> Graph:
    """Return the graph; with `copies` its weights must be at least 1.

    Raises
    ------
    ValueError
        Similarities are no symmetric matrix of numbers >= 0, the mask is not boolean, a weight or
        a sink is not > 0, or a shape does not fit.
    """
    w = as_similarity(similarity)
    v = as_weights(weights, w, copies=copies)
    return Graph(w, v, as_positive("sink", sink, len(w)), as_mask(is_labelled, len(w)))


def as_similarity(similarity: ArrayLike) -> Floats:
    """Return a symmetric matrix of finite numbers >= 0."""
    w = np.asarray(similarity, dtype=np.float64)
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(
            f"similarity has shape {w.shape}: pass a square matrix, a row and a column per vertex"
        )
    lowest, highest = w.min(initial=0.0), w.max(initial=0.0)
    if not (lowest >= 0.0 and np.isfinite(highest)):
        worst = lowest if not lowest >= 0.0 else highest
        raise ValueError(
            f"similarity contains {worst}: entries must be finite and >= 0; "
            "use exp(-(d/sigma)**2 / 2) for a distance d, and look for NaN in the examples"
        )
    gap = np.abs(w - w.T).max(initial=0.0)
    if gap > ASYMMETRY * highest:
        raise ValueError(
            f"similarity is not symmetric: entries ij and ji differ by up to {gap}; "
            "pass np.maximum(similarity, similarity.T)"
        )
    return w


def as_weights(weights: ArrayLike | None, w: Floats, *, copies: bool = False) -> Floats:
    """Return weights > 0 whose degrees do not overflow; all 1 where there are none."""
    v = as_positive("weights", 1.0 if weights is None else weights, len(w))
    if copies and v.min(initial=1.0) < 1.0:
        raise ValueError(
            f"weights contains {v.min()}: a normalised Laplacian counts the v - 1 edges between "
            "copies, so pass counts >= 1"
        )
    # in Python numbers, which overflow without a warning
    total = sum(v.tolist())
    if not math.isfinite(float(w.max(initial=0.0)) * total):
        raise ValueError(
            f"weights sum to {total}: degrees would overflow; divide all weights and the sink "
            "by one number, the solution stays the same"
        )
    return v


def as_positive(name: str, values: ArrayLike, n: int) -> Floats:
    """Return n finite numbers > 0, from as many or from one."""
    given = np.asarray(values, dtype=np.float64)
    if given.shape not in ((), (n,)):
        raise ValueError(
            f"{name} has shape {given.shape}: pass one number or one per vertex, shape ({n},)"
        )
    wrong = ~((given >= np.finfo(np.float64).tiny) & np.isfinite(given))
    if wrong.any():
        raise ValueError(
            f"{name} contains {given[wrong][0]}: every entry must be finite and > 0; "
            + ("leave out vertices of weight 0" if name == "weights" else "a small one is 1e-6")
        )
    return np.broadcast_to(given, (n,))


def as_columns(name: str, values: ArrayLike, n: int | None = None) -> Floats:
    """Return a matrix with a row per vertex."""
    columns = np.asarray(values, dtype=np.float64)
    if columns.ndim != 2 or (n is not None and len(columns) != n):
        rows = "n" if n is None else n
        raise ValueError(
            f"{name} has shape {columns.shape}: pass ({rows}, columns), one row per vertex; "
            f"a single column is {name}[:, None]"
        )
    return columns


def as_targets(values: ArrayLike, labelled: Bools) -> Floats:
    """Return the targets of labelled vertices, and 0 at all others."""
    targets = as_columns("targets", values, len(labelled))
    wrong = labelled & ~np.isfinite(targets).all(axis=1)
    if wrong.any():
        row = np.flatnonzero(wrong)[0]
        raise ValueError(
            f"targets of labelled vertex {row} are {targets[row]}: pass finite values, "
            "or leave the vertex unlabelled"
        )
    return np.where(labelled[:, None], targets, 0.0)


def as_mask(is_labelled: ArrayLike, n: int) -> Bools:
    """Return which of n vertices are labelled."""
    mask = np.asarray(is_labelled)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise ValueError(
            f"is_labelled has dtype {mask.dtype} and shape {mask.shape}: pass a boolean mask of "
            f"shape ({n},); from indices: mask = np.zeros({n}, bool); mask[indices] = True"
        )
    return mask


def degrees(w: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return d_i = Σ_{j≠i} w_ij v_j, and D_i = d_i + (v_i − 1) w_ii, the degree of one copy."""
    bare = w.copy()
    np.fill_diagonal(bare, 0.0)
    with one_blas_thread():
        d: Floats = bare @ v
    return d, d + (v - 1.0) * np.diagonal(w)
