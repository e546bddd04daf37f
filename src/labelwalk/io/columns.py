"""Which columns are features, and what the others are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

LABEL = "label"
INDEX = re.compile(r"unnamed \d+|__index_level_\d+__")  # of rows, as pandas writes it


class ColumnError(ValueError):
    """A column that is not there, or is wanted twice."""


@dataclass(frozen=True)
class Columns:
    """What a user says of the columns.

    Attributes
    ----------
    features : names or patterns such as "f*"
        In this order, and by one pattern in the order of the file. Empty: all columns that are
        nothing else.
    label : str, optional
        The column of labels, empty where a row has none. None: "label", if there is such a column.
    id, truth, source : str, optional
        The column of names for rows; of labels that only accuracy is measured by; of what
        `source_share` tells apart.
    drop : names or patterns
        Columns that are no features. They pass through.
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
    def named(self) -> list[str]:
        """The columns that are named and are no features."""
        given = (self.label, self.id, self.truth, self.source)
        return [name for name in given if name is not None]

    def among(
        self, names: Sequence[str], *, asides: Collection[str] = (), loose: bool = False
    ) -> tuple[str, ...]:
        """Return the features among the columns of a file.

        Parameters
        ----------
        names : sequence of str
        asides : collection of str
            Columns that are features only where they are named.
        loose : bool
            Whether rows may lack all others.

        Raises
        ------
        ColumnError
            A column is not there, or nothing is left to be a feature.

        Examples
        --------
        >>> Columns(features=("f*",), label="y").among(["id", "f1", "f2", "y"])
        ('f1', 'f2')
        >>> Columns(label="y", drop=("id",)).among(["id", "a", "y"])
        ('a',)
        """
        special = self._special(names, loose)
        for option, name in special.items():
            if name not in names and not loose:
                raise ColumnError(missing(f"--{option}-column", name, names))
        excluded = {*special.values(), *_matching("--drop", self.drop, names)}
        if self.features:
            wanted = _matching("--features", self.features, names)
            for name in wanted:
                if name in excluded:
                    raise ColumnError(
                        f"column {name!r} is wanted as a feature and as something else. Name it "
                        "once: narrow --features, or do without the other option."
                    )
        else:
            excluded |= {name for name in names if name in asides or INDEX.fullmatch(name)}
            wanted = [name for name in names if name not in excluded]
        if not wanted:
            raise ColumnError(
                f"no column is left to be a feature; there are {listed(names)}. Name some by "
                "--features."
            )
        return tuple(wanted)

    def label_among(self, names: Sequence[str], *, loose: bool = False) -> str | None:
        """Return the column of labels among the columns of a file, if it has one."""
        if self.label is None:
            return LABEL if LABEL in names or loose else None
        return None if self.label_optional and self.label not in names else self.label

    def _special(self, names: Sequence[str], loose: bool) -> dict[str, str]:
        """Return the columns that are something else, by the option that says so."""
        given = {
            "label": self.label_among(names, loose=loose),
            "id": self.id,
            "truth": self.truth,
            "source": self.source,
        }
        return {option: name for option, name in given.items() if name is not None}


def _matching(option: str, patterns: Iterable[str], names: Sequence[str]) -> list[str]:
    """Return the names each pattern stands for, every name once."""
    found: dict[str, None] = {}
    for pattern in patterns:
        some = [pattern] if pattern in names else [n for n in names if fnmatchcase(n, pattern)]
        if not some:
            raise ColumnError(missing(option, pattern, names))
        found.update(dict.fromkeys(some))
    return list(found)


def missing(option: str, name: str, names: Sequence[str]) -> str:
    """Return what is said of a column that is not there."""
    return f"{option} {name!r}: there is no such column. Choose among {listed(names)}."


def listed(names: Sequence[str], most: int = 20) -> str:
    """Return names as they are shown, the first ones where there are many."""
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
