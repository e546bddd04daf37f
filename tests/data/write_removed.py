"""Write files of version 0.7.0 that use features which were removed later: `removed-0.7.tgz`.

git archive 2eac352 | tar x -C OLD
PYTHONPATH=OLD/src NUMBA_CACHE_DIR=$(mktemp -d) python tests/data/write_removed.py
"""

from __future__ import annotations

import os
import tarfile
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import labelwalk

# The names of version 0.7.0; this version has others.
Gaussian: Any = labelwalk.Gaussian
OnlineLearner: Any = labelwalk.OnlineLearner
FOLDER = Path(__file__).resolve().parent
LABELS = [[-2.0, 0.0], [2.0, 0.0]]


def manhattan(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(rows - x).sum(axis=1))


def write() -> None:
    """Write all files into the current folder."""
    events: Any = import_module("labelwalk.service.events")
    Keeper: Any = import_module("labelwalk.service.keeper").Keeper
    rows = np.random.default_rng(3).normal(size=(400, 2))
    stored: dict[str, dict[str, Any]] = {
        "window": {"window": 30},
        "half_life": {"half_life": 20},
        "distance": {"similarity": Gaussian(1.0, distance=manhattan)},
    }
    for name, settings in stored.items():
        learner = OnlineLearner(12, remember=3, **settings)
        learner.teach(LABELS, ["low", "high"])
        learner.observe(rows)
        learner.save(f"{name}.lw")
    keeper = Keeper("service", every=50)
    number = keeper.create("old", OnlineLearner(12, remember=3, window=30)).result()
    other = keeper.create("other", OnlineLearner(12, remember=3)).result()
    for each in (number, other):
        keeper.change(each, events.Teach(np.array(LABELS), ("low", "high"))).result()
        for start in range(0, 70, 10):
            keeper.change(each, events.Observe(rows[start : start + 10])).result()
    keeper.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        write()
        with tarfile.open(FOLDER / "removed-0.7.tgz", "w:gz") as archive:
            for file in sorted(os.listdir(name)):
                archive.add(file)
