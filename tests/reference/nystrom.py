"""The Nyström approximation as a dense matrix, and its harmonic solution by a dense solver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harmonic import Matrix, hard


def approximation(W: Matrix, landmarks: Sequence[int]) -> Matrix:
    """``W_nm W_mm^-1 W_mn``."""
    C = W[:, landmarks]
    product = C @ np.linalg.pinv(W[np.ix_(landmarks, landmarks)], rcond=1e-12) @ C.T
    return np.asarray(product, dtype=np.float64)


def harmonic(W: Matrix, landmarks: Sequence[int], Y_l: Matrix, gamma: float) -> Matrix:
    """Eq. (3) on the approximation, whose first rows are the labelled ones."""
    labelled = list(range(len(Y_l)))
    return hard(approximation(W, landmarks), labelled, Y_l, gamma)[len(Y_l) :]
