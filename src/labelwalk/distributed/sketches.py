"""Sketches of shards: a cover of the rows without a label, and one of the rows of each label.

A sketch is stored as an Arrow table.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from labelwalk._validation import MAX_PARAMETER, check_number, check_whole
from labelwalk.arrays import Floats
from labelwalk.distributed.cover import (
    MAX_LAYERS,
    Cover,
    CoverBuilder,
    empty_cover,
    merge_cover_layers,
    merge_covers,
    split_far,
)
from labelwalk.distributed.dataset import RowSpec
from labelwalk.io.arrow_columns import from_matrix, from_numpy, from_text
from labelwalk.io.examples import Columns, Examples
from labelwalk.io.rows import InputError
from labelwalk.settings import WARM_UP, Settings
from labelwalk.similarity import Gaussian

Item = TypeVar("Item")
FINAL_SHARE = 1 / 3  # of the rows, the densest, whose distances are typical at the end
MAX_HELD_COVERS = 16
MAX_DENSE_VERTICES = 2000  # above it, only similar pairs of vertices are stored
METADATA_KEY = b"labelwalk.sketch"  # in the schema of a table
SKETCH_FORMAT = 2  # of tables with held rows; tables without name no format
# name of a column: attribute of a cover
STORED_COLUMNS = {"point": "points", "mean": "means", "examples": "examples", "reach": "reach"}


class Budget(NamedTuple):
    """The largest number of vertices without a label and of each label, and how covers coarsen."""

    n_centroids: int
    labels_per_class: int
    growth: float


def budget_from_settings(settings: Settings) -> Budget:
    """Return the budget that the settings of a learner allow."""
    check_settings(settings)
    assert settings.n_centroids is not None  # checked by check_settings
    return Budget(settings.n_centroids, settings.labels_per_class, float(settings.growth))


def check_settings(settings: Settings) -> None:
    """Raise an error for settings that are not supported for shards."""
    similarity = settings.similarity
    if isinstance(similarity, Gaussian) and similarity.bandwidth == "scale":
        raise ValueError(
            "bandwidth='scale' requires the moments of all rows, which covers do not store. Use "
            "bandwidth='cover'."
        )
    supported = {
        "scale": "none",
        "coarsening": "just-enough",
        "labelled": "pure",
        "readout": "example",
        "source_share": None,
    }
    for name, value in supported.items():
        if getattr(settings, name) != value:
            raise ValueError(
                f"Sharded jobs support only {name}={value!r} (got {getattr(settings, name)!r})."
            )
    if settings.n_centroids is None:
        raise ValueError(
            "n_centroids=None is not supported, since covers do not store all rows. Try "
            "n_centroids=1000."
        )
    if settings.n_centroids > MAX_DENSE_VERTICES and settings.rules().cut == inf:
        raise ValueError(
            f"similarity={similarity!r} makes all pairs of vertices similar, which takes too much "
            f"memory with n_centroids={settings.n_centroids}. Set a threshold such as 1e-6, or use "
            f"at most {MAX_DENSE_VERTICES} centroids."
        )
    if settings.half_life is not None:
        raise ValueError(
            f"half_life={settings.half_life}: shards have no order in time, so examples cannot "
            "fade. Omit half_life."
        )


@dataclass(frozen=True)
class Sketch:
    """A cover of rows without labels, and one of the rows of each label.

    The covers in `held` are of unlabelled rows far from those of `cover`. They are not learned from
    until enough rows are seen to decide what they are.
    """

    cover: Cover = field(default_factory=empty_cover)
    taught: dict[str, Cover] = field(default_factory=dict)
    features: tuple[str, ...] = ()  # the feature columns, in order
    held: tuple[Cover, ...] = ()

    @property
    def covers(self) -> dict[str | None, Cover]:
        """All covers except those held, the one of rows without labels first."""
        return {None: self.cover} | self.taught

    @property
    def n_features(self) -> int:
        """Number of features of a row; 0 if there are no rows."""
        return max(cover.n_features for cover in (*self.covers.values(), *self.held))

    @property
    def distortion(self) -> float:
        """A bound on the distance of any row that is not held to its founder."""
        return max(cover.distortion for cover in self.covers.values())

    @property
    def n_seen(self) -> int:
        """Number of rows that it represents."""
        return sum(cover.n_seen for cover in self.covers.values()) + self.n_held

    @property
    def n_held(self) -> int:
        """Number of held rows."""
        return sum(cover.n_seen for cover in self.held)

    def is_within(self, n_centroids: int, labels_per_class: int) -> bool:
        """Return whether it has no more vertices than allowed."""
        largest = max(map(len, self.taught.values()), default=0)
        return largest <= labels_per_class and len(self.cover) <= n_centroids

    def collect_labelled(self) -> tuple[Floats, list[str]]:
        """Return the founders of the rows with labels, and their labels."""
        rows = [np.empty((0, self.n_features)), *(cover.points for cover in self.taught.values())]
        labels = [label for label, cover in self.taught.items() for _ in range(len(cover))]
        return np.concatenate(rows), labels


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
    """Return a sketch of the rows of batches.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or Table
    n_centroids : int
        k, the largest number of vertices without a label.
    columns : Columns, optional
        Which columns are features, and which one holds labels.
    unlabeled : str
        Value that means "unlabelled", in addition to a missing one.
    labels_per_class : int
        The largest number of vertices of each label.
    growth : float
        When more than k vertices have to merge, merging continues below k as long as the next
        distance is at most `growth` times the last.
    features : names
        The features of the other shards, if known: these must be the same.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0, 1.0, 9.0], "label": ["low", None, None]})
    >>> result = sketch([batch], n_centroids=10)
    >>> result.cover.points.tolist(), result.taught["low"].points.tolist(), result.features
    ([[1.0], [9.0]], [[0.0]], ('x',))
    """
    check_whole("n_centroids", n_centroids, "1000")
    check_whole("labels_per_class", labels_per_class, "64")
    check_number("growth", growth, 1, MAX_PARAMETER, "1.5", above=True)
    examples = RowSpec(columns or Columns(), unlabeled, features).read(batches)
    return sketch_examples(examples, Budget(n_centroids, labels_per_class, growth))


def sketch_examples(batches: Iterable[Examples], budget: Budget) -> Sketch:
    """Return a sketch of examples, within a budget."""
    builder = SketchBuilder(budget)
    features: tuple[str, ...] = ()
    for examples in batches:
        features = tuple(examples.features)
        builder.add_rows(examples.matrix(), examples.labels or None)
    return replace(builder.sketch(), features=features)


class SketchBuilder:
    """Covers that rows can be added to, one for each label and one for rows without.

    A builder made from a sketch continues as if it had never stopped, to the bit, unless the
    earlier cover turns out to be too coarse for later rows: that is judged by later rows alone.
    """

    def __init__(self, budget: Budget, start: Sketch | None = None) -> None:
        self._budget = budget
        self._builders: dict[str | None, CoverBuilder] = {}
        self._held = list(start.held) if start else []
        for label, cover in (start.covers if start else {}).items():
            if len(cover):
                builder = self._start_builder(label, cover.n_features)
                builder.radius = cover.radius
                builder.append_cover(cover, gap=cover.radius)

    def add_rows(self, rows: Floats, labels: Sequence[str | None] | None = None) -> None:
        """Add rows in order; the label None marks rows without a label."""
        if labels is None:
            labels = [None] * len(rows)
        for label in dict.fromkeys(labels):
            builder = self._builders.get(label) or self._start_builder(label, rows.shape[1])
            mask = [row_label == label for row_label in labels]
            builder.add_rows(rows[mask], *self._limits(label))

    def sketch(self) -> Sketch:
        """Return a copy of the present sketch."""
        covers = {label: builder.cover() for label, builder in self._builders.items()}
        cover = covers.pop(None, empty_cover())
        taught = {str(label): own_cover for label, own_cover in sorted(covers.items())}
        return Sketch(cover, taught, held=tuple(self._held))

    @property
    def n_features(self) -> int | None:
        """Number of features of a row; None before the first row."""
        return next((builder.n_features for builder in self._builders.values()), None)

    def _start_builder(self, label: str | None, n_features: int) -> CoverBuilder:
        """Start an empty cover. Rows with a label are never held, however far they are."""
        on_far = self._hold if label is None else None
        builder = CoverBuilder(self._limits(label)[0] + 1, n_features, on_far)
        self._builders[label] = builder
        return builder

    def _hold(self, cover: Cover) -> None:
        """Hold far vertices: unchanged while they are few, later merged in layers."""
        k, self._held = self._budget.n_centroids, [*self._held, cover]
        n_vertices = sum(map(len, self._held))
        is_large = len(self._held) > MAX_HELD_COVERS or n_vertices > (MAX_LAYERS + 1) * k
        if is_large or cover.radius > 0.0:
            self._held = merge_cover_layers(self._held, k)

    def _limits(self, label: str | None) -> tuple[int, float]:
        n_centroids, labels_per_class, growth = self._budget
        return (n_centroids, growth) if label is None else (labels_per_class, 1.0)


def merge(sketches: Sequence[Sketch], n_centroids: int, labels_per_class: int = 64) -> Sketch:
    """Return one sketch of the rows of all sketches.

    They merge in pairs, in order, as those of a job do: merging all at once would take longer.

    Parameters
    ----------
    sketches : sequence of Sketch
        In the order of their shards; a sketch of no rows changes nothing.
    n_centroids, labels_per_class : int
        As in `sketch`.

    Raises
    ------
    ValueError
        Their rows have different features.
    """
    sketches = [shard for shard in sketches if shard.n_seen]
    if not sketches:
        return Sketch()
    features = sketches[0].features
    for other in sketches[1:]:
        if other.features != features:
            raise ValueError(
                f"A sketch has the features {list(features)}, another {list(other.features)}. "
                "Use the same columns in every shard."
            )
    while len(sketches) > 1:
        sketches = [_merge_few(pair, n_centroids, labels_per_class) for pair in in_pairs(sketches)]
    return _merge_few(sketches, n_centroids, labels_per_class)


def in_pairs(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Return items in pairs, in order; the last may be single."""
    return [items[i : i + 2] for i in range(0, len(items), 2)]


def _merge_few(sketches: Sequence[Sketch], n_centroids: int, labels_per_class: int) -> Sketch:
    first = sketches[0]
    if len(sketches) == 1 and first.is_within(n_centroids, labels_per_class):
        return first
    taught = {}
    for label in sorted({label for shard in sketches for label in shard.taught}):
        covers = [shard.taught[label] for shard in sketches if label in shard.taught]
        taught[label] = merge_covers(covers, labels_per_class)
    covers = [shard.cover for shard in sketches]
    covers += [cover for shard in sketches for cover in shard.held]
    cover, *held = merge_cover_layers(covers, n_centroids)
    return Sketch(cover, taught, first.features, tuple(held))


def decide_held(sketch: Sketch, n_centroids: int) -> Sketch:
    """Return the final sketch of all rows: held vertices near the densest third of rows join it.

    Those that are still far stay held and are not learned from.
    """
    covers = [cover for cover in (sketch.cover, *sketch.held) if len(cover)]
    held = list[Cover]()
    if sum(cover.n_seen for cover in covers) > WARM_UP:
        covers, held = split_far(covers, FINAL_SHARE)
    cover = covers[0] if len(covers) == 1 else merge_covers(covers, n_centroids)
    return replace(sketch, cover=cover if covers else sketch.cover, held=tuple(held))


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
    columns = {"label": from_text([label for label, cover in covers for _ in range(len(cover))])}
    covers.append((None, empty_cover(max(1, sketch.n_features))))  # for the types if there are none
    for name, attribute in STORED_COLUMNS.items():
        values = np.concatenate([getattr(cover, attribute) for _, cover in covers])
        columns[name] = from_matrix(values) if values.ndim == 2 else from_numpy(values)
    return pa.RecordBatch.from_pydict(columns, metadata={METADATA_KEY: json.dumps(header)})


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
    columns = {
        attribute: _read_numbers(batch.column(name)) for name, attribute in STORED_COLUMNS.items()
    }
    vertices = Cover(**columns, radius=0.0)
    labels = np.array(batch.column("label").to_pylist(), dtype=object)
    start = len(labels) - sum(sum(size) for _, _, *size in header["radius"])  # of held vertices
    covers, held = {}, []
    for label, radius, *size in header["radius"]:
        if size:
            ids = np.arange(start, start := start + size[0])
            held.append(replace(vertices.select(ids), radius=float(radius)))
        else:
            ids = np.flatnonzero(labels[:start] == label)
            covers[label] = replace(vertices.select(ids), radius=float(radius))
    cover = covers.pop(None, empty_cover())
    return Sketch(cover, covers, tuple(header["features"]), tuple(held))


def _read_numbers(column: pa.Array) -> Any:
    """Return a column of numbers, or of lists of one length, as an array."""
    if pa.types.is_fixed_size_list(column.type):
        return _read_numbers(column.flatten()).reshape(len(column), column.type.list_size)
    dtype = np.int64 if pa.types.is_integer(column.type) else np.float64
    return np.frombuffer(column.buffers()[1], dtype)[column.offset : column.offset + len(column)]


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
    return bytes(sink.getvalue())


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
