"""Made-up files: clusters of few inner dimensions among many features, in Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

CLUSTERS, INNER, NOISE, APART = 50, 8, 0.1, 3.0
CLASSES, LABELS = 10, 4  # clusters have classes in turn; rows with a label of each


def rows(n: int, d: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows in single precision, and their classes."""
    shape, random = np.random.default_rng(d), np.random.default_rng([d, seed])
    centres = APART * shape.normal(size=(CLUSTERS, d))
    directions = shape.normal(size=(CLUSTERS, INNER, d))
    who = random.integers(0, CLUSTERS, n)
    made = np.empty((n, d), dtype=np.float32)
    for cluster in range(CLUSTERS):
        own = who == cluster
        inner, noise = random.normal(size=(own.sum(), INNER)), random.normal(size=(own.sum(), d))
        made[own] = centres[cluster] + inner @ directions[cluster] / INNER**0.5 + NOISE * noise
    return made, who % CLASSES


def write(path: Path, n: int, d: int, seed: int = 0) -> None:
    """Write a file; in that of seed 0 the first few rows of each class have labels."""
    made, truth = rows(n, d, seed)
    names: list[str | None] = [None] * n
    for one in range(CLASSES):
        for i in np.flatnonzero(truth == one)[: 0 if seed else LABELS].tolist():
            names[i] = f"class {one}"
    columns = {f"x{j}": made[:, j] for j in range(d)}
    table = pa.table({**columns, "label": pa.array(names, pa.string())})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def write_some(folder: Path, n: int, files: int, d: int) -> Path:
    """Write rows to so many files of one folder, about equal."""
    for i in range(files):
        write(folder / f"{i:04}.parquet", n * (i + 1) // files - n * i // files, d, seed=i)
    return folder
