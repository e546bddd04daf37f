"""Presence of people: who appears, gets a name or leaves, and how often each was seen."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from labelwalk.faces.frames import Box, Frame, scale_box
from labelwalk.faces.pipeline import Face

Who = str | int | None
"""A name, the number of a stranger, or None if neither is known."""


class Event(NamedTuple):
    """A change of a track."""

    # "appears": a new track. "named": its person is known, or another than before. "unnamed": a
    # name was removed. "leaves": the track ended.
    kind: Literal["appears", "named", "unnamed", "leaves"]
    frame: int  # time of the event; for "leaves", of the last view
    seconds: float
    track: int
    box: Box  # in pixels of the source
    name: str | None
    stranger: int | None
    confidence: float  # of the name, or of the likeliest one
    since: int | None = None  # for "leaves": the first frame, and the number of views
    faces: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the event as a JSON object."""
        fields: dict[str, Any] = {"event": self.kind} | self._asdict()
        fields |= {"box": list(self.box), "seconds": round(self.seconds, 3)}
        fields |= {"confidence": round(self.confidence, 4)}
        for name in ("kind",) if self.kind == "leaves" else ("kind", "since", "faces"):
            del fields[name]
        return fields


class Presence(NamedTuple):
    """How often a person was seen: number of views, and of tracks."""

    who: Who
    faces: int
    visits: int


@dataclass
class _Visit:
    """A track that has not ended."""

    since: int
    last: Event
    person: Who = None
    counts: Counter[Who] = field(default_factory=Counter)
    n_unclear: int = 0  # views since the last one with a name or number

    def add(self, person: Who) -> None:
        """Count a view; unclear views before that of a stranger count for the stranger."""
        self.n_unclear += 1
        if person is not None:
            self.counts[person if isinstance(person, int) else None] += self.n_unclear - 1
            self.counts[person] += 1
            self.n_unclear = 0


class PresenceTracker:
    """Converts faces to events, and counts the views of each person."""

    def __init__(self) -> None:
        self._visits: dict[int, _Visit] = {}
        self._n_faces: Counter[Who] = Counter()
        self._n_visits: Counter[Who] = Counter()

    def update(self, frame: Frame, faces: Iterable[Face], alive: Collection[int]) -> list[Event]:
        """Return the events of a frame."""
        departures = [self._leave(track) for track in list(self._visits) if track not in alive]
        return departures + [event for face in faces for event in self._update_face(frame, face)]

    def end(self) -> list[Event]:
        """End all tracks, and return these events."""
        return [self._leave(track) for track in list(self._visits)]

    def presences(self) -> list[Presence]:
        """Return the people who have left, those with the most views first."""
        presences = [Presence(who, n, self._n_visits[who]) for who, n in self._n_faces.items()]
        return sorted(presences, key=lambda item: (-item.faces, item.who is None, str(item.who)))

    def _update_face(self, frame: Frame, face: Face) -> list[Event]:
        person: Who = face.stranger if face.name is None else face.name
        event = Event(
            kind="appears",
            frame=frame.number,
            seconds=frame.seconds,
            track=face.track,
            box=scale_box(face.box, 1.0 / frame.scale),
            name=face.name,
            stranger=face.stranger,
            confidence=face.confidence,
        )
        is_new = face.track not in self._visits
        visit = self._visits.setdefault(face.track, _Visit(frame.number, event, person))
        visit.last, before = event, visit.person
        visit.add(person)
        if is_new:
            return [event]
        if person == before or (person is None and not isinstance(before, str)):
            return []
        visit.person = person
        return [event._replace(kind="unnamed" if person is None else "named")]

    def _leave(self, track: int) -> Event:
        visit = self._visits.pop(track)
        name = visit.person if isinstance(visit.person, str) else None
        stranger = visit.person if isinstance(visit.person, int) else None
        counts = +(visit.counts + Counter({stranger: visit.n_unclear}))
        self._n_faces.update(counts)
        self._n_visits.update(counts.keys())
        return visit.last._replace(
            kind="leaves", name=name, stranger=stranger, since=visit.since, faces=counts.total()
        )
