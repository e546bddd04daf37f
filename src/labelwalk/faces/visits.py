"""Who comes, is recognised and leaves: what a stream of faces tells, in few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from labelwalk.faces.boxes import Box, scaled
from labelwalk.faces.frames import Frame
from labelwalk.faces.onlooker import Face

Who = str | int | None
"""A name, the number of a stranger, or None where neither is known."""


class Event(NamedTuple):
    """Something that happened to a face.

    Attributes
    ----------
    kind : str
        "appears": a face that was not followed before. "named": it is known who that is, or is
        thought to be another than before. "unnamed": a name was taken back. "leaves": it was not
        seen any more for a while.
    frame, seconds : int, float
        When; of who leaves, when last seen.
    track : int
    box : Box
        In pixels of the source.
    name : str or None
    stranger : int or None
    confidence : float
        Of that name, or of the likeliest one where none is given.
    since, faces : int or None
        Of who leaves: the frame of appearing, and in how many frames they were seen.
    """

    kind: Literal["appears", "named", "unnamed", "leaves"]
    frame: int
    seconds: float
    track: int
    box: Box
    name: str | None
    stranger: int | None
    confidence: float
    since: int | None = None
    faces: int | None = None

    def described(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        told = {
            "event": self.kind,
            "frame": self.frame,
            "seconds": round(self.seconds, 3),
            "track": self.track,
            "box": list(self.box),
            "name": self.name,
            "stranger": self.stranger,
            "confidence": round(self.confidence, 4),
        }
        return told if self.since is None else told | {"since": self.since, "faces": self.faces}


class Presence(NamedTuple):
    """How often somebody was there: in how many faces, on how many tracks."""

    who: Who
    faces: int
    visits: int


@dataclass
class _Visit:
    """A track, as long as it is followed."""

    since: int
    last: Event
    told: Who = None
    said: Counter[Who] = field(default_factory=Counter)
    unclear: int = 0  # views since somebody was last said to be there

    def say(self, who: Who) -> None:
        """Count a view; those before a stranger had a number are counted under it."""
        if who is None:
            self.unclear += 1
            return
        self.said[who if isinstance(who, int) else None] += self.unclear
        self.said[who] += 1
        self.unclear = 0

    def total(self) -> Counter[Who]:
        """Return how often who was said to be there."""
        rest = self.told if isinstance(self.told, int) else None
        return +(self.said + Counter({rest: self.unclear}))


class Visits:
    """Makes events of faces, and counts who was there.

    Examples
    --------
    >>> import numpy as np
    >>> visits, nothing = Visits(), np.zeros((9, 9, 3), dtype=np.uint8)
    >>> ada = Face(Box(0, 0, 5, 5), track=1, name=None, stranger=None, confidence=0.4, example=0)
    >>> for number, name in enumerate([None, "Ada", "Ada"], start=1):
    ...     frame = Frame(number, number / 25.0, nothing)
    ...     print([one.kind for one in visits.see(frame, [ada._replace(name=name)], alive=[1])])
    ['appears']
    ['named']
    []
    >>> [(one.kind, one.name, one.frame, one.faces) for one in visits.end()]
    [('leaves', 'Ada', 3, 3)]
    >>> visits.presences()
    [Presence(who='Ada', faces=2, visits=1), Presence(who=None, faces=1, visits=1)]
    """

    def __init__(self) -> None:
        self._here: dict[int, _Visit] = {}
        self._faces: Counter[Who] = Counter()
        self._visits: Counter[Who] = Counter()

    def see(self, frame: Frame, faces: Iterable[Face], alive: Collection[int]) -> list[Event]:
        """Return what is new in a frame.

        Parameters
        ----------
        frame : Frame
        faces : Faces
            Of this frame.
        alive : collection of int
            The tracks that may go on; the others have left.
        """
        left = [self._leave(track) for track in list(self._here) if track not in alive]
        return left + [event for face in faces for event in self._see(frame, face)]

    def end(self) -> list[Event]:
        """Let everybody leave, and return that."""
        return [self._leave(track) for track in list(self._here)]

    def presences(self) -> list[Presence]:
        """Return who was there and has left, those seen most often first."""
        found = [Presence(who, n, self._visits[who]) for who, n in self._faces.items()]
        return sorted(found, key=lambda one: (-one.faces, one.who is None, str(one.who)))

    def _see(self, frame: Frame, face: Face) -> list[Event]:
        now, who = _appearing(frame, face), _who(face)
        if face.track not in self._here:
            visit = self._here[face.track] = _Visit(frame.number, now, who)
            visit.say(who)
            return [now]
        visit = self._here[face.track]
        visit.last, before = now, visit.told
        visit.say(who)
        if who == before or (who is None and not isinstance(before, str)):
            return []
        visit.told = who
        return [now._replace(kind="unnamed" if who is None else "named")]

    def _leave(self, track: int) -> Event:
        visit = self._here.pop(track)
        said = visit.total()
        self._faces.update(said)
        self._visits.update(said.keys())
        name, stranger = _name_and_number(visit.told)
        return visit.last._replace(
            kind="leaves", name=name, stranger=stranger, since=visit.since, faces=said.total()
        )


def _appearing(frame: Frame, face: Face) -> Event:
    return Event(
        "appears",
        frame.number,
        frame.seconds,
        face.track,
        scaled(face.box, 1.0 / frame.scale),
        face.name,
        face.stranger,
        face.confidence,
    )


def _who(face: Face) -> Who:
    return face.stranger if face.name is None else face.name


def _name_and_number(who: Who) -> tuple[str | None, int | None]:
    return (who, None) if isinstance(who, str) else (None, who)
