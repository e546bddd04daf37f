"""Validation of parameters, rows, labels and ids: each error names the value and a fix."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelwalk.arrays import Floats, Label

MOST = 2**62 - 1  # more than any stream counts
MAX_PARAMETER = 1e100  # of a number that is multiplied with data


def plain_numbers(settings: object) -> None:
    """Turn NumPy scalars among the fields of a frozen dataclass into Python's own."""
    for name, value in vars(settings).items():
        if isinstance(value, np.generic):
            object.__setattr__(settings, name, value.item())


def is_number(value: object) -> bool:
    """Say whether this is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_number(
    name: str, value: object, low: float, high: float, repair: str, *, above: bool = False
) -> None:
    """Refuse what is not a number from `low` (or above it) to `high`."""
    if is_number(value):
        number = float(value)  # type: ignore[arg-type]
        if (low < number if above else low <= number) and number <= high:
            return
    expected = f"above {low:g} and up to {high:.9g}" if above else f"from {low:g} to {high:.9g}"
    raise ValueError(f"{name}={shown(value)} is not a number {expected}. Try {repair}.")


def check_whole(name: str, value: object, repair: str, *, least: int = 1, most: int = MOST) -> None:
    """Refuse what is not a whole number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        top = "2**62" if most == MOST else f"{most}"
        raise ValueError(
            f"{name}={shown(value)} is not a whole number from {least} to {top}. Try {repair}."
        )


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of the words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={shown(value)} is unknown. Choose {' or '.join(choices)}.")


def shown(value: object) -> str:
    """Return the value for a message, short enough to be read."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        text = f"a {type(value).__name__} too large to write"
    return text if len(text) <= 80 else text[:77] + "..."


MAX_VALUE = 1e150
MOST_NUMBERS = 2**20  # that are checked at a time: an interrupt waits for them


class NamedRows(np.ndarray[Any, Any]):
    """Rows that carry the names of their columns; a list column names several of them."""

    def __new__(cls, rows: NDArray[Any], names: tuple[str, ...]) -> NamedRows:
        """Return a view of rows, with names."""
        view = rows.view(cls)
        view.names = names
        return view

    def __array_finalize__(self, obj: object) -> None:
        """Keep the names where rows are selected."""
        self.names: tuple[str, ...] = getattr(obj, "names", ())


def column_names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame, or of a row of one; none if not strings."""
    if isinstance(X, NamedRows):
        return X.names
    for attribute in ("column_names", "columns", "index"):  # Arrow; pandas, Polars; a pandas row
        if not callable(getattr(type(X), attribute, callable)):
            return check_names(list(getattr(X, attribute)))
    return ()


def check_names(names: Sequence[object]) -> tuple[str, ...]:
    """Return the names of columns; none if not strings. Refuse names that two columns share."""
    strings = tuple(str(name) for name in names if isinstance(name, str))
    if strings and len(set(strings)) < len(names):
        wrong = next(x for i, x in enumerate(names) if x in names[:i] or not isinstance(x, str))
        raise ValueError(
            f"X has a column {shown(wrong)}, whose name is not a string or is there twice. Give "
            "each column a string of its own, as in X.columns = [...], or drop it."
        )
    return strings


def places(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Return where each of the wanted columns is among those given, which must be the same ones."""
    missing, extra = Counter(expected) - Counter(given), Counter(given) - Counter(expected)
    if missing or extra:
        raise ValueError(
            f"the columns are not those of the learner: missing are {shown(list(missing))}, extra "
            f"are {shown(list(extra))}. Give those in learner.feature_names, as in "
            "X[list(learner.feature_names)]; if only names differ, assign the new ones to it."
        )
    at: dict[str, list[int]] = {}
    for i in reversed(range(len(given))):
        at.setdefault(given[i], []).append(i)
    return [at[name].pop() for name in expected]


def as_rows(
    X: ArrayLike, n_features: int | None, names: tuple[str, ...] = ()
) -> tuple[Floats, bool]:
    """Return rows as a C-ordered float64 matrix, columns by name, and whether it was a single row.

    Raises
    ------
    ValueError
        X is ragged, empty, not numeric, of the wrong width, has other columns, or holds NaN,
        infinity or a value beyond 1e150.
    """
    given = () if type(X) is np.ndarray else column_names(X)
    order = places(given, names) if given and names and given != names else None
    rows = _as_numbers(X)
    if order is not None:
        rows = np.take(rows, order, axis=-1)
    single = rows.ndim == 1
    if single:
        rows = rows.reshape(1, -1)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(
            f"X has shape {np.shape(X)}. Give one row of features, or a matrix with a row for "
            "each example and at least one row and one column."
        )
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but this learner was started with {n_features}. "
            "Give the same columns, or start a new learner."
        )
    if rows.size <= MOST_NUMBERS:
        _check_comparable(rows, 0)
    else:
        step = max(1, MOST_NUMBERS // rows.shape[1])
        for start in range(0, len(rows), step):
            _check_comparable(rows[start : start + step], start)
    return rows, single


def _check_comparable(rows: Floats, start: int) -> None:
    # NaN and infinity fail the comparison too: one pass over the data where all is well.
    if not np.maximum.reduce(np.abs(rows), axis=None) <= MAX_VALUE:
        i, j = np.argwhere(~(np.abs(rows) <= MAX_VALUE))[0]
        raise ValueError(
            f"X[{start + i}, {j}] is {rows[i, j]}: only finite values of at most {MAX_VALUE:g} can "
            "be compared. Drop or repair that row, or rescale the column."
        )


def _as_numbers(X: ArrayLike) -> Floats:
    if type(X) is np.ndarray and X.dtype == np.float64:
        return _writable(X)
    if hasattr(X, "toarray"):
        raise ValueError("X is a sparse matrix. Give X.toarray().")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X has masked values. Fill them, as in X.filled(0), or drop those rows.")
    try:
        given = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is ragged ({error}). Give rows of one length.") from None
    if given.dtype == object:
        given = _unbox(given)
    if given.dtype.kind not in "fiub":
        raise ValueError(
            f"X has dtype {given.dtype}, which is not numeric. Convert or drop text columns."
        )
    return _writable(given)


def _writable(given: np.ndarray[Any, Any]) -> Floats:
    # a read-only array is another type to Numba, which would compile every loop once more
    if given.dtype == np.float64 and given.flags.carray:
        return given
    return np.require(given, dtype=np.float64, requirements=["C", "A", "W"])


def _unbox(given: np.ndarray[tuple[int, ...], np.dtype[np.object_]]) -> Floats:
    if any(isinstance(value, str | bytes) for value in given.flat):
        raise ValueError("X holds text, which is not numeric. Convert or drop text columns.")
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"X is not numeric: {error}. Give rows of numbers.") from None


def as_labels(labels: Label | Iterable[Label], n: int) -> list[Label]:
    """Return n labels as plain strings and integers.

    Raises
    ------
    ValueError
        There are not n of them, or one is neither a string nor an integer.
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 0:
        labels = labels[()]
    one = isinstance(labels, str | bytes | bytearray) or not isinstance(labels, Iterable)
    given = [labels] if one else list(labels)  # type: ignore[arg-type]
    if len(given) != n:
        raise ValueError(
            f"labels has {len(given)} entries for {n} rows of X. Give one label for each row."
        )
    for label in given:
        if not _is_label(label):
            raise ValueError(
                f"labels holds {shown(label)}, which is neither a string nor an integer. "
                f"{_repair(label)}"
            )
    return [_plain(label) for label in given]


def as_label(label: object) -> Label:
    """Return one label as a plain string or integer.

    Raises
    ------
    ValueError
        It is neither.
    """
    if _is_label(label):
        return _plain(label)
    raise ValueError(
        f"label={shown(label)} is neither a string nor an integer. Give one label, such as 'cat'."
    )


def _is_label(label: object) -> bool:
    plain = isinstance(label, str | int | np.integer)
    return plain and not isinstance(label, bool | np.timedelta64)


def _plain(label: Any) -> Label:
    return str(label) if isinstance(label, str) else int(label)


def _repair(label: object) -> str:
    if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
        return "Drop those rows here, and observe them without a label."
    whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return f"Convert it, as in {'int' if whole else 'str'}(label)."


def as_id(example_id: object) -> int:
    """Return the id of an example as a plain integer.

    Raises
    ------
    ValueError
        It is no integer.
    """
    if isinstance(example_id, int | np.integer) and not isinstance(example_id, bool):
        return int(example_id)
    repair = "Give one that observe(X, ids=True) returned."
    if example_id is None:
        repair = "Where a question has none, teach its example: teach(question.example, label)."
    raise ValueError(f"example_id={shown(example_id)} is not an integer. {repair}")
