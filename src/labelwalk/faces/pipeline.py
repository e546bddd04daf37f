"""Recognition in frames: the last views of a track vote for the name of its face."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from labelwalk.faces.detection import Detector, HaarDetector
from labelwalk.faces.frames import Box, Image
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Pixels, Representation, profile_of, vector_of
from labelwalk.faces.tracking import Tracker, Votes

MAX_TAUGHT_VIEWS = 4  # of a track or a stranger, when it gets a name


class Face(NamedTuple):
    """A face in a frame."""

    box: Box
    track: int  # the same while the face is followed
    name: str | None  # none for a stranger
    stranger: int | None  # the number of a stranger, if any (`FaceRecognizer.strangers`)
    # Share of walks from the last views that end at the name, or at the likeliest one.
    confidence: float
    example: int  # Id by which it can be labelled


class FacePipeline:
    """Finds, follows and names the faces of successive frames.

    No two faces in a frame have the same name.

    Parameters
    ----------
    representation : function, optional
        From the image of a face to its vector. The default is `Pixels`.
    recognizer : FaceRecognizer, optional
        One that knows people already, from vectors of this representation.
    detector : function, optional
        From an image to the boxes of its faces. The default is `HaarDetector`.

    Examples
    --------
    >>> from labelwalk.faces.demo import DemoVideo
    >>> pipeline = FacePipeline(Pixels(32))
    >>> for frame in DemoVideo(people=1, n_frames=20):
    ...     faces = pipeline.process(frame.image)
    ...     if frame.number == 5:
    ...         taught = pipeline.name(faces[0].example, "Ada")
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
        """The tracks that may continue, the oldest first."""
        return self._tracker.alive

    def process(self, image: Image) -> list[Face]:
        """Return the faces of the next frame."""
        boxes = list(self.detector(image))
        tracks = self._tracker.follow(boxes)
        alive = set(self.alive)
        self._votes = {track: votes for track, votes in self._votes.items() if track in alive}
        if not boxes:
            return []
        rows = np.array([vector_of(image, box, self.representation) for box in boxes])
        recognition = self.recognizer.observe(rows)
        people = self.recognizer.people
        faces: list[Face] = []
        for i, (box, track) in enumerate(zip(boxes, tracks, strict=True)):
            votes = self._votes.setdefault(track, Votes(self.recognizer.profile))
            shares = recognition.verdicts.probabilities[i].tolist()
            example = int(recognition.ids[i])
            # another thread may have added a name since `observe`, so there may be fewer shares
            votes.take(rows[i], dict(zip(people, shares, strict=False)), example)
            faces.append(Face(box, track, votes.name, None, votes.confidence, example))
        unique = [face._replace(name=None) if _is_doubtful(face, faces) else face for face in faces]
        return [
            face if face.name is not None else face._replace(stranger=self._find_number(face))
            for face in unique
        ]

    look = process  # the documented name of version 0.7

    def name(self, example: int, name: str) -> list[int]:
        """Label a face: its view, and a few of the last views of its track.

        Parameters
        ----------
        example : int
            Of a face.
        name : str

        Returns
        -------
        examples : list of int
            The labelled examples; `FaceRecognizer.retract` removes their labels.

        Raises
        ------
        ValueError
            It has another label; remove that first.
        """
        self.recognizer.name(example, name)
        taught = [example]
        views = [view for view in self.list_views(example) if view != example]
        n = min(MAX_TAUGHT_VIEWS - 1, len(views))
        for i in np.linspace(0, len(views) - 1, n).round().astype(int):
            with suppress(ValueError):  # that view has another label
                self.recognizer.name(views[i], name)
                taught.append(views[i])
        for votes in self._votes.values():
            if example in votes.examples:
                votes.settle(name)
        return taught

    def list_views(self, example: int) -> list[int]:
        """Return the last views on the track of an example, including it, oldest first.

        Empty if the track has ended, or has many newer views.
        """
        tracks = (votes.examples for votes in self._votes.values() if example in votes.examples)
        return list(next(tracks, ()))

    def _find_number(self, face: Face) -> int | None:
        return self.recognizer.stranger(self._votes[face.track].last_view)


Onlooker = FacePipeline  # the documented name of version 0.7


def _is_doubtful(face: Face, faces: list[Face]) -> bool:
    """Return whether another face in the frame has the same name with higher confidence."""
    return face.name is not None and any(
        (other.confidence, -other.track) > (face.confidence, -face.track)
        for other in faces
        if other.name == face.name
    )
