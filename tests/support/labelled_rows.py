"""A stream of three features with a few labels, as Python learns it and as files hold it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from labelwalk import OnlineLearner
from labelwalk.io import Columns

N, K, MOST = 600, 30, 40_000
COMMAND = [sys.executable, "-m", "labelwalk"]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def made(n: int = N) -> tuple[Any, list[str], list[str]]:
    """Return rows, labels for a few of them, and the truth."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, MOST)[:n]
    rows = 6.0 * np.eye(3)[truth] + rng.normal(size=(MOST, 3))[:n]
    names = np.array(["ant", "bee", "cat"])[truth].tolist()
    labels = [name if i < 8 or i % 97 == 0 else "" for i, name in enumerate(names)]
    return rows, labels, names


def write_csv(path: Path, n: int = N) -> Path:
    rows, labels, names = made(n)
    lines = ["f0,f1,f2,y,truth"]
    lines += [
        f"{a!r},{b!r},{c!r},{label},{name}"
        for (a, b, c), label, name in zip(rows.tolist(), labels, names, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def records(n: int = N) -> list[dict[str, Any]]:
    rows, labels, names = made(n)
    return [
        {"f0": a, "f1": b, "f2": c, "y": label or None, "truth": name}
        for (a, b, c), label, name in zip(rows.tolist(), labels, names, strict=True)
    ]


def by_hand(n: int = N, kind: str = "csv") -> tuple[OnlineLearner, list[str | None]]:
    """Return what Python gives, row after row; features have the names of that kind of file."""
    rows, labels, _ = made(n)
    learner = OnlineLearner(K)
    said: list[str | None] = []
    for row, label in zip(rows, labels, strict=True):
        if label:
            learner.teach(row, label)
            said.append(label)
        else:
            said.append(learner.observe(row).label)
    learner.feature_names = ("f",) * 3 if kind == "npz" else ("f0", "f1", "f2")
    return learner, said


COLUMNS = Columns(features=("f*",), label="y", truth="truth")


def labels_in(path: Path) -> list[str | None]:
    """Return the labels of an output, whatever its format."""
    if path.suffix == ".ndjson":
        return [json.loads(line)["label"] for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        lines = path.read_text().splitlines()
        place = lines[0].split(",").index("label")
        return [line.split(",")[place] or None for line in lines[1:]]
    if path.suffix == ".parquet":
        found: list[str | None] = pq.read_table(path)["label"].to_pylist()
    else:
        found = pa.ipc.open_stream(path.read_bytes()).read_all()["label"].to_pylist()
    return found


def output_kind(kind: str) -> str:
    """Return the format of an output for an input whose format may only be read."""
    return {"arrow": "arrows", "npz": "parquet"}.get(kind, kind)


def input_file(kind: str, folder: Path, n: int = N) -> Path:
    path = folder / f"in.{kind}"
    if kind == "csv":
        return write_csv(path, n)
    if kind == "ndjson":
        path.write_text("".join(json.dumps(one) + "\n" for one in records(n)))
        return path
    table = pa.Table.from_pylist(records(n))
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=100)
    elif kind == "npz":
        rows, labels, names = made(n)
        np.savez(path, f=rows, y=np.array(labels), truth=np.array(names))
    else:
        new = pa.ipc.new_stream if kind == "arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    return path
