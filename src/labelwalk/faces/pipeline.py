"""Faces of successive frames: tracks of boxes that show one face, and their votes for names."""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from labelwalk._validation import check_number, check_whole
from labelwalk.arrays import Floats
from labelwalk.faces.detection import Detector, HaarDetector
from labelwalk.faces.frames import Box, Image, compute_overlap
from labelwalk.faces.profiles import MAJORITY, Profile
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Pixels, Representation, profile_of, vector_of

MAX_TAUGHT_VIEWS = 4  # of a track or a stranger, when it gets a name
VOTE_DECAY = 0.8  # weight of a view when the next one arrives
MAX_TRACK_EXAMPLES = 32  # last views of a track whose ids are stored


class Tracker:
    """Give each box the number of its track.

    A box continues the track whose last box it overlaps most, largest overlap first; a box
    without an overlap starts a new track. Tracks are numbered from 1, and numbers are not reused.
    """

    def __init__(self, *, patience: int = 10, least: float = 0.3) -> None:
        check_whole("patience", patience, "10", least=0, most=100_000)
        check_number("least", least, 0.0, 1.0, "0.3", above=True)
        self.patience, self.least = patience, least
        self._n_frames = self._n_started = 0
        self._last_boxes: dict[int, tuple[Box, int]] = {}  # with the number of the frame, by track

    @property
    def alive(self) -> tuple[int, ...]:
        """Numbers of the tracks that may continue, oldest first."""
        return tuple(self._last_boxes)

    def follow(self, boxes: Sequence[Box]) -> list[int]:
        """Return the track of each box of the next frame."""
        pairs = sorted(  # for equal overlaps, the older track and the earlier box come first
            (-overlap, track, i)
            for track, (last, _) in self._last_boxes.items()
            for i, box in enumerate(boxes)
            if (overlap := compute_overlap(last, box)) >= self.least
        )
        matches: dict[int, int] = {}
        for _, track, i in pairs:
            if i not in matches and track not in matches.values():
                matches[i] = track
        self._n_frames += 1
        for i, box in enumerate(boxes):
            if i not in matches:
                self._n_started += 1
                matches[i] = self._n_started
            self._last_boxes[matches[i]] = box, self._n_frames
        earliest = self._n_frames - self.patience
        self._last_boxes = {
            track: last for track, last in self._last_boxes.items() if last[1] >= earliest
        }
        return [matches[i] for i in range(len(boxes))]


class Votes:
    """Votes of the last views of a track for names.

    One poor view does not remove a name, and one chance likeness does not give one. After a view
    that is unlike the previous one, which may show another person, the votes start again.
    """

    def __init__(self, profile: Profile) -> None:
        self._profile, self._view = profile, np.empty(0)
        self._shares, self._weight = dict[str, float](), 0.0
        self.examples: deque[int] = deque(maxlen=MAX_TRACK_EXAMPLES)

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
        if not self.examples or not self._profile.are_kin(self._view, view):
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
        One that already knows people, from vectors of this representation.
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
        self._votes: dict[int, Votes] = {}  # by track

    @property
    def alive(self) -> tuple[int, ...]:
        """The tracks that may continue, oldest first."""
        return self._tracker.alive

    def process(self, image: Image) -> list[Face]:
        """Return the faces of the next frame."""
        boxes = list(self.detector(image))
        tracks = self._tracker.follow(boxes)
        self._votes = {track: self._votes[track] for track in self.alive if track in self._votes}
        if not boxes:
            return []
        rows = np.array([vector_of(image, box, self.representation) for box in boxes])
        recognition, people = self.recognizer.observe(rows), self.recognizer.people
        faces: list[Face] = []
        for i, (box, track) in enumerate(zip(boxes, tracks, strict=True)):
            votes = self._votes.setdefault(track, Votes(self.recognizer.profile))
            shares = recognition.verdicts.probabilities[i].tolist()
            example = int(recognition.ids[i])
            # another thread may have added a name since `observe`, so there may be fewer shares
            votes.take(rows[i], dict(zip(people, shares, strict=False)), example)
            faces.append(Face(box, track, votes.name, None, votes.confidence, example))
        return [
            face
            if _has_best_name(face, faces)
            else face._replace(name=None, stranger=self.recognizer.stranger(row))
            for face, row in zip(faces, rows, strict=True)
        ]

    look = process  # the documented name of version 0.7

    def name(self, example: int, name: str) -> list[int]:
        """Label a face, with a few of the last views of its track; return all labelled examples.

        Raises `ValueError` if the face has another label; `FaceRecognizer.retract` removes it.
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


Onlooker = FacePipeline  # the documented name of version 0.7


def _has_best_name(face: Face, faces: list[Face]) -> bool:
    """Return whether a face has a name, and is the most confident one with it in the frame."""
    confidence = (face.confidence, -face.track)
    return face.name is not None and all(
        (other.confidence, -other.track) <= confidence for other in faces if other.name == face.name
    )
