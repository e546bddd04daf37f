"""What a shard is to the others: a cover of its rows, and one of the rows with each label."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Floats
from labelwalk.parameters import check_whole
from labelwalk.scale.cover import Cover, empty
from labelwalk.scale.covering import Covering
from labelwalk.scale.covers import united
from labelwalk.scale.rows import examples_of
from labelwalk.streams.arrow_arrays import from_matrix, from_numpy, from_words
from labelwalk.streams.columns import Columns
from labelwalk.streams.fault import InputError

KEY = b"labelwalk.sketch"  # of what a table says of itself in its schema


@dataclass(frozen=True)
class Sketch:
    """A cover of rows without labels, and one of the rows with each label.

    Attributes
    ----------
    cover : Cover
    taught : dict from labels to Cover
    features : names
        The columns that rows are made of, in order.
    """

    cover: Cover
    taught: dict[str, Cover] = field(default_factory=dict)
    features: tuple[str, ...] = ()

    @property
    def covers(self) -> dict[str | None, Cover]:
        """All covers, that of rows without labels first."""
        covers: dict[str | None, Cover] = {None: self.cover}
        covers.update(self.taught)
        return covers

    @property
    def n_seen(self) -> int:
        """How many rows it stands for."""
        return sum(cover.n_seen for cover in self.covers.values())


def sketch(
    batches: Iterable[pa.RecordBatch | pa.Table],
    n_centroids: int,
    *,
    columns: Columns | None = None,
    unlabeled: str = "",
    labels_per_class: int = 64,
    growth: float = 1.5,
    features: tuple[str, ...] = (),
) -> Sketch:
    """Return what stands for the rows of batches.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or Table
    n_centroids : int
        k, the most vertices without a label.
    columns : Columns, optional
        Which columns are features, and which holds labels.
    unlabeled : str
        What stands for no label in its column, beside nothing.
    labels_per_class : int
        The most vertices with one label.
    growth : float
        Where vertices have to merge, they go on past k only while the next distance is at most
        this times the last.
    features : names
        The features of other shards, where they are known: these must be the same.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0, 1.0, 9.0], "label": ["low", None, None]})
    >>> found = sketch([batch], n_centroids=10)
    >>> found.cover.points.tolist(), found.taught["low"].points.tolist(), found.features
    ([[1.0], [9.0]], [[0.0]], ('x',))
    """
    check_whole("n_centroids", n_centroids, "1000")
    check_whole("labels_per_class", labels_per_class, "64")
    coverings: dict[str | None, Covering] = {}
    for examples in examples_of(batches, columns or Columns(), unlabeled, features):
        features = tuple(examples.features)
        rows, labels = examples.matrix(), examples.labels or [None] * len(examples.rows)
        for label in dict.fromkeys(labels):
            some = rows[[own == label for own in labels]]
            limit, onwards = (n_centroids, growth) if label is None else (labels_per_class, 1.0)
            if label not in coverings:
                coverings[label] = Covering(limit + 1, rows.shape[1])
            coverings[label].take(some, limit, onwards)
    found = {label: covering.cover() for label, covering in coverings.items()}
    cover = found.pop(None, empty(0))
    return Sketch(cover, {str(label): own for label, own in sorted(found.items())}, features)


def merge(sketches: Sequence[Sketch], n_centroids: int, labels_per_class: int = 64) -> Sketch:
    """Return what stands for all that sketches stand for.

    Parameters
    ----------
    sketches : sequence of Sketch
        In the order of their shards; a sketch of no rows changes nothing.
    n_centroids, labels_per_class : int
        As in `sketch`.

    Raises
    ------
    ValueError
        They are of rows with other features.
    """
    some = [one for one in sketches if one.n_seen]
    if not some:
        return Sketch(empty(0))
    for one in some[1:]:
        if one.features != some[0].features:
            raise ValueError(
                f"one sketch is of the features {list(some[0].features)}, another of "
                f"{list(one.features)}. Give every shard the same columns."
            )
    labels = sorted({label for one in some for label in one.taught})
    taught = {
        label: united([one.taught[label] for one in some if label in one.taught], labels_per_class)
        for label in labels
    }
    return Sketch(united([one.cover for one in some], n_centroids), taught, some[0].features)


def to_arrow(sketch: Sketch) -> pa.RecordBatch:
    """Return a sketch as a batch, one vertex a row; the schema says the rest.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0, 1.0], "label": ["low", None]})
    >>> table = to_arrow(sketch([batch], n_centroids=10))
    >>> table.schema.names, from_arrow(table).cover.points.tolist()
    (['label', 'point', 'mean', 'examples', 'reach'], [[1.0]])
    """
    covers = {label: cover for label, cover in sketch.covers.items() if len(cover)}
    told: dict[str, Any] = {"features": list(sketch.features)}
    told["radius"] = [[label, cover.radius] for label, cover in covers.items()]
    width = max((cover.n_features for cover in covers.values()), default=1)

    def stacked(name: str, nothing: Floats) -> Floats:
        parts = [getattr(cover, name) for cover in covers.values()]
        return np.concatenate(parts) if parts else nothing

    names = [label for label, cover in covers.items() for _ in range(len(cover))]
    columns = {
        "label": from_words(names),
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
    labels = np.array(batch.column("label").to_pylist(), dtype=object)
    covers = {}
    for label, radius in said["radius"]:
        here = np.array([own == label for own in labels])
        covers[label] = Cover(
            _matrix(batch.column("point"))[here],
            _matrix(batch.column("mean"))[here],
            _numbers(batch.column("examples"), np.int64)[here],
            _numbers(batch.column("reach"), np.float64)[here],
            float(radius),
        )
    cover = covers.pop(None, empty(0))
    return Sketch(cover, covers, tuple(said["features"]))


def sketch_to_bytes(sketch: Sketch) -> bytes:
    """Return a sketch as a file of Arrow, for engines whose tables have columns of their own.

    Examples
    --------
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
