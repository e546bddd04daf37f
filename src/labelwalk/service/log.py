"""What happens, told line by line: as JSON for machines, or plainly; never a secret.

Only facts that are listed by name are told: no token, body, row, label or query ever comes here.
"""

from __future__ import annotations

import json
import logging
import threading
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")
Fact = str | int | float | bool


class Log:
    """Writes a line for each event that is grave enough.

    Parameters
    ----------
    stream : text file
    form : "json" or "plain"
    level : "debug", "info", "warning" or "error"
        What is less grave is not told; "debug" tells of every request.

    Examples
    --------
    >>> import io, json
    >>> stream = io.StringIO()
    >>> log = Log(stream, "json", "info")
    >>> log.tell("info", "refused", status=404, route="/api/learners/{name}")
    >>> log.tell("debug", "request", status=200)
    >>> {name: fact for name, fact in json.loads(stream.getvalue()).items() if name != "at"}
    {'level': 'info', 'event': 'refused', 'status': 404, 'route': '/api/learners/{name}'}
    """

    def __init__(self, stream: TextIO, form: Literal["json", "plain"], level: Level) -> None:
        self._stream, self.form, self._least = stream, form, LEVELS.index(level)
        self._lock = threading.Lock()

    def tells(self, level: Level) -> bool:
        """Return whether what is so grave is told."""
        return LEVELS.index(level) >= self._least

    def tell(self, level: Level, event: str, **facts: Fact) -> None:
        """Write a line; where it cannot be written, go on."""
        if not self.tells(level):
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self.form == "json":
            line = json.dumps({"at": at, "level": level, "event": event} | facts)
        else:
            line = " ".join([at, event, *(f"{name}={fact!r}" for name, fact in facts.items())])
        with self._lock, suppress(OSError, ValueError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def tell_error(self, event: str, error: BaseException | None) -> None:
        """Tell of an error that nobody expected: what and where, but not what it says."""
        places = traceback.extract_tb(error.__traceback__) if error is not None else []
        where = [f"{place.filename}:{place.lineno}" for place in places[-3:]]
        self.tell("error", event, kind=type(error).__name__, where=" ".join(where))


class Heard(logging.Handler):
    """Passes on what the web server logs, without what errors say."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Tell it; where that fails, go on."""
        grave: Level = "error" if record.levelno >= logging.ERROR else "warning"
        with suppress(Exception):
            if record.exc_info and record.exc_info[1] is not None:
                self._log.tell_error("failure", record.exc_info[1])
            else:
                self._log.tell(grave, "web server", said=str(record.msg))


def listen_to_all(log: Log) -> None:
    """Tell what the web server and we ourselves say, and of threads that end in an error."""
    for name in ("uvicorn", "labelwalk"):
        heard = logging.getLogger(name)
        heard.handlers, heard.propagate = [Heard(log)], False

    def ended(failure: threading.ExceptHookArgs) -> None:
        log.tell_error("failure", failure.exc_value)

    threading.excepthook = ended
