"""Rows to a sketch, which can be taken up again: those with each label are covered apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pyarrow as pa

from labelwalk.arrays import Floats
from labelwalk.distributed.budget import Budget
from labelwalk.distributed.cover import Cover, empty
from labelwalk.distributed.covering import Covering
from labelwalk.distributed.covers import LAYERS, unite_layers
from labelwalk.distributed.rows import examples_of, reader_of
from labelwalk.distributed.sketches import Sketch
from labelwalk.io.examples import Columns, Examples
from labelwalk.parameters import check_number, check_whole

MANY = 16  # covers of held rows


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
    check_number("growth", growth, 1, 1e100, "1.5", above=True)
    examples = examples_of(batches, reader_of(columns, unlabeled, features))
    return sketch_of(examples, Budget(n_centroids, labels_per_class, growth))


def sketch_of(examples: Iterable[Examples], budget: Budget) -> Sketch:
    """Return what stands for examples, within a budget."""
    sketching = Sketching(budget)
    features: tuple[str, ...] = ()
    for some in examples:
        features = tuple(some.features)
        sketching.take(some.matrix(), some.labels or None)
    return replace(sketching.sketch(), features=features)


class Sketching:
    """Covers that rows can be added to, those with each label apart.

    One that is taken up from a sketch goes on as if it had never stopped, to the bit, unless what
    came before is found to be too coarse for what follows: that is seen by rows since.

    Parameters
    ----------
    budget : Budget
    begun : Sketch, optional

    Examples
    --------
    >>> import numpy as np
    >>> sketching = Sketching(Budget(n_centroids=10, labels_per_class=5, growth=1.5))
    >>> sketching.take(np.array([[1.0], [9.0]]))
    >>> sketching.take(np.array([[0.0]]), ["low"])
    >>> found = sketching.sketch()
    >>> found.cover.points.tolist(), found.taught["low"].points.tolist(), found.n_seen
    ([[1.0], [9.0]], [[0.0]], 3)
    """

    def __init__(self, budget: Budget, begun: Sketch | None = None) -> None:
        self._budget = budget
        self._coverings: dict[str | None, Covering] = {}
        self._held = list(begun.held) if begun else []
        for label, cover in (begun.covers if begun else {}).items():
            if len(cover):
                self._take_up(label, cover)

    def take(self, rows: Floats, labels: Sequence[str | None] | None = None) -> None:
        """Take rows in, in order; where there are labels, None stands for no label."""
        if labels is None:
            labels = [None] * len(rows)
        for label in dict.fromkeys(labels):
            self._cover(label, rows[[own == label for own in labels]])

    def sketch(self) -> Sketch:
        """Return a copy of what stands now."""
        found = {label: covering.cover() for label, covering in self._coverings.items()}
        cover = found.pop(None, empty(0))
        taught = {str(label): own for label, own in sorted(found.items())}
        return Sketch(cover, taught, held=tuple(self._held))

    @property
    def n_features(self) -> int | None:
        """How many numbers make a row; None before the first."""
        return next((own.n_features for own in self._coverings.values()), None)

    def _cover(self, label: str | None, rows: Floats) -> None:
        if label not in self._coverings:
            self._coverings[label] = self._covering(label, rows.shape[1])
        self._coverings[label].take(rows, *self._limit(label))

    def _take_up(self, label: str | None, cover: Cover) -> None:
        self._coverings[label] = covering = self._covering(label, cover.n_features)
        covering.radius = cover.radius
        covering.put(cover, gap=cover.radius)

    def _covering(self, label: str | None, n_features: int) -> Covering:
        """Return a cover of no rows yet; whoever has a label is believed, however far."""
        hold = self._hold if label is None else None
        return Covering(self._limit(label)[0] + 1, n_features, hold)

    def _hold(self, cover: Cover) -> None:
        """Hold what is far: as it came while it is little, then in layers."""
        k, self._held = self._budget.n_centroids, [*self._held, cover]
        much = len(self._held) > MANY or sum(map(len, self._held)) > (LAYERS + 1) * k
        if much or cover.radius > 0.0:
            self._held = unite_layers(self._held, k)

    def _limit(self, label: str | None) -> tuple[int, float]:
        n_centroids, labels_per_class, growth = self._budget
        return (n_centroids, growth) if label is None else (labels_per_class, 1.0)
