"""Each label in turn is taken back, and the graph without it is solved afresh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .harmonic import Matrix, quantized_row_form


def absorption(W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int]) -> Matrix:
    """Every labelled vertex is a class of its own."""
    return quantized_row_form(W, v, labelled, np.eye(len(labelled)), gamma)


def held_out(W: Matrix, v: Matrix, gamma: Matrix, labelled: Sequence[int], Y_l: Matrix) -> Matrix:
    held = np.zeros(Y_l.shape)
    for row, i in enumerate(labelled):
        others = [j for j in labelled if j != i]
        Y_others = np.array([Y_l[r] for r, j in enumerate(labelled) if j != i])
        Y_others = Y_others.reshape(len(others), Y_l.shape[1])
        held[row] = quantized_row_form(W, v, others, Y_others, gamma)[i]
    return held
