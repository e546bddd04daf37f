"""What is wrong with a row, and what becomes of it: the end of the run, or the reject file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

from labelwalk.io.lasting import LastingFile

OnError: TypeAlias = Literal["stop", "skip", "report"]
SHOWN = 60  # characters of a value


class InputError(ValueError):
    """Input that cannot be understood: a row under `on_error="stop"`, or a whole file."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row that cannot be learned or answered.

    Attributes
    ----------
    at : int
        How many rows of its batch come before it.
    where : str
        Such as "line 17".
    problem : str
        What is wrong, and what to do about it.
    column, value : str or None
        Where the fault lies in the row, if in one place.
    row : str
        All of it, as it came.
    """

    at: int
    where: str
    problem: str
    column: str | None = None
    value: str | None = None
    row: str = ""

    def __str__(self) -> str:
        if self.column is None:
            return f"{self.where}: {self.problem}"
        if self.value is None:
            return f"{self.where}, column {self.column!r}: {self.problem}"
        return f"{self.where}, column {self.column!r}: {shortened(self.value)!r} {self.problem}"


class Rejects:
    """Rows that were skipped, one JSON object a line; no file where there are none."""

    def __init__(self, path: str, size: int | None = None) -> None:
        self.path = path
        self._file: LastingFile | None = None if size is None else LastingFile(path, size)

    def write(self, fault: Fault) -> None:
        """Keep a row, with what is wrong with it."""
        if self._file is None:
            self._file = LastingFile(self.path, None)
        fields = ("where", "column", "value", "problem", "row")
        line = {name: getattr(fault, name) for name in fields}
        self._file.write(json.dumps(line).encode() + b"\n")

    def mark(self) -> int | None:
        """Put it all on the disk, and say how long the file is; None where there is none."""
        return None if self._file is None else self._file.mark()

    def close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()


def shortened(value: str) -> str:
    """Return the beginning of a long value."""
    return value if len(value) <= SHOWN else value[: SHOWN - 3] + "..."
