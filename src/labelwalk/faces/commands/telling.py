"""Events as lines of JSON, each there as soon as it has happened."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from labelwalk.cli.files import writing

if TYPE_CHECKING:
    from labelwalk.faces.visits import Event

Tell = Callable[[Iterable["Event"]], None]


@contextmanager
def telling(path: str | None) -> Iterator[Tell]:
    """Yield what writes events to a file, to standard output where it is -, or nowhere."""
    if path is None:
        yield lambda events: None
    elif path == "-":
        file = sys.stdout  # as it is now: a bar on the terminal takes its place for a while
        yield lambda events: _write(file, events)
    else:
        with ExitStack() as held:
            with writing(Path(path)):
                opened = held.enter_context(open(path, "w", encoding="utf-8"))
            yield lambda events: _write(opened, events)


def _write(file: TextIO, events: Iterable[Event]) -> None:
    for event in events:
        file.write(json.dumps(event.described(), ensure_ascii=False) + "\n")
    file.flush()
