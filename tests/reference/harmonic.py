"""The harmonic solution in its closed forms, with dense matrices: eq. (3), Prop. 1 and eq. (7).

Everywhere ``labelled`` lists the indices of the labelled vertices and row r of ``Y_l`` belongs to
vertex ``labelled[r]``. Labels are one-hot rows, one column a class; the paper's binary l is the
column of +1 minus the column of -1. All functions return one row for every vertex.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def laplacian(W: Matrix) -> Matrix:
    """``L = D - W`` with ``d_i = sum_j w_ij`` (below eq. 1)."""
    return np.diag(W.sum(axis=1)) - W


def normalised_laplacian(W: Matrix) -> Matrix:
    """``L_ij = (D_ij - W_ij) / sqrt(D_ii D_jj)`` (Proposition 7); rows without edges stay 0.

    Self loops do not cancel here: a caller who has them keeps them on the diagonal of W.
    """
    degrees = W.sum(axis=1)
    L = laplacian(W)
    for i in range(len(W)):
        for j in range(len(W)):
            c_ij = np.sqrt(degrees[i] * degrees[j])
            L[i, j] = L[i, j] / c_ij if c_ij > 0 else 0.0
    return L


def hard(W: Matrix, labelled: Sequence[int], Y_l: Matrix, gamma_vector: npt.ArrayLike) -> Matrix:
    """Problem (2) with a sink of its own for every vertex.

    ``(L_uu + diag(gamma_u))^-1 W_ul Y_l``, with the labels in the labelled rows. W need not be
    symmetric; the degrees are row sums. ``gamma_vector`` has one entry a vertex, or is a scalar.
    """
    n = len(W)
    u = [i for i in range(n) if i not in labelled]
    gamma_u = np.broadcast_to(np.asarray(gamma_vector, dtype=np.float64), (n,))[u]
    K_uu = laplacian(W)[np.ix_(u, u)] + np.diag(gamma_u)
    W_ul = W[np.ix_(u, labelled)]
    F = np.zeros((n, Y_l.shape[1]))
    F[labelled] = Y_l
    F[u] = np.linalg.solve(K_uu, W_ul @ Y_l)
    return F


def full_graph(W: Matrix, labels: Sequence[int], gamma: float, n_classes: int) -> Matrix:
    """Eq. (3): ``l_u = (L_uu + gamma I)^-1 W_ul l_l``; ``labels`` holds -1 where there is none."""
    labelled = [i for i, label in enumerate(labels) if label >= 0]
    Y_l = np.zeros((len(labelled), n_classes))
    for row, i in enumerate(labelled):
        Y_l[row, labels[i]] = 1.0
    return hard(W, labelled, Y_l, gamma)


def quantized_as_printed(
    W_tilde: Matrix, v: Matrix, labelled: Sequence[int], Y_l: Matrix, gamma: float
) -> Matrix:
    """Proposition 1 as printed: ``(L^q_uu + gamma V)^-1 W^q_ul l_l`` with ``W^q = V W~ V``."""
    V = np.diag(v)
    return hard(V @ W_tilde @ V, labelled, Y_l, gamma * np.asarray(v))


def quantized_row_form(
    W_tilde: Matrix, v: Matrix, labelled: Sequence[int], Y_l: Matrix, gamma_vector: npt.ArrayLike
) -> Matrix:
    """Proposition 1 with row i divided by v_i.

    ``(d_i + gamma_i) f_i = sum_j w_ij v_j f_j`` with ``d_i = sum_{j != i} w_ij v_j``.
    """
    without_loops = W_tilde - np.diag(np.diag(W_tilde))
    return hard(without_loops @ np.diag(v), labelled, Y_l, gamma_vector)


def grounded_laplacian(W_tilde: Matrix, v: Matrix, gamma: Matrix) -> Matrix:
    """``K = V (D + Gamma) - V W~ V``: the symmetric form of the row equations, all rows."""
    n = len(W_tilde)
    K = np.zeros((n, n))
    for i in range(n):
        K[i, i] = v[i] * gamma[i]
        for j in range(n):
            if j != i:
                K[i, i] += v[i] * W_tilde[i, j] * v[j]
                K[i, j] -= v[i] * W_tilde[i, j] * v[j]
    return K


def repeated(W_tilde: Matrix, v: Sequence[int]) -> Matrix:
    """The t x t similarity matrix of section 3.1, in which vertex i appears ``v_i`` times."""
    vertex_of = [i for i in range(len(W_tilde)) for _ in range(v[i])]
    return W_tilde[np.ix_(vertex_of, vertex_of)]


def soft(
    W: Matrix, y: Matrix, c_l: float, c_u: float, gamma: float, normalised: bool = False
) -> Matrix:
    """Eq. (7) in closed form (Lemma 1): ``l = (C^-1 K + I)^-1 y`` with ``K = L + gamma I``.

    ``y`` holds the pseudo-targets, one entry or one row a vertex; those of an unlabelled vertex,
    and no others, are all 0.
    """
    n = len(W)
    K = (normalised_laplacian(W) if normalised else laplacian(W)) + gamma * np.eye(n)
    C = np.diag([c_l if np.any(y[i] != 0) else c_u for i in range(n)])
    solution = np.linalg.solve(np.linalg.inv(C) @ K + np.eye(n), y)
    return np.asarray(solution, dtype=np.float64)


def reaches_a_label(W: Matrix, labelled: Sequence[int]) -> list[bool]:
    """Say of every vertex whether a walk over edges ``w_ij > 0`` leads to a labelled one."""
    reached = [i in labelled for i in range(len(W))]
    waiting = list(labelled)
    while waiting:
        i = waiting.pop()
        for j in range(len(W)):
            if W[i, j] > 0 and not reached[j]:
                reached[j] = True
                waiting.append(j)
    return reached
