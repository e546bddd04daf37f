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


def neighbour_graph(points: Matrix, bandwidths: Matrix, threshold: float, few: int) -> Matrix:
    """Gaussian similarities, kept where one is among the ``few`` most similar to the other."""
    n = len(points)
    W = np.zeros((n, n))
    for i in range(n):
        similar = []
        for j in range(n):
            squared = sum((points[i] - points[j]) ** 2)
            w_ij = np.exp(-squared / (2 * bandwidths[i] * bandwidths[j]))
            if i != j and w_ij >= threshold:
                similar.append((w_ij, j))
        for w_ij, j in sorted(similar, reverse=True)[:few]:
            W[i, j] = W[j, i] = w_ij
    return W


def confidences(
    x: Matrix, points: Matrix, bandwidths: Matrix, W: Matrix, v: Matrix, labels: Matrix, few: int
) -> Matrix:
    """Softmax, among classes taught near x, of the mean potential of vertices similar to x.

    Vertices are the ``few`` most similar ones, those in the component of the first of them.
    Potentials are in units of their mean size there.
    """
    n, n_classes = labels.shape
    u = potentials(W, v, labels)
    squared = [sum((x - point) ** 2) for point in points]
    own = bandwidths[squared.index(min(squared))]
    similar = [np.exp(-squared[j] / (2 * own * bandwidths[j])) for j in range(n)]
    nearest = sorted(range(n), key=lambda j: -similar[j])[:few]
    component = reaches_a_label(W, nearest[:1])
    total = sum(similar[j] * v[j] for j in nearest if component[j])
    mean = sum(similar[j] * v[j] * u[j] for j in nearest if component[j]) / total
    degrees = [
        sum(v[i] * W[i, j] * v[j] for j in range(n)) if component[i] else 0 for i in range(n)
    ]
    size = 0.0
    for i in range(n):
        for c in range(n_classes):
            size += degrees[i] * abs(u[i, c]) / max(sum(degrees), 1e-300) / n_classes
    odds = np.zeros(n_classes)
    for c in range(n_classes):
        if any(component[i] and labels[i, c] > 0 for i in range(n)):
            odds[c] = np.exp(mean[c] / size) if size > 0 else 1.0
    return odds / sum(odds) if sum(odds) > 0 else odds
