"""Poisson learning by the pseudo-inverse of the whole Laplacian."""

from __future__ import annotations

import numpy as np

from .harmonic import Matrix, laplacian, reaches_a_label


def potentials(W: Matrix, v: Matrix, labels: Matrix) -> Matrix:
    """``L u = sum_j (y_j - mean of y) delta_j`` on ``V W V``, one connected component at a time.

    ``labels[i, c]`` examples of class c were taught at vertex i. Weighted by degrees, u is 0 on
    average.
    """
    V = np.diag(v)
    VWV = V @ W @ V
    n, n_classes = labels.shape
    u = np.zeros((n, n_classes))
    done: set[int] = set()
    for start in range(n):
        if start in done:
            continue
        here = [i for i, reached in enumerate(reaches_a_label(VWV, [start])) if reached]
        done.update(here)
        w_here = VWV[np.ix_(here, here)]
        degrees = w_here.sum(axis=1)
        examples = labels[here].sum()
        sources = np.zeros((len(here), n_classes))
        for row, i in enumerate(here):
            for c in range(n_classes):
                for _ in range(int(labels[i, c])):
                    sources[row, c] += 1
                    sources[row] -= labels[here].sum(axis=0) / examples
        u_here = np.linalg.pinv(laplacian(w_here)) @ sources
        if degrees.sum() > 0:
            u_here = u_here - degrees @ u_here / degrees.sum()
        u[here] = u_here
    return u
