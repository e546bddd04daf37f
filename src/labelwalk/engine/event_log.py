"""The last times that a health metric crossed its limit."""

from collections import deque
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, Self

from labelwalk._validation import is_number

MAX_EVENTS = 64


class LoggedEvent(NamedTuple):
    """A metric that crossed its limit."""

    at: int  # examples seen
    name: str
    ok: bool
    value: float
    limit: float


class EventLog:
    """The latest events, and the metrics that exceed their limits at present.

    Examples
    --------
    >>> log = EventLog()
    >>> for at, ok in enumerate([True, False, False, True]):
    ...     log.note(LoggedEvent(at, "sink", ok, 0.0, 0.5))
    >>> [event.at for event in log.events]
    [1, 3]
    """

    def __init__(self, events: Iterable[LoggedEvent] = (), failing: Iterable[str] = ()) -> None:
        self.events = deque(events, MAX_EVENTS)
        self.failing = set(failing)

    def note(self, event: LoggedEvent) -> None:
        """Append an event if its metric has crossed its limit since the last call."""
        if event.ok == (event.name in self.failing):
            self.failing ^= {event.name}
            self.events.append(event)

    def copy(self) -> Self:
        """Return an independent log."""
        return type(self)(self.events, self.failing)

    def to_header(self) -> dict[str, Any]:
        """Return the log as JSON values; empty if there are no events."""
        if not self.events:
            return {}
        events = [list(event) for event in self.events]
        return {"events": {"log": events, "failing": sorted(self.failing)}}

    @classmethod
    def from_header(cls, header: dict[str, Any], names: Collection[str]) -> Self:
        """Return the log in the header of a model file.

        Raises
        ------
        ValueError
            The header has no valid log of these metrics.
        """
        stored = header.get("events", {"log": [], "failing": []})
        events = [LoggedEvent(*event) for event in stored["log"]]
        for at, name, ok, *numbers in events:
            if not (type(at) is int and name in names and type(ok) is bool):
                raise ValueError("its event log contains an invalid event")
            if not all(is_number(number) for number in numbers):
                raise ValueError("its event log contains a value that is not a number")
        if not set(stored["failing"]) <= set(names):
            raise ValueError("its event log contains unknown metrics")
        return cls(events, stored["failing"])
