"""Where the partitions of a shared learner meet: sketches merge, and a model comes of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from labelwalk.distributed.budget import budget_of
from labelwalk.distributed.cover import empty
from labelwalk.distributed.model import Model, solved
from labelwalk.distributed.places import place_of
from labelwalk.distributed.shelf import Shelf
from labelwalk.distributed.sketch_tables import sketch_to_bytes
from labelwalk.distributed.sketches import Sketch, decide_held, merge
from labelwalk.distributed.tasks import read_sketch
from labelwalk.parameters import shown
from labelwalk.settings import Settings
from labelwalk.storage.atomic_write import write_atomic

ENDING = ".arrow"
NOTHING = Sketch(empty(0))


class Handed(NamedTuple):
    """What stands for all rows of a partition from its first up to a position."""

    name: str
    position: int
    sketch: Sketch


class News(NamedTuple):
    """A model, and what it knows."""

    version: int  # how many rows it has learned from, of all partitions together
    positions: dict[str, int]  # up to where, of each
    model: Model | None  # None before the first row, or where it is known already


class Centre:
    """Holds the newest sketch of each partition, in files, and the model of all of them.

    A sketch is of all rows of its partition and takes the place of the one before, so that it may
    be handed over twice and nothing counts twice. Several threads may hand over at once: those that
    wait while a model is made all are in the next.

    Parameters
    ----------
    folder : path
        Of the sketches. A centre that is made again goes on with them.
    names : sequence of str
        All partitions there will be.
    settings : Settings
    """

    def __init__(
        self, folder: str | os.PathLike[str], names: Sequence[str], settings: Settings
    ) -> None:
        check_names(names)
        self._settings, self._budget = settings, budget_of(settings)
        self._shelf = Shelf(folder, ENDING)
        self._putting, self._merging = threading.Lock(), threading.Lock()
        self._handed = {name: Handed(name, 0, NOTHING) for name in names}
        self._handed = {name: self.start(name) for name in names}
        self._newest = self._merged()

    def start(self, name: str) -> Handed:
        """Return what is kept of a partition: it goes on from there."""
        check_known(name, list(self._handed))
        with self._putting:  # what is being written looks like what a killed writer left
            found = self._shelf.newest(name, _read)
        return Handed(name, *(found or (0, NOTHING)))

    def hand_over(self, handed: Handed) -> int:
        """Keep a sketch, make a model with it, and return up to where its partition is kept.

        Raises
        ------
        ValueError
            Its rows have other features than those of other partitions; nothing is changed.
        """
        name, position, sketch = handed
        check_known(name, list(self._handed))
        with self._putting:
            self._check_width(sketch)
            if position > self._handed[name].position:
                self._shelf.put(name, position, lambda path: _write(path, sketch))
                self._handed[name] = handed
        with self._merging:
            if self._newest.positions[name] < position:
                self._newest = self._merged()
        return position

    def news(self, version: int = -1) -> News:
        """Return the newest model, without it where this version is known already."""
        newest = self._newest
        return newest if newest.version > version else newest._replace(model=None)

    def sketch(self) -> Sketch:
        """Return what stands for all rows that were handed over."""
        return self._sketch(self._now())

    def _now(self) -> list[Handed]:
        with self._putting:
            return list(self._handed.values())

    def _sketch(self, now: list[Handed]) -> Sketch:
        budget = self._budget
        return merge([one.sketch for one in now], budget.n_centroids, budget.labels_per_class)

    def _merged(self) -> News:
        now = self._now()
        merged, positions = self._sketch(now), {one.name: one.position for one in now}
        if not merged.n_seen:
            return News(0, positions, None)
        cover = decide_held(merged, self._budget.n_centroids).cover
        model = solved(cover, *merged.labelled(), self._settings)
        return News(merged.n_seen, positions, model)

    def _check_width(self, sketch: Sketch) -> None:
        widths = {one.sketch.n_features for one in self._handed.values() if one.sketch.n_seen}
        if sketch.n_seen and widths and sketch.n_features not in widths:
            raise ValueError(
                f"rows have {sketch.n_features} features, but those of other partitions have "
                f"{widths.pop()}. Give all partitions the same columns."
            )


def check_names(names: Sequence[str]) -> None:
    """Refuse what are no names of partitions."""
    good = not isinstance(names, str) and all(isinstance(name, str) for name in names)
    if not good or not names or len(set(names)) < len(names):
        raise ValueError(
            f"names={shown(names)} are no names of partitions. Give a list of different strings, "
            "such as ['left', 'right']."
        )


def check_known(name: str, names: Sequence[str]) -> None:
    """Refuse a partition that is none."""
    if name not in names:
        raise ValueError(f"{shown(name)} is no partition. Choose one of {shown(list(names))}.")


def _write(path: Path, sketch: Sketch) -> None:
    try:
        write_atomic(path, [memoryview(sketch_to_bytes(sketch))])
    except OSError as error:
        why = error.strerror or str(error)
        raise OSError(
            f"{path} cannot be written ({why}). Mend that, and give the same block again."
        ) from error


def _read(path: Path) -> Sketch:
    return read_sketch(place_of(str(path)))
