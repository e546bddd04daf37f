"""Validation of parameters, rows, labels and ids: each error names the value and a fix."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelwalk.arrays import Floats, Label

MOST = 2**62 - 1  # more than any stream counts
MAX_PARAMETER = 1e100  # of a number that is multiplied with data


def plain_numbers(settings: object) -> None:
    """Convert NumPy scalars in the fields of a frozen dataclass to Python numbers."""
    for name, value in vars(settings).items():
        if isinstance(value, np.generic):
            object.__setattr__(settings, name, value.item())


def is_number(value: object) -> bool:
    """Return whether this is a finite number that a float can represent."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_number(
    name: str, value: object, low: float, high: float, repair: str, *, above: bool = False
) -> None:
    """Raise ValueError unless this is a number from `low` (or above it) to `high`."""
    if is_number(value):
        number = float(value)  # type: ignore[arg-type]
        if (low < number if above else low <= number) and number <= high:
            return
    expected = f"above {low:g} and up to {high:.9g}" if above else f"from {low:g} to {high:.9g}"
    raise ValueError(f"{name}={shown(value)} is not a number {expected}. Try {repair}.")


def check_whole(name: str, value: object, repair: str, *, least: int = 1, most: int = MOST) -> None:
    """Raise ValueError unless this is an integer from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        top = "2**62" if most == MOST else f"{most}"
        raise ValueError(
            f"{name}={shown(value)} is not an integer from {least} to {top}. Try {repair}."
        )


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless this is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}={shown(value)} is not supported. Choose {' or '.join(choices)}.")


def shown(value: object) -> str:
    """Return the value as text for a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python writes
        text = f"a {type(value).__name__} too large to display"
    return text if len(text) <= 80 else text[:77] + "..."


MAX_VALUE = 1e150
MOST_NUMBERS = 2**20  # that are checked at a time: an interrupt waits for them


class NamedRows(np.ndarray[Any, Any]):
    """Rows with the names of their columns; all columns of a list column have its name."""

    def __new__(cls, rows: NDArray[Any], names: tuple[str, ...]) -> Self:
        """Return a view of rows, with names."""
        view = rows.view(cls)
        view.names = names
        return view

    def __array_finalize__(self, obj: object) -> None:
        """Copy the names to a selection of rows."""
        self.names: tuple[str, ...] = getattr(obj, "names", ())


def column_names(X: Any) -> tuple[str, ...]:
    """Return the column names of a data frame or its row; empty if they are not strings."""
    if isinstance(X, NamedRows):
        return X.names
    for attribute in ("column_names", "columns", "index"):  # Arrow; pandas, Polars; a pandas row
        if not callable(getattr(type(X), attribute, callable)):
            return check_names(list(getattr(X, attribute)))
    return ()


def check_names(names: Sequence[object]) -> tuple[str, ...]:
    """Return the names of columns, empty if not strings; raise ValueError for duplicates."""
    strings = tuple(str(name) for name in names if isinstance(name, str))
    if strings and len(set(strings)) < len(names):
        wrong = next(x for i, x in enumerate(names) if x in names[:i] or not isinstance(x, str))
        raise ValueError(
            f"X has a column {shown(wrong)}, which is a duplicate or not a string. Give each "
            "column a different string, as in X.columns = [...], or drop it."
        )
    return strings


def places(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Return the position of each expected column among the given ones, which must be the same."""
    missing, extra = Counter(expected) - Counter(given), Counter(given) - Counter(expected)
    if missing or extra:
        raise ValueError(
            f"X and the learner have different columns: missing {shown(list(missing))}, extra "
            f"{shown(list(extra))}. Select X[list(learner.feature_names)], or assign "
            "learner.feature_names if only the names differ."
        )
    at: dict[str, list[int]] = {}
    for i in reversed(range(len(given))):
        at.setdefault(given[i], []).append(i)
    return [at[name].pop() for name in expected]


def as_rows(
    X: ArrayLike, n_features: int | None, names: tuple[str, ...] = ()
) -> tuple[Floats, bool]:
    """Return rows as a C-ordered float64 matrix, and whether X was a single row.

    ValueError: X is ragged, empty or not numeric, has other columns, or contains NaN, infinity or a
    value beyond 1e150.
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
            f"X has shape {np.shape(X)}. Pass one row of features, or a matrix with a row for each "
            "example and at least one row and one column."
        )
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but this learner has {n_features}. Pass the same "
            "columns, or create a new learner."
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
            "be compared. Drop or correct that row, or rescale the column."
        )


def _as_numbers(X: ArrayLike) -> Floats:
    if type(X) is np.ndarray and X.dtype == np.float64:
        return _writable(X)
    if hasattr(X, "toarray"):
        raise ValueError("X is a sparse matrix. Pass X.toarray().")
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("X has masked values. Fill them, as in X.filled(0), or drop those rows.")
    try:
        given = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is ragged ({error}). Pass rows of equal length.") from None
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
        raise ValueError("X contains text, which is not numeric. Convert or drop text columns.")
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"X is not numeric: {error}. Pass rows of numbers.") from None


def as_labels(labels: Label | Iterable[Label], n: int) -> list[Label]:
    """Return n labels as plain strings and integers; raise ValueError for any others."""
    if isinstance(labels, np.ndarray) and labels.ndim == 0:
        labels = labels[()]
    one = isinstance(labels, str | bytes | bytearray) or not isinstance(labels, Iterable)
    given = [labels] if one else list(labels)  # type: ignore[arg-type]
    if len(given) != n:
        raise ValueError(
            f"labels has {len(given)} entries for {n} rows of X. Pass one label for each row."
        )
    for label in given:
        if not _is_label(label):
            raise ValueError(
                f"labels contains {shown(label)}, which is neither a string nor an integer. "
                f"{_repair(label)}"
            )
    return [_plain(label) for label in given]


def as_label(label: object) -> Label:
    """Return one label as a plain string or integer; raise ValueError for anything else."""
    if _is_label(label):
        return _plain(label)
    raise ValueError(
        f"label={shown(label)} is neither a string nor an integer. Pass one label, such as 'cat'."
    )


def _is_label(label: object) -> bool:
    plain = isinstance(label, str | int | np.integer)
    return plain and not isinstance(label, bool | np.timedelta64)


def _plain(label: Any) -> Label:
    return str(label) if isinstance(label, str) else int(label)


def _repair(label: object) -> str:
    if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
        return "Drop such rows, and pass them to observe instead."
    whole = isinstance(label, float | np.floating) and float(label).is_integer()
    return f"Convert it, as in {'int' if whole else 'str'}(label)."


def as_id(example_id: object) -> int:
    """Return the id of an example as a plain integer; raise ValueError for anything else."""
    if isinstance(example_id, int | np.integer) and not isinstance(example_id, bool):
        return int(example_id)
    repair = "Pass an id from observe(X, ids=True)."
    if example_id is None:
        repair = "If a question has no id, use teach(question.example, label)."
    raise ValueError(f"example_id={shown(example_id)} is not an integer. {repair}")
