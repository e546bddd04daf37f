"""Vertices leave a graph by the Schur complement of the whole matrix, labelled rows included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harmonic import Matrix, grounded_laplacian


def schur(
    W: Matrix, v: Matrix, gamma: Matrix, gone: Sequence[int]
) -> tuple[Matrix, Matrix, list[int]]:
    """Similarities and sinks that are left, and the vertices they belong to.

    K = V (D + Gamma) - V W V. What is left of K when `gone` leave is K_kk - K_kg K_gg^-1 K_gk, and
    it is of the same form: off the diagonal -v_j w_jk v_k, and its rows sum to v_j gamma_j.
    """
    n = len(W)
    kept = [i for i in range(n) if i not in gone]
    K = grounded_laplacian(W, v, gamma)
    left = K[np.ix_(kept, kept)]
    if len(gone) > 0:
        through = np.linalg.solve(K[np.ix_(gone, gone)], K[np.ix_(gone, kept)])
        left = left - K[np.ix_(kept, gone)] @ through
    w_left = np.zeros((len(kept), len(kept)))
    gamma_left = np.zeros(len(kept))
    for a, j in enumerate(kept):
        gamma_left[a] = sum(left[a]) / v[j]
        for b, k in enumerate(kept):
            if a != b:
                w_left[a, b] = -left[a, b] / (v[j] * v[k])
    return w_left, gamma_left, kept


def left_out(
    W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int], i: int, strongest: int
) -> tuple[Matrix, Matrix]:
    """One vertex leaves, its edges included, and `strongest` edges of its mesh are added."""
    n = len(W)
    total = gamma[i] + sum(W[i, j] * v[j] for j in range(n) if j != i)
    w_left, gamma_left = W.copy(), gamma.copy()
    pairs = []
    for j in range(n):
        if j == i:
            continue
        gamma_left[j] += W[j, i] * v[i] * gamma[i] / total
        for k in range(j + 1, n):
            more = W[j, i] * v[i] * W[i, k] / total
            if k != i and more > 0 and not (j in labelled and k in labelled):
                pairs.append((v[j] * more * v[k], j, k, more))
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    for _, j, k, more in pairs[:strongest]:
        w_left[j, k] += more
        w_left[k, j] += more
    kept = [j for j in range(n) if j != i]
    return w_left[np.ix_(kept, kept)], gamma_left[kept]
