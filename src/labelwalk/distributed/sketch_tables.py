"""Sketches as tables of Arrow, one vertex a row, and as bytes: how they travel and are kept."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Floats, Ints
from labelwalk.distributed.cover import Cover, empty
from labelwalk.distributed.sketches import Sketch
from labelwalk.io.arrow_columns import from_matrix, from_numpy, from_text
from labelwalk.io.rows import InputError

KEY = b"labelwalk.sketch"  # of what a table says of itself in its schema
FORMAT = 2  # of tables with held rows; others are as they ever were, and say nothing of it


def to_arrow(sketch: Sketch) -> pa.RecordBatch:
    """Return a sketch as a batch, one vertex a row; the schema says the rest.

    Examples
    --------
    >>> from labelwalk.distributed import sketch
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0, 1.0], "label": ["low", None]})
    >>> table = to_arrow(sketch([batch], n_centroids=10))
    >>> table.schema.names, from_arrow(table).cover.points.tolist()
    (['label', 'point', 'mean', 'examples', 'reach'], [[1.0]])
    """
    covers = [(label, cover) for label, cover in sketch.covers.items() if len(cover)]
    told: dict[str, Any] = {"features": list(sketch.features)}
    told["radius"] = [[label, cover.radius] for label, cover in covers]
    if sketch.held:
        told["format"] = FORMAT
        told["radius"] += [[None, cover.radius, len(cover)] for cover in sketch.held]
        covers += [(None, cover) for cover in sketch.held]
    width = max(1, sketch.n_features)

    def stacked(name: str, nothing: Floats) -> Floats:
        parts = [getattr(cover, name) for _, cover in covers]
        return np.concatenate(parts) if parts else nothing

    names = [label for label, cover in covers for _ in range(len(cover))]
    columns = {
        "label": from_text(names),
        "point": from_matrix(stacked("points", np.empty((0, width)))),
        "mean": from_matrix(stacked("means", np.empty((0, width)))),
        "examples": from_numpy(stacked("examples", np.empty(0)).astype(np.int64)),
        "reach": from_numpy(stacked("reach", np.empty(0))),
    }
    schema = pa.schema(
        [(name, column.type) for name, column in columns.items()],
        metadata={KEY: json.dumps(told).encode()},
    )
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)


def from_arrow(batch: pa.RecordBatch) -> Sketch:
    """Return the sketch of a batch that `to_arrow` made.

    Raises
    ------
    ValueError
        The batch is no sketch.
    """
    told = (batch.schema.metadata or {}).get(KEY)
    if told is None:
        raise ValueError(
            f"a table of {batch.schema.names} is no sketch. Give one that to_arrow returned."
        )
    said = json.loads(told)
    if said.get("format", FORMAT) > FORMAT:
        raise ValueError(
            f"a sketch of format {said['format']} is of a newer labelwalk: this one knows formats "
            f"up to {FORMAT}. Upgrade labelwalk."
        )
    labels = np.array(batch.column("label").to_pylist(), dtype=object)
    at = len(labels) - sum(sum(many) for _, _, *many in said["radius"])  # the first that is held
    covers, held = {}, []
    for label, radius, *many in said["radius"]:
        if many:
            held.append(_cover(batch, np.arange(at, at := at + many[0]), radius))
        else:
            here = np.array([own == label for own in labels[:at]], dtype=np.bool_)
            covers[label] = _cover(batch, np.flatnonzero(here), radius)
    cover = covers.pop(None, empty(0))
    return Sketch(cover, covers, tuple(said["features"]), tuple(held))


def _cover(batch: pa.RecordBatch, some: Ints, radius: float) -> Cover:
    return Cover(
        _matrix(batch.column("point"))[some],
        _matrix(batch.column("mean"))[some],
        _numbers(batch.column("examples"), np.int64)[some],
        _numbers(batch.column("reach"), np.float64)[some],
        float(radius),
    )


def sketch_to_bytes(sketch: Sketch) -> bytes:
    """Return a sketch as a file of Arrow, for engines whose tables have columns of their own.

    Examples
    --------
    >>> from labelwalk.distributed import sketch
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0, 1.0], "label": ["low", None]})
    >>> content = sketch_to_bytes(sketch([batch], n_centroids=10))
    >>> sketch_from_bytes(content).taught["low"].points.tolist()
    [[0.0]]
    """
    batch, sink = to_arrow(sketch), pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as file:
        file.write_batch(batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def sketch_from_bytes(content: bytes) -> Sketch:
    """Return the sketch that `sketch_to_bytes` was given.

    Raises
    ------
    InputError
        The content is damaged, or of something else.
    """
    try:
        batch = pa.ipc.open_file(pa.py_buffer(content)).get_batch(0)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"content of {len(content)} bytes is no sketch, or damaged ({error}). Give what "
            "sketch_to_bytes returned."
        ) from error
    return from_arrow(batch)


def _numbers(column: pa.Array, kind: Any) -> Any:
    return np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def _matrix(column: pa.FixedSizeListArray) -> Floats:
    width = column.type.list_size
    flat = _numbers(column.flatten(), np.float64)
    return np.asarray(flat.reshape(len(column), width))
