"""Where rows go with their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from labelwalk.arrays import Floats
from labelwalk.io.batch import Rows
from labelwalk.io.destinations import destination


class Sink(Protocol):
    """Where rows go with their answers.

    `mark` makes them last, and says where one can go on; `complete` makes the output whole, and may
    be done again in a later run; `tidy` removes what only served that; `release` comes last.
    """

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Write rows with new columns; features are their numbers."""

    def flush(self) -> None:
        """Show others what is written so far."""

    def mark(self) -> int:
        """Put everything on the disk, and say where that is."""

    def complete(self) -> None:
        """Make the output whole."""

    def tidy(self) -> None:
        """Remove what is needed no more."""

    def release(self) -> None:
        """Let go of files."""


class BytesSink:
    """What all sinks share that write bytes to a destination."""

    def __init__(self, path: str, mark: int | None) -> None:
        self._out = destination(path, mark)

    def flush(self) -> None:
        """Show others what is written so far."""
        self._out.flush()

    def mark(self) -> int:
        """Put everything on the disk, and say how long it is."""
        return self._out.mark()

    def complete(self) -> None:
        """It is whole after every row."""
        self._out.flush()

    def tidy(self) -> None:
        """There is nothing to remove."""

    def release(self) -> None:
        """Let go of the file."""
        self._out.close()
