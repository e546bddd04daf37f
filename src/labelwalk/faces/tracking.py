"""Tracking: boxes of successive frames that show one face, and votes for its name."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labelwalk._validation import check_number, check_whole
from labelwalk.arrays import Floats
from labelwalk.faces.frames import Box, compute_overlap
from labelwalk.faces.profiles import MAJORITY, Profile

VOTE_DECAY = 0.8  # weight of a view when the next one arrives
MAX_TRACK_EXAMPLES = 32  # last views of a track whose ids are stored


@dataclass(slots=True)
class _Track:
    number: int
    box: Box
    n_missed: int = 0


class Tracker:
    """Give each box the number of its track.

    A box continues the track whose last box it overlaps most, the largest overlap first; a box
    without an overlap starts a new track. Tracks are numbered from 1, and numbers are not reused.
    """

    def __init__(self, *, patience: int = 10, least: float = 0.3) -> None:
        check_whole("patience", patience, "10", least=0, most=100_000)
        check_number("least", least, 0.0, 1.0, "0.3", above=True)
        self.patience, self.least = patience, least
        self._tracks: list[_Track] = []
        self._n_started = 0

    @property
    def alive(self) -> tuple[int, ...]:
        """Numbers of the tracks that may continue, the oldest first."""
        return tuple(track.number for track in self._tracks)

    def follow(self, boxes: Sequence[Box]) -> list[int]:
        """Return the track of each box of the next frame."""
        matches = self._match(boxes)
        for track in self._tracks:
            track.n_missed += 1
        for i, box in enumerate(boxes):
            if i in matches:
                matches[i].box, matches[i].n_missed = box, 0
            else:
                self._n_started += 1
                matches[i] = _Track(self._n_started, box)
                self._tracks.append(matches[i])
        self._tracks = [track for track in self._tracks if track.n_missed <= self.patience]
        return [matches[i].number for i in range(len(boxes))]

    def _match(self, boxes: Sequence[Box]) -> dict[int, _Track]:
        """Pair boxes with tracks; for equal overlaps, the older track and the earlier box."""
        pairs = [
            (-overlap, track.number, i, track)
            for track in self._tracks
            for i, box in enumerate(boxes)
            if (overlap := compute_overlap(track.box, box)) >= self.least
        ]
        matches: dict[int, _Track] = {}
        matched_tracks: set[int] = set()
        for _, number, i, track in sorted(pairs, key=lambda pair: pair[:3]):
            if i not in matches and number not in matched_tracks:
                matches[i] = track
                matched_tracks.add(number)
        return matches


class Votes:
    """Votes of the last views of a track for names.

    One poor view does not remove a name, and one chance likeness does not give one. After a view
    that is unlike the previous one, which may show another person, the votes start again.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._view: Floats | None = None
        self._shares: dict[str, float] = {}
        self._weight = 0.0
        self.examples: deque[int] = deque(maxlen=MAX_TRACK_EXAMPLES)

    @property
    def last_view(self) -> Floats:
        """The vector of the last view."""
        assert self._view is not None  # the caller has taken a view
        return self._view

    @property
    def confidence(self) -> float:
        """Weighted share of walks from the last views that end at the likeliest name."""
        return max(self._shares.values(), default=0.0) / max(1.0, self._weight)

    @property
    def name(self) -> str | None:
        """The name at which more than half of the walks end, if any."""
        if self.confidence <= MAJORITY:
            return None
        return max(self._shares, key=lambda name: self._shares[name], default=None)

    def take(self, view: Floats, shares: Mapping[str, float], example: int) -> None:
        """Add a view; names that are no longer known lose their votes."""
        if self._view is None or not self._profile.are_kin(self._view, view):
            self._shares, self._weight = {}, 0.0
            self.examples.clear()
        self._view = view
        self._shares = {
            name: VOTE_DECAY * self._shares.get(name, 0.0) + share for name, share in shares.items()
        }
        self._weight = VOTE_DECAY * self._weight + 1.0
        self.examples.append(example)

    def settle(self, name: str) -> None:
        """Replace all votes by a name that a person gave."""
        self._shares, self._weight = {name: 1.0}, 1.0
