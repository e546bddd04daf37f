"""Section 4 of the paper with whole matrices and plain loops: both sides of its statements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .harmonic import Matrix, laplacian, normalised_laplacian

Mask = npt.NDArray[np.bool_]


def without_loops(W: Matrix) -> Matrix:
    return W - np.diag(np.diag(W))


def laplacian_of(W: Matrix, normalised: bool) -> Matrix:
    """Laplacian without self loops; 1 on the diagonal of a normalised one, as in Proposition 7."""
    bare = without_loops(W)
    if not normalised:
        return laplacian(bare)
    L = normalised_laplacian(bare)
    for i in range(len(W)):
        L[i, i] = 1.0
    return L


def as_quantized(W_tilde: Matrix, assigned: Sequence[int]) -> Matrix:
    """The t x t matrix W^q of section 4: examples take the similarities of their centroids."""
    n = len(assigned)
    W = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            W[i, j] = W_tilde[assigned[i], assigned[j]]
    return W


def frobenius(W_q: Matrix, W_o: Matrix, normalised: bool) -> float:
    difference = laplacian_of(W_q, normalised) - laplacian_of(W_o, normalised)
    return math.sqrt(sum(entry**2 for row in difference for entry in row))


def soft(W: Matrix, Y: Matrix, labelled: Mask, c_u: float, gamma: float, norm: bool) -> Matrix:
    """Lemma 1: ``l = (C^-1 K + I)^-1 y``, c_l = 1."""
    n = len(W)
    K = laplacian_of(W, norm) + gamma * np.eye(n)
    C = np.diag([1.0 if labelled[i] else c_u for i in range(n)])
    y = np.array([Y[i] if labelled[i] else 0.0 * Y[i] for i in range(n)])
    solution = np.linalg.solve(np.linalg.inv(C) @ K + np.eye(n), y)
    return np.asarray(solution, dtype=np.float64)


def online(W: Matrix, Y: Matrix, labelled: Mask, c_u: float, gamma: float, norm: bool) -> Matrix:
    """``l_t[t]``: the last value of the solution on the first t examples."""
    answers = []
    for t in range(1, len(W) + 1):
        answers.append(soft(W[:t, :t], Y[:t], labelled[:t], c_u, gamma, norm)[t - 1])
    return np.array(answers)


def mean_square(A: Matrix, B: Matrix) -> float:
    total = 0.0
    for a, b in zip(A, B, strict=True):
        total += sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
    return total / len(A)


def worst_swap(W: Matrix, Y: Matrix, labelled: Mask, c_u: float, gamma: float, norm: bool) -> float:
    """Largest change of a squared error when two examples swap being labelled."""
    f = soft(W, Y, labelled, c_u, gamma, norm)
    worst = 0.0
    for i, j in itertools.product(range(len(W)), repeat=2):
        if labelled[i] and not labelled[j]:
            other = labelled.copy()
            other[i], other[j] = labelled[j], labelled[i]
            g = soft(W, Y, other, c_u, gamma, norm)
            for t in range(len(W)):
                change = sum((f[t] - Y[t]) ** 2) - sum((g[t] - Y[t]) ** 2)
                worst = max(worst, abs(change))
    return worst


def beta(n_l: int, c_u: float, gamma: float, lambda_max: float) -> float:
    """Second line of Proposition 3."""
    first = math.sqrt(2) / (gamma + 1)
    second = math.sqrt(2 * n_l) * (1 - math.sqrt(c_u)) / math.sqrt(c_u)
    return 2 * (first + second * (lambda_max + gamma) / (gamma**2 + 1))


def transductive_error(beta: float, n_l: int, delta: float) -> float:
    return beta + math.sqrt(2 * math.log(2 / delta) / n_l) * (n_l * beta + 4)


def equation_9(
    W_q: Matrix, W_o: Matrix, y: Matrix, labelled: Mask, c_u: float, gamma: float
) -> float:
    """Right side of eq. (9), with eigenvalues of the symmetric matrices similar to Z."""
    n = len(W_q)
    C = np.diag([1.0 if labelled[i] else c_u for i in range(n)])
    root = np.sqrt(np.linalg.inv(C))
    smallest = []
    for W in (W_q, W_o):
        K = laplacian_of(W, False) + gamma * np.eye(n)
        smallest.append(min(np.linalg.eigvalsh(root @ K @ root + np.eye(n))))
    change = (laplacian_of(W_q, False) - laplacian_of(W_o, False)) @ y
    return float(np.linalg.norm(change) / c_u / (smallest[0] * smallest[1]))


def entry_bound(M: float, epsilon: float, c_min: float, n: int) -> float:
    """Right side of the third line of the proof of Proposition 7, with epsilon = R m / (m - 1)."""
    return 4 * M * epsilon / (c_min * n) + 4 * M * (n * M * epsilon) / (c_min * n) ** 2


def smallest_c(W_q: Matrix, W_o: Matrix) -> float:
    """c_min: the smallest of c_ij / n in both graphs."""
    n = len(W_q)
    c = []
    for W in (W_q, W_o):
        D = without_loops(W).sum(axis=1)
        c += [math.sqrt(D[i] * D[j]) for i in range(n) for j in range(n)]
    return min(c) / n
