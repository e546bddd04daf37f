"""Data to learn from: real streams, and manifolds made from a seed.

>>> from paper.datasets import load
>>> load("digits").X.shape
(1797, 64)
"""

from __future__ import annotations

from paper.datasets.catalogue import NAMES, load, missing
from paper.datasets.dataset import OUTSIDER, DataMissingError, Dataset

__all__ = ["NAMES", "OUTSIDER", "DataMissingError", "Dataset", "load", "missing"]
