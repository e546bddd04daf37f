"""The tasks up to a model: each reads files and writes one, as a whole or not at all.

They are done anywhere, again where somebody was lost, and by two at once if need be: what is
written depends on what is read alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from labelwalk.distributed.budget import Budget
from labelwalk.distributed.places import Found, Place, blamed
from labelwalk.distributed.rows import UNKNOWN, Widths, examples_of, reader_of
from labelwalk.distributed.shards import Part, batches_of
from labelwalk.distributed.sketch_tables import sketch_from_bytes, sketch_to_bytes
from labelwalk.distributed.sketches import Sketch, merge
from labelwalk.distributed.sketching import sketch_of
from labelwalk.distributed.whole import write_whole
from labelwalk.io.examples import Columns, ExampleReader, Examples


class Reading(NamedTuple):
    """How rows are understood."""

    columns: Columns
    unlabeled: str
    features: tuple[str, ...]
    widths: Widths = UNKNOWN

    def reader(self) -> ExampleReader:
        """Return what makes examples of the rows of one file."""
        return reader_of(self.columns, self.unlabeled, self.features, self.widths)

    def examples(self, file: Found, part: Part | None) -> Iterator[Examples]:
        """Yield the rows of a file, or of a part of it."""
        first = part.first if part else 0
        with blamed(file.name):
            yield from examples_of(batches_of(file, part), self.reader(), first)


class SketchPart(NamedTuple):
    """Sketch a part of a file."""

    file: Found
    part: Part
    reading: Reading
    budget: Budget
    out: Place

    @property
    def leaves(self) -> tuple[Place, ...]:
        """What is there when it is done."""
        return (self.out,)


class MergeSome(NamedTuple):
    """Merge sketches, in order."""

    sketches: tuple[Place, ...]
    budget: Budget
    out: Place

    @property
    def leaves(self) -> tuple[Place, ...]:
        """What is there when it is done."""
        return (self.out,)


def sketch_part(task: SketchPart) -> int:
    """Sketch a part of a file, and return how many rows it has."""
    found = sketch_of(task.reading.examples(task.file, task.part), task.budget)
    write_sketch(task.out, found)
    return found.n_seen


def merge_some(task: MergeSome) -> int:
    """Merge sketches, and return how many rows that took: none."""
    some = list(map(read_sketch, task.sketches))
    found = merge(some, task.budget.n_centroids, task.budget.labels_per_class)
    write_sketch(task.out, found)
    return 0


def write_sketch(place: Place, sketch: Sketch) -> None:
    """Write a sketch to a file of Arrow."""
    content = sketch_to_bytes(sketch)
    write_whole(place, lambda out: out.write(content))


def read_sketch(place: Place) -> Sketch:
    """Read a sketch that `write_sketch` wrote."""
    with blamed(place.path):
        return sketch_from_bytes(place.read())
