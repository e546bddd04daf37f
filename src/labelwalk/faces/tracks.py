"""Which box of one frame is which of the next: tracks of faces that move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labelwalk.faces.boxes import Box, overlap
from labelwalk.parameters import check_number, check_whole


@dataclass(slots=True)
class _Track:
    number: int
    box: Box
    missing: int = 0


class Tracker:
    """Give each box the number of its track.

    A box goes on with the track whose last box it overlaps most, the largest overlap of all
    first; what overlaps none begins a new one. Tracks are numbered from 1 and never again.

    Parameters
    ----------
    patience : int
        In how many frames one after another a face may be missing, and still be the same track.
    least : float
        Boxes that overlap less are not of one track.

    Examples
    --------
    >>> tracker = Tracker()
    >>> tracker.follow([Box(0, 0, 10, 10), Box(50, 0, 10, 10)])
    [1, 2]
    >>> tracker.follow([Box(51, 0, 10, 10)])
    [2]
    >>> tracker.follow([Box(90, 0, 10, 10), Box(1, 1, 10, 10)])
    [3, 1]
    """

    def __init__(self, *, patience: int = 10, least: float = 0.3) -> None:
        check_whole("patience", patience, "10", least=0, most=100_000)
        check_number("least", least, 0.0, 1.0, "0.3", above=True)
        self.patience, self.least = patience, least
        self._tracks: list[_Track] = []
        self._begun = 0

    @property
    def alive(self) -> tuple[int, ...]:
        """The tracks that may go on, the oldest first."""
        return tuple(track.number for track in self._tracks)

    def follow(self, boxes: Sequence[Box]) -> list[int]:
        """Return the track of each box of the next frame."""
        taken = self._matched(boxes)
        for track in self._tracks:
            track.missing += 1
        for i, box in enumerate(boxes):
            if i in taken:
                taken[i].box, taken[i].missing = box, 0
            else:
                self._begun += 1
                taken[i] = _Track(self._begun, box)
                self._tracks.append(taken[i])
        self._tracks = [track for track in self._tracks if track.missing <= self.patience]
        return [taken[i].number for i in range(len(boxes))]

    def _matched(self, boxes: Sequence[Box]) -> dict[int, _Track]:
        """Pair boxes with tracks; of equal overlaps, the older track and the earlier box."""
        pairs = [
            (-shared, track.number, i, track)
            for track in self._tracks
            for i, box in enumerate(boxes)
            if (shared := overlap(track.box, box)) >= self.least
        ]
        taken: dict[int, _Track] = {}
        gone: set[int] = set()
        for _, number, i, track in sorted(pairs, key=lambda pair: pair[:3]):
            if i not in taken and number not in gone:
                taken[i] = track
                gone.add(number)
        return taken
