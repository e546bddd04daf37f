"""What the learner needs of rows: numbers, labels, and what only we look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from labelwalk.arrays import Bools, Floats
from labelwalk.io.batch import Batch, Rows
from labelwalk.io.columns import ColumnError, Columns, listed
from labelwalk.io.fault import Fault
from labelwalk.io.words import as_word

RECENT_IDS = 10_000

Words = list[str | None]


@dataclass(frozen=True)
class Examples:
    """Rows that can be learned.

    Attributes
    ----------
    rows : Rows
        As they came.
    features : dict from names to matrices
        The numbers of each feature.
    labels, truths, ids, sources : lists of text or None
        Empty where there is no such column.
    """

    rows: Rows
    features: dict[str, Floats]
    labels: Words
    truths: Words
    ids: Words
    sources: Words

    def matrix(self) -> Floats:
        """Return all features side by side."""
        none = np.empty((len(self.rows), 0))
        return np.concatenate([none, *self.features.values()], axis=1)

    def taken(self, keep: Bools) -> Examples:
        """Return some of them."""
        if keep.all():
            return self
        words = (self.labels, self.truths, self.ids, self.sources)
        return Examples(
            self.rows.taken(keep),
            {name: numbers[keep] for name, numbers in self.features.items()},
            *(
                [word for word, kept in zip(some, keep, strict=True) if kept] if some else []
                for some in words
            ),
        )


@dataclass
class Reader:
    """Makes examples of rows; the first batch decides which columns are features.

    Attributes
    ----------
    columns : Columns
    unlabeled : str
        What stands for no label, beside nothing at all.
    all_labelled : bool
        Whether a row without a label cannot be used.
    widths : dict from names to int or None
        The features, once they are known, and how many numbers their lists hold; 0: no lists; None:
        no value has come yet.
    taught_by : names
        The features that the learner was taught by, in order; empty where nobody knows.
    recent : dict from ids to None
        The last ids, in order.
    """

    columns: Columns
    unlabeled: str = ""
    all_labelled: bool = False
    widths: dict[str, int | None] = field(default_factory=dict)
    recent: dict[str, None] = field(default_factory=dict)
    taught_by: tuple[str, ...] = ()

    @property
    def n_features(self) -> int | None:
        """How many numbers an example has; None as long as that is not known."""
        widths = list(self.widths.values())
        known = [max(1, width) for width in widths if width is not None]
        return sum(known) if widths and len(known) == len(widths) else None

    def read(self, batch: Batch, *, first_fault: bool = False) -> tuple[Examples, list[Fault]]:
        """Return all rows as examples, and what is wrong with some, in order, or the first."""
        rows = batch.rows
        if not self.widths and (rows.names or len(rows)):
            self.widths = dict.fromkeys(self._features(rows))
        for name, width in self.widths.items():
            if width is None:
                self.widths[name] = rows.width(name) if len(rows) else None
        found: dict[int, tuple[str, str | None, str]] = {}
        features = {}
        for name, width in self.widths.items():
            features[name], bad = rows.numbers(name, width or 0)
            for one in bad:
                found.setdefault(one.row, (name, one.value, one.problem))
        label, known = self.columns.label_among(rows.names, loose=rows.loose), self.columns
        special = (label, known.truth, known.id, known.source)
        labels, truths, ids, sources = (self._words(rows, name, found) for name in special)
        labels = [None if label == self.unlabeled else label for label in labels]
        if self.all_labelled:
            self._check_labels(rows, labels, found)
        self._check_sources(sources, found)
        self._check_ids(ids, found)
        wrong = sorted(found)[:1] if first_fault else sorted(found)
        faults = [
            Fault(i, batch.where(i), found[i][2], found[i][0], found[i][1], rows.written(i))
            for i in wrong
        ]
        everything = sorted([*batch.faults, *faults], key=lambda fault: fault.at)
        return Examples(rows, features, labels, truths, ids, sources), everything

    def accept(self, examples: Examples) -> None:
        """Remember the ids of rows that were learned."""
        for name in examples.ids:
            if name is not None:
                _remember(self.recent, name)

    def _features(self, rows: Rows) -> tuple[str, ...]:
        """Return the features, those of the learner in their order where it has some."""
        taught_by, given = self.taught_by, bool(self.columns.features)
        chosen = self.columns.among(rows.names, asides=rows.asides, loose=rows.loose)
        if not taught_by or (given and not set(chosen) & set(taught_by)):
            return chosen
        among = chosen if given else rows.names
        lacking = [name for name in taught_by if name not in among]
        if lacking:
            raise ColumnError(
                f"the learner was taught by {listed(taught_by)}, and there is no column "
                f"{lacking[0]!r} among {listed(among)}. Give them, or name others by --features."
            )
        if given and chosen != taught_by:
            raise ColumnError(
                f"the learner was taught by {listed(taught_by)}, in this order, and is given "
                f"{listed(chosen)}. Leave --features out."
            )
        return taught_by

    def _words(self, rows: Rows, name: str | None, found: dict[int, Any]) -> Words:
        if name is None:
            return []
        words: Words = []
        for i, value in enumerate(rows.values(name)):
            try:
                words.append(None if value is None else as_word(value))
            except ValueError as error:
                words.append(None)
                found.setdefault(i, (name, str(value), str(error)))
        return words

    def _check_labels(self, rows: Rows, labels: Words, found: dict[int, Any]) -> None:
        label = self.columns.label_among(rows.names, loose=rows.loose)
        if label is None:
            raise ColumnError("there is no column of labels. Name one by --label-column.")
        for i, name in enumerate(labels):
            if name is None:
                found.setdefault(i, (label, None, "is missing: every row needs a label here"))

    def _check_ids(self, ids: Words, found: dict[int, Any]) -> None:
        """Look for ids among the last ones before them; rows that are refused do not count."""
        recent = dict(self.recent)
        for i, name in enumerate(ids):
            if i in found:
                continue
            if name is None:
                found[i] = (self.columns.id, None, "is missing: every row needs an id")
            elif name in recent:
                found[i] = (self.columns.id, name, "came before: ids must differ")
            else:
                _remember(recent, name)

    def _check_sources(self, sources: Words, found: dict[int, Any]) -> None:
        for i, name in enumerate(sources):
            if name is None:
                found.setdefault(i, (self.columns.source, None, "is missing: name a source"))


def _remember(recent: dict[str, None], name: str) -> None:
    recent[name] = None
    if len(recent) > RECENT_IDS:
        del recent[next(iter(recent))]
