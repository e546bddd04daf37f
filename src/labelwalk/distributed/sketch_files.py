"""Sketches as Arrow tables, as bytes and as files, and the tasks of a job that write them.

A task reads files and writes one, atomically. It can run on any machine, again after a worker is
lost, and twice at the same time: what it writes depends only on what it reads.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Floats, Ints
from labelwalk.distributed.cover import Cover, empty_cover
from labelwalk.distributed.dataset import FilePart, RowSpec
from labelwalk.distributed.filesystem import DataFile, Location, with_path_in_errors, write_file
from labelwalk.distributed.sketches import Budget, Sketch, merge, sketch_examples
from labelwalk.io.arrow_columns import from_matrix, from_numpy, from_text
from labelwalk.io.rows import InputError

METADATA_KEY = b"labelwalk.sketch"  # in the schema of a table
SKETCH_FORMAT = 2  # of tables with held rows; tables without name no format
MATRIX_COLUMNS = {"point": "points", "mean": "means"}  # stored name: attribute of a cover
NUMBER_COLUMNS = {"examples": ("examples", np.int64), "reach": ("reach", np.float64)}


def to_arrow(sketch: Sketch) -> pa.RecordBatch:
    """Return a sketch as a batch, one vertex a row; the schema holds everything else.

    Examples
    --------
    >>> from labelwalk.distributed import sketch
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0, 1.0], "label": ["low", None]})
    >>> table = to_arrow(sketch([batch], n_centroids=10))
    >>> table.schema.names, from_arrow(table).cover.points.tolist()
    (['label', 'point', 'mean', 'examples', 'reach'], [[1.0]])
    """
    covers = [(label, cover) for label, cover in sketch.covers.items() if len(cover)]
    header: dict[str, Any] = {"features": list(sketch.features)}
    header["radius"] = [[label, cover.radius] for label, cover in covers]
    if sketch.held:
        header["format"] = SKETCH_FORMAT
        header["radius"] += [[None, cover.radius, len(cover)] for cover in sketch.held]
        covers += [(None, cover) for cover in sketch.held]
    empty = empty_cover(max(1, sketch.n_features))

    def join(attribute: str) -> Any:
        return np.concatenate([getattr(cover, attribute) for _, cover in [*covers, (None, empty)]])

    labels = [label for label, cover in covers for _ in range(len(cover))]
    columns = {"label": from_text(labels)}
    for name, attribute in MATRIX_COLUMNS.items():
        columns[name] = from_matrix(join(attribute))
    for name, (attribute, dtype) in NUMBER_COLUMNS.items():
        columns[name] = from_numpy(join(attribute).astype(dtype))
    schema = pa.schema(
        [(name, column.type) for name, column in columns.items()],
        metadata={METADATA_KEY: json.dumps(header).encode()},
    )
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)


def from_arrow(batch: pa.RecordBatch) -> Sketch:
    """Return the sketch of a batch that `to_arrow` returned.

    Raises
    ------
    ValueError
        The batch does not hold a sketch.
    """
    metadata = (batch.schema.metadata or {}).get(METADATA_KEY)
    if metadata is None:
        raise ValueError(
            f"A table with the columns {batch.schema.names} is not a sketch. Pass a batch from "
            "to_arrow."
        )
    header = json.loads(metadata)
    if header.get("format", SKETCH_FORMAT) > SKETCH_FORMAT:
        raise ValueError(
            f"The sketch has format {header['format']}, written by a newer version of labelwalk; "
            f"this version reads formats up to {SKETCH_FORMAT}. Upgrade labelwalk."
        )
    labels = np.array(batch.column("label").to_pylist(), dtype=object)
    start = len(labels) - sum(sum(size) for _, _, *size in header["radius"])  # of held vertices
    covers, held = {}, []
    for label, radius, *size in header["radius"]:
        if size:
            held.append(_read_cover(batch, np.arange(start, start := start + size[0]), radius))
        else:
            mask = np.array([name == label for name in labels[:start]], dtype=np.bool_)
            covers[label] = _read_cover(batch, np.flatnonzero(mask), radius)
    cover = covers.pop(None, empty_cover(0))
    return Sketch(cover, covers, tuple(header["features"]), tuple(held))


def _read_cover(batch: pa.RecordBatch, ids: Ints, radius: float) -> Cover:
    columns: dict[str, Any] = {
        attribute: _read_matrix(batch.column(name))[ids]
        for name, attribute in MATRIX_COLUMNS.items()
    }
    for name, (attribute, dtype) in NUMBER_COLUMNS.items():
        columns[attribute] = _read_numbers(batch.column(name), dtype)[ids]
    return Cover(**columns, radius=float(radius))


def _read_numbers(column: pa.Array, dtype: Any) -> Any:
    return np.frombuffer(column.buffers()[1], dtype)[column.offset : column.offset + len(column)]


def _read_matrix(column: pa.FixedSizeListArray) -> Floats:
    flat = _read_numbers(column.flatten(), np.float64)
    return np.asarray(flat.reshape(len(column), column.type.list_size))


def sketch_to_bytes(sketch: Sketch) -> bytes:
    """Return a sketch as an Arrow file, for engines whose tables have columns of their own.

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
    """Return the sketch that `sketch_to_bytes` wrote.

    Raises
    ------
    InputError
        The content is damaged or not a sketch.
    """
    try:
        batch = pa.ipc.open_file(pa.py_buffer(content)).get_batch(0)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"the {len(content)} bytes are not a sketch, or are damaged ({error}). Pass the result "
            "of sketch_to_bytes."
        ) from error
    return from_arrow(batch)


def write_sketch(location: Location, sketch: Sketch) -> None:
    """Write a sketch to an Arrow file."""
    content = sketch_to_bytes(sketch)
    write_file(location, lambda out: out.write(content))


def read_sketch(location: Location) -> Sketch:
    """Read a sketch that `write_sketch` wrote."""
    with with_path_in_errors(location.path):
        return sketch_from_bytes(location.read())


class SketchTask(NamedTuple):
    """Sketch a part of a file."""

    file: DataFile
    part: FilePart
    rows: RowSpec
    budget: Budget
    outputs: tuple[Location]


class MergeTask(NamedTuple):
    """Merge sketches, in order."""

    sketches: tuple[Location, ...]
    budget: Budget
    outputs: tuple[Location]


def sketch_part(task: SketchTask) -> int:
    """Sketch a part of a file, and return its number of rows."""
    sketch = sketch_examples(task.rows.read_file(task.file, task.part), task.budget)
    write_sketch(*task.outputs, sketch)
    return sketch.n_seen


def merge_sketches(task: MergeTask) -> int:
    """Merge sketches, and return the number of rows that were read: 0."""
    sketches = list(map(read_sketch, task.sketches))
    budget = task.budget
    write_sketch(*task.outputs, merge(sketches, budget.n_centroids, budget.labels_per_class))
    return 0
