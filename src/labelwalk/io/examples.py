"""Roles of columns (features, labels, ids ...), and conversion of rows to examples."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import compress

import numpy as np

from labelwalk.arrays import Bools, Floats
from labelwalk.errors import LabelwalkError
from labelwalk.io.rows import Batch, RowError, Rows, as_label_text

DEFAULT_LABEL_COLUMN = "label"
INDEX_COLUMN = re.compile(r"unnamed \d+|__index_level_\d+__")  # as pandas writes row numbers
RECENT_IDS = 10_000
MAX_LISTED_COLUMNS = 20

TextColumn = list[str | None]


class ColumnError(LabelwalkError, ValueError):
    """A column does not exist, or has two roles."""


@dataclass(frozen=True)
class Columns:
    """The roles of columns.

    Attributes
    ----------
    features : names or patterns such as "f*"
        In this order; the columns of a pattern in the order of the file. Empty: all columns
        without another role.
    label : str, optional
        The column of labels, empty where a row has none. None: "label", if that column exists.
    id, truth, source : str, optional
        Columns of unique row ids; of labels that only measure accuracy; of the sources that
        `source_share` limits.
    drop : names or patterns
        Columns that are not features. They are passed on unchanged.
    label_optional : bool
        Whether the column of labels may be missing.
    """

    features: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    truth: str | None = None
    source: str | None = None
    drop: tuple[str, ...] = ()
    label_optional: bool = False

    @property
    def role_names(self) -> list[str]:
        """The named columns that are not features."""
        columns = (self.label, self.id, self.truth, self.source)
        return [name for name in columns if name is not None]

    def select_features(
        self,
        names: Sequence[str],
        *,
        not_features: Collection[str] = (),
        has_optional_columns: bool = False,
    ) -> tuple[str, ...]:
        """Return the features among the columns of a file.

        Columns in `not_features` are features only if they are named. If rows have optional
        columns, the columns that are not features may be missing.

        Examples
        --------
        >>> Columns(features=("f*",), label="y").select_features(["id", "f1", "f2", "y"])
        ('f1', 'f2')
        >>> Columns(label="y", drop=("id",)).select_features(["id", "a", "y"])
        ('a',)
        """
        label = self.find_label(names, has_optional_columns=has_optional_columns)
        roles = {"label": label, "id": self.id, "truth": self.truth, "source": self.source}
        for role, name in roles.items():
            if name is not None and name not in names and not has_optional_columns:
                raise ColumnError(describe_missing(f"--{role}-column", name, names))
        excluded = {*roles.values(), *_match_patterns("--drop", self.drop, names)}
        if self.features:
            features = _match_patterns("--features", self.features, names)
            for name in features:
                if name in excluded:
                    raise ColumnError(
                        f"Column {name!r} has two roles: it is also a feature. Restrict "
                        "--features, or omit the other option."
                    )
        else:
            excluded |= {n for n in names if n in not_features or INDEX_COLUMN.fullmatch(n)}
            features = [name for name in names if name not in excluded]
        if not features:
            raise ColumnError(
                f"No column is left as a feature; the columns are {list_names(names)}. Name the "
                "features with --features."
            )
        return tuple(features)

    def find_label(self, names: Sequence[str], *, has_optional_columns: bool = False) -> str | None:
        """Return the column of labels among the columns of a file, if it has one."""
        if self.label is None:
            exists = DEFAULT_LABEL_COLUMN in names or has_optional_columns
            return DEFAULT_LABEL_COLUMN if exists else None
        return None if self.label_optional and self.label not in names else self.label


def _match_patterns(option: str, patterns: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the names that match each pattern, without repetition."""
    matches: dict[str, None] = {}
    for pattern in patterns:
        new = [pattern] if pattern in names else [n for n in names if fnmatchcase(n, pattern)]
        if not new:
            raise ColumnError(describe_missing(option, pattern, names))
        matches.update(dict.fromkeys(new))
    return list(matches)


def describe_missing(option: str, name: str, names: Sequence[str]) -> str:
    """Return the message about a column that does not exist."""
    return f"{option} {name!r}: no such column. The columns are {list_names(names)}."


def list_names(names: Sequence[str], max_listed: int = MAX_LISTED_COLUMNS) -> str:
    """Return names for a message, only the first of a long list."""
    shown = ", ".join(map(repr, names[:max_listed]))
    return shown if len(names) <= max_listed else f"{shown} and {len(names) - max_listed} more"


@dataclass(frozen=True)
class Examples:
    """Rows that can be learned. The lists of text are empty if the column does not exist."""

    rows: Rows
    features: dict[str, Floats]  # a matrix for each name
    labels: TextColumn
    truths: TextColumn
    ids: TextColumn
    sources: TextColumn

    def matrix(self) -> Floats:
        """Return all features side by side."""
        no_features = np.empty((len(self.rows), 0))
        return np.concatenate([no_features, *self.features.values()], axis=1)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The name of each column of the matrix."""
        return tuple(
            name for name, numbers in self.features.items() for _ in range(numbers.shape[1])
        )

    @property
    def has_label(self) -> Bools:
        """Which rows have a label."""
        labels = self.labels or [None] * len(self.rows)
        return np.array([label is not None for label in labels], dtype=bool)

    def filter(self, keep: Bools) -> "Examples":
        """Return the examples selected by a mask."""
        if keep.all():
            return self
        columns = (self.labels, self.truths, self.ids, self.sources)
        return Examples(
            self.rows.filter(keep),
            {name: numbers[keep] for name, numbers in self.features.items()},
            *(list(compress(texts, keep)) for texts in columns),
        )


Faults = dict[int, tuple[str, str | None, str | None]]
"""Problem, column and value of each faulty row."""


@dataclass
class ExampleReader:
    """Converts rows to examples. The first batch determines which columns are features."""

    columns: Columns
    unlabeled: str = ""  # a value that means "unlabelled", in addition to an empty one
    all_labelled: bool = False  # whether a row without a label is an error
    # the features, once they are known, and the lengths of their lists; 0: no lists; None: no value
    # has been read yet
    widths: dict[str, int | None] = field(default_factory=dict)
    recent: dict[str, None] = field(default_factory=dict)  # the last ids, in order
    taught_by: tuple[str, ...] = ()  # the features of the learner, if it has names

    @property
    def n_features(self) -> int | None:
        """The number of features of an example; None while it is unknown."""
        widths = list(self.widths.values())
        known_widths = [max(1, width) for width in widths if width is not None]
        return sum(known_widths) if widths and len(known_widths) == len(widths) else None

    def read(self, batch: Batch, *, first_fault: bool = False) -> tuple[Examples, list[RowError]]:
        """Return all rows as examples, and the faulty rows in order, or only the first of them."""
        rows = batch.rows
        if not self.widths and (rows.names or len(rows)):
            self.widths = dict.fromkeys(self._select_features(rows))
        for name, width in self.widths.items():
            if width is None:
                self.widths[name] = rows.width(name) if len(rows) else None
        faults: Faults = {}
        features = {}
        for name, width in self.widths.items():
            features[name], bad_values = rows.numbers(name, width or 0)
            for i, bad in bad_values.items():
                faults.setdefault(i, (bad.problem, name, bad.value))
        roles = self.columns
        label = roles.find_label(rows.names, has_optional_columns=rows.has_optional_columns)
        labels, truths, ids, sources = (
            _read_texts(rows, name, faults) for name in (label, roles.truth, roles.id, roles.source)
        )
        labels = [None if text == self.unlabeled else text for text in labels]
        if self.all_labelled:
            if label is None:
                raise ColumnError("The label column is missing. Give its name with --label-column.")
            _check_no_gaps(labels, label, "every row needs a label", faults)
        _check_no_gaps(sources, roles.source, "every row needs a source", faults)
        self._check_ids(ids, faults)
        row_errors = [
            RowError(i, batch.where(i), *faults[i], rows.text(i))
            for i in sorted(faults)[: 1 if first_fault else None]
        ]
        ordered = sorted([*batch.faults, *row_errors], key=lambda error: error.at)
        return Examples(rows, features, labels, truths, ids, sources), ordered

    def accept(self, examples: Examples) -> None:
        """Remember the ids of rows that were learned."""
        for name in examples.ids:
            if name is not None:
                _remember(self.recent, name)

    def _select_features(self, rows: Rows) -> tuple[str, ...]:
        """Return the features, those of the learner in their order if it has names."""
        selected = self.columns.select_features(
            rows.names,
            not_features=rows.not_features,
            has_optional_columns=rows.has_optional_columns,
        )
        is_explicit = bool(self.columns.features)
        if not self.taught_by or (is_explicit and not set(selected) & set(self.taught_by)):
            return selected
        candidates = selected if is_explicit else rows.names
        missing = [name for name in self.taught_by if name not in candidates]
        if missing:
            raise ColumnError(
                f"The features of the learner are {list_names(self.taught_by)}, but column "
                f"{missing[0]!r} is not among {list_names(candidates)}. Add it, or name other "
                "features with --features."
            )
        if is_explicit and selected != self.taught_by:
            raise ColumnError(
                f"The features of the learner are {list_names(self.taught_by)}, in this order; "
                f"--features selects {list_names(selected)}. Omit --features."
            )
        return self.taught_by

    def _check_ids(self, ids: TextColumn, faults: Faults) -> None:
        """Reject ids that are among the last ones; rejected rows do not count."""
        recent = dict(self.recent)
        for i, name in enumerate(ids):
            if i in faults:
                continue
            if name is None:
                faults[i] = ("is missing: every row needs an id", self.columns.id, None)
            elif name in recent:
                faults[i] = ("is a duplicate: ids must be unique", self.columns.id, name)
            else:
                _remember(recent, name)


def _read_texts(rows: Rows, column: str | None, faults: Faults) -> TextColumn:
    if column is None:
        return []
    texts: TextColumn = []
    for i, value in enumerate(rows.values(column)):
        try:
            texts.append(as_label_text(value))
        except ValueError as error:
            texts.append(None)
            faults.setdefault(i, (str(error), column, str(value)))
    return texts


def _check_no_gaps(texts: TextColumn, column: str | None, rule: str, faults: Faults) -> None:
    for i, text in enumerate(texts):
        if text is None:
            faults.setdefault(i, (f"is missing: {rule}", column, None))


def _remember(recent: dict[str, None], name: str) -> None:
    recent[name] = None
    if len(recent) > RECENT_IDS:
        del recent[next(iter(recent))]
