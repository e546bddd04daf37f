"""How many vertices may stand for rows."""

from __future__ import annotations

from typing import NamedTuple

from labelwalk.distributed.planting import check_fits
from labelwalk.settings import Settings


class Budget(NamedTuple):
    """The most vertices without a label, and with each, and how covers grow coarser."""

    n_centroids: int
    labels_per_class: int
    growth: float


def budget_of(settings: Settings) -> Budget:
    """Return what settings allow.

    Raises
    ------
    ValueError
        They are such as shards cannot have.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> budget_of(OnlineLearner(n_centroids=500).settings)
    Budget(n_centroids=500, labels_per_class=64, growth=1.5)
    """
    check_fits(settings)
    assert settings.n_centroids is not None  # as check_fits has it
    return Budget(settings.n_centroids, settings.labels_per_class, float(settings.growth))
