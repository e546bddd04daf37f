"""Class mass normalisation: every class has the same share of all examples."""

from __future__ import annotations

from typing import Literal

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.parameters import shown

Prior = Literal["uniform"] | None


def check_prior(prior: object) -> None:
    """Refuse what is neither None nor "uniform"."""
    if prior not in (None, "uniform"):
        raise ValueError(f"prior={shown(prior)} is unknown. Choose None or 'uniform'.")


def balanced(f: Floats, counts: Floats) -> Floats:
    """Class mass normalisation: divide each class by its mass; each row keeps its own sum.

    Examples
    --------
    >>> balanced(np.array([[0.6, 0.2], [0.5, 0.1]]), np.ones(2)).round(3)
    array([[0.36 , 0.44 ],
           [0.346, 0.254]])
    """
    mass = counts @ f
    even = f / np.where(mass > 0.0, mass, 1.0)
    total = even.sum(axis=1, keepdims=True)
    shares = even / np.where(total > 0.0, total, 1.0)
    scores: Floats = shares * f.sum(axis=1, keepdims=True)
    return scores
