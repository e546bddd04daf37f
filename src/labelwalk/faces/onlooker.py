"""Frames in, faces with names out: each face is what its last views on one track say together."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Floats
from labelwalk.faces.boxes import Box
from labelwalk.faces.haar import Detector, HaarDetector
from labelwalk.faces.image import Image
from labelwalk.faces.pixels import Pixels
from labelwalk.faces.profiles import MAJORITY, profile_of
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Representation, vector_of
from labelwalk.faces.tracks import Tracker

FADE = 0.8  # what a view on a track still counts when the next has come
VIEWS = 4  # of a track that are taught when it is named
LAST = 32  # views of a track from which those are taken


class Face(NamedTuple):
    """A face in a frame.

    Attributes
    ----------
    box : Box
    track : int
        The same while the face is followed.
    name : str or None
        None for a stranger.
    confidence : float
        How often walks from the last views end at that name, or at the likeliest one.
    example : int
        By which it can be named.
    """

    box: Box
    track: int
    name: str | None
    confidence: float
    example: int


@dataclass
class _Views:
    """The last views on a track, as long as each is like the one before."""

    last: Floats
    votes: Floats = field(default_factory=lambda: np.zeros(0))
    weight: float = 0.0
    examples: deque[int] = field(default_factory=lambda: deque(maxlen=LAST))

    def add(self, probabilities: Floats, example: int) -> None:
        known = np.zeros(len(probabilities))
        known[: len(self.votes)] = self.votes  # people may have been named since
        self.votes = FADE * known + probabilities
        self.weight = FADE * self.weight + 1.0
        self.examples.append(example)


class Onlooker:
    """Looks at frames in order, and says who is in them.

    A face is named by the votes of its last views on one track, so that one poor view does not take
    a name away, and one chance likeness does not give one. Where a view is unlike the one before,
    somebody else may have stepped there, and votes begin anew. No two faces in a frame have one
    name.

    Parameters
    ----------
    representation : function, optional
        What makes a vector of a face; `Pixels` where none is given.
    recognizer : FaceRecognizer, optional
        One that knows people already, from vectors of this representation.
    detector : function, optional
        What finds faces; `HaarDetector` where none is given.

    Examples
    --------
    >>> from labelwalk.faces.demo import DemoVideo
    >>> onlooker = Onlooker(Pixels(32))
    >>> for frame in DemoVideo(people=1, n_frames=20):
    ...     faces = onlooker.look(frame.image)
    ...     if frame.number == 5:
    ...         onlooker.name(faces[0], "Ada")
    >>> faces[0].name
    'Ada'
    """

    def __init__(
        self,
        representation: Representation | None = None,
        *,
        recognizer: FaceRecognizer | None = None,
        detector: Detector | None = None,
    ) -> None:
        self.representation = Pixels() if representation is None else representation
        self.recognizer = recognizer or FaceRecognizer(profile_of(self.representation))
        self.detector = detector or HaarDetector()
        self._tracker = Tracker()
        self._views: dict[int, _Views] = {}

    def look(self, image: Image) -> list[Face]:
        """Return the faces of the next frame."""
        boxes = list(self.detector(image))
        tracks = self._tracker.follow(boxes)
        alive = set(self._tracker.alive)
        self._views = {track: views for track, views in self._views.items() if track in alive}
        if not boxes:
            return []
        rows = np.array([vector_of(image, box, self.representation) for box in boxes])
        seen = self.recognizer.observe(rows)
        shares, examples = seen.verdicts.probabilities, seen.ids.tolist()
        for i, track in enumerate(tracks):
            views = self._views.get(track)
            if views is None or not self.recognizer.profile.are_kin(views.last, rows[i]):
                views = self._views[track] = _Views(rows[i])
            views.last = rows[i]
            views.add(shares[i], examples[i])
        return self._named(boxes, tracks)

    def name(self, face: Face, name: str) -> None:
        """Say who a face is: its view, and a few of the last on its track, are taught.

        Raises
        ------
        ValueError
            It was called something else before; take that back first.
        """
        views = self._views.get(face.track)
        others = [] if views is None else [one for one in views.examples if one != face.example]
        spread = np.linspace(0, len(others) - 1, min(VIEWS - 1, len(others))).round().astype(int)
        for example in [face.example, *(others[i] for i in spread)]:
            self.recognizer.name(example, name)

    def _named(self, boxes: list[Box], tracks: list[int]) -> list[Face]:
        people = self.recognizer.people
        best = []
        for box, track in zip(boxes, tracks, strict=True):
            views = self._views[track]
            shares = views.votes / views.weight
            winner = int(shares.argmax()) if len(shares) else -1
            confidence = float(shares[winner]) if len(shares) else 0.0
            name = people[winner] if confidence > MAJORITY else None
            best.append(Face(box, track, name, confidence, views.examples[-1]))
        return [face._replace(name=None) if _is_outdone(face, best) else face for face in best]


def _is_outdone(face: Face, faces: list[Face]) -> bool:
    """Return whether another face in the frame has the same name, and more right to it."""
    return face.name is not None and any(
        (one.confidence, -one.track) > (face.confidence, -face.track)
        for one in faces
        if one.name == face.name
    )
