"""Frames in, faces with names out: each face is what its last views on one track say together."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from labelwalk.faces.boxes import Box
from labelwalk.faces.haar import Detector, HaarDetector
from labelwalk.faces.image import Image
from labelwalk.faces.pixels import Pixels
from labelwalk.faces.profiles import profile_of
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Representation, vector_of
from labelwalk.faces.tracks import Tracker
from labelwalk.faces.votes import Votes

VIEWS = 4  # of a track that are taught when it is named


class Face(NamedTuple):
    """A face in a frame.

    Attributes
    ----------
    box : Box
    track : int
        The same while the face is followed.
    name : str or None
        None for a stranger.
    stranger : int or None
        The number of a stranger, where there is one (`FaceRecognizer.strangers`).
    confidence : float
        How often walks from the last views end at that name, or at the likeliest one.
    example : int
        By which it can be named.
    """

    box: Box
    track: int
    name: str | None
    stranger: int | None
    confidence: float
    example: int


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
    ...         taught = onlooker.name(faces[0].example, "Ada")
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
        self._votes: dict[int, Votes] = {}

    @property
    def alive(self) -> tuple[int, ...]:
        """The tracks that may go on, the oldest first."""
        return self._tracker.alive

    def look(self, image: Image) -> list[Face]:
        """Return the faces of the next frame."""
        boxes = list(self.detector(image))
        tracks = self._tracker.follow(boxes)
        alive = set(self.alive)
        self._votes = {track: votes for track, votes in self._votes.items() if track in alive}
        if not boxes:
            return []
        rows = np.array([vector_of(image, box, self.representation) for box in boxes])
        seen = self.recognizer.observe(rows)
        people = self.recognizer.people
        for i, (track, example) in enumerate(zip(tracks, seen.ids.tolist(), strict=True)):
            votes = self._votes.setdefault(track, Votes(self.recognizer.profile))
            shares = seen.verdicts.probabilities[i].tolist()
            said = dict(zip(people, shares, strict=False))  # one may just have come
            votes.take(rows[i], said, example)
        best = [self._named(box, track) for box, track in zip(boxes, tracks, strict=True)]
        faces = [face._replace(name=None) if _is_outdone(face, best) else face for face in best]
        return [self._numbered(face) for face in faces]

    def name(self, example: int, name: str) -> list[int]:
        """Say who a face is: its view, and a few of the last on its track, are taught.

        Parameters
        ----------
        example : int
            Of a face.
        name : str

        Returns
        -------
        examples : list of int
            What was taught; `FaceRecognizer.retract` takes them back.

        Raises
        ------
        ValueError
            It was called something else before; take that back first.
        """
        self.recognizer.name(example, name)
        taught = [example]
        others = [one for one in self.followed(example) if one != example]
        spread = np.linspace(0, len(others) - 1, min(VIEWS - 1, len(others))).round().astype(int)
        for i in spread:
            with suppress(ValueError):  # that view was called something else
                self.recognizer.name(others[i], name)
                taught.append(others[i])
        for votes in self._votes.values():
            if example in votes.examples:
                votes.settle(name)
        return taught

    def followed(self, example: int) -> list[int]:
        """Return the last views on the track of an example, itself among them, oldest first.

        There are none where the track has ended, or went on for long.
        """
        found = (votes.examples for votes in self._votes.values() if example in votes.examples)
        return list(next(found, ()))

    def _named(self, box: Box, track: int) -> Face:
        votes = self._votes[track]
        return Face(box, track, votes.name, None, votes.confidence, votes.examples[-1])

    def _numbered(self, face: Face) -> Face:
        if face.name is not None:
            return face
        return face._replace(stranger=self.recognizer.stranger(self._votes[face.track].last))


def _is_outdone(face: Face, faces: list[Face]) -> bool:
    """Return whether another face in the frame has the same name, and more right to it."""
    return face.name is not None and any(
        (one.confidence, -one.track) > (face.confidence, -face.track)
        for one in faces
        if one.name == face.name
    )
