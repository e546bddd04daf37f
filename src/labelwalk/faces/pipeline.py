"""Faces in frames: detection, tracks of boxes that show one face, and votes of tracks for names."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from cv2.data import haarcascades

from labelwalk._validation import check_number, check_whole
from labelwalk.arrays import Floats
from labelwalk.errors import LabelwalkError
from labelwalk.faces import frames
from labelwalk.faces.capture import open_source
from labelwalk.faces.frames import Box, Image
from labelwalk.faces.pictures import is_picture, read_picture
from labelwalk.faces.profiles import MAJORITY, Profile
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Pixels, Representation, profile_of, vector_of

Detector: TypeAlias = Callable[[Image], Sequence[Box]]
"""A function from an image to the boxes of its faces."""

FACE_CASCADE, EYE_CASCADE = "haarcascade_frontalface_default.xml", "haarcascade_eye.xml"
MIN_SHARE = 6  # by default, faces of at least a sixth of the shorter side are found
MIN_FACE_PIXELS = 20  # a side; the cascade was trained with 24
SEARCH_SIDE_PIXELS = 480  # larger images are shrunk: else a search is slower than a camera
EYE_SHARE = 0.6  # upper part of a face that is searched for eyes
PORTRAIT_RATIO = 2.0  # a portrait has no other face of more than half the area
PORTRAIT_FRAMES = 24  # frames of a video that are searched, evenly spaced
FRAME_STEP = 12  # between two of them if the length is unknown
MAX_TAUGHT_VIEWS = 4  # of a track or a stranger, when it gets a name
VOTE_DECAY = 0.8  # weight of a view when the next one arrives
MAX_TRACK_EXAMPLES = 32  # last views of a track whose ids are stored


class NoPortraitError(LabelwalkError, ValueError):
    """An image shows no face, or none that is clearly the largest."""


@dataclass(kw_only=True, eq=False)
class HaarDetector:
    """Find faces that look at the camera with OpenCV's cascades of Haar features.

    Equal images give equal boxes, for any number of threads of OpenCV.

    Parameters
    ----------
    smallest : int, optional
        Size in pixels of the smallest faces that are found. The default is a sixth of the shorter
        side of the image, as of people at a desk; half of it also finds those across the room, and
        takes nearly twice the time. Larger images are shrunk to 480 pixels a side for the search,
        in which a face needs 20.
    step : float
        Ratio of two sizes that are tried. 1.2 is twice as fast, and finds fewer faces.
    neighbours : int
        Number of overlapping hits that make a face; fewer find more faces, and more false ones.
    eyes : bool
        Whether to drop faces without a visible eye: most false ones, and faces in profile, blurred
        or with closed eyes.
    most : int
        Maximum number of faces, largest first.

    Examples
    --------
    >>> from labelwalk.faces.demo import DemoVideo
    >>> len(HaarDetector()(DemoVideo().image(150)))
    2
    """

    smallest: int | None = None
    step: float = 1.1
    neighbours: int = 5
    eyes: bool = False
    most: int = 50

    def __post_init__(self) -> None:
        if self.smallest is not None:
            check_whole("smallest", self.smallest, "40", least=MIN_FACE_PIXELS, most=10_000)
        check_number("step", self.step, 1.01, 2.0, "1.1")
        check_whole("neighbours", self.neighbours, "5", least=1, most=100)
        check_whole("most", self.most, "50", least=1, most=1000)
        self._face_cascade = _load_cascade(FACE_CASCADE)
        self._eye_cascade = _load_cascade(EYE_CASCADE) if self.eyes else None
        self._lock = Lock()  # a cascade holds the image that it searches

    def __call__(self, image: Image) -> list[Box]:
        """Return the boxes of the faces, largest first."""
        frames.check_image(image)
        shorter = min(image.shape[:2])
        scale = min(1.0, SEARCH_SIDE_PIXELS / shorter)
        grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        if scale < 1.0:
            grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        smallest = self.smallest or max(MIN_FACE_PIXELS, shorter // MIN_SHARE)
        side = max(MIN_FACE_PIXELS, round(smallest * scale))
        with self._lock:
            rectangles = self._face_cascade.detectMultiScale(
                grey, self.step, self.neighbours, minSize=(side, side)
            )
            boxes = [Box(*map(int, rectangle)) for rectangle in rectangles]
            if self._eye_cascade is not None:
                boxes = [box for box in boxes if _has_eye(self._eye_cascade, grey, box)]
        boxes.sort(key=lambda box: (-box.area, box.y, box.x))
        return [frames.scale_box(box, 1.0 / scale) for box in boxes[: self.most]]


def _load_cascade(file: str) -> cv2.CascadeClassifier:
    path = Path(haarcascades) / file
    cascade = cv2.CascadeClassifier(str(path))
    if cascade.empty():
        raise ValueError(f"{path} is missing or damaged. Reinstall: pip install 'labelwalk[faces]'")
    return cascade


def _has_eye(cascade: cv2.CascadeClassifier, grey: np.ndarray[Any, Any], box: Box) -> bool:
    upper = grey[box.y : box.y + round(EYE_SHARE * box.height), box.x : box.x + box.width]
    return len(cascade.detectMultiScale(upper)) > 0


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
            if (overlap := frames.compute_overlap(last, box)) >= self.least
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
        """Label a face: its view, and a few of the last views of its track.

        Raises `ValueError` if the face has another label; remove that first.

        Parameters
        ----------
        example : int
        name : str

        Returns
        -------
        examples : list of int, whose labels `FaceRecognizer.retract` removes
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


def find_portrait(image: Image, detector: Detector) -> Box:
    """Return the largest face of an image, if it is clearly the largest."""
    boxes = detector(image)
    if not boxes:
        raise NoPortraitError(
            "no face was found. Use a picture with a large face that looks at the camera."
        )
    largest = max(boxes, key=lambda box: box.area)
    n = sum(PORTRAIT_RATIO * box.area > largest.area for box in boxes)
    if n > 1:
        raise NoPortraitError(
            f"{n} faces of about the same size were found. Crop the picture to one of them."
        )
    return largest


def read_portraits(
    where: str | os.PathLike[str], representation: Representation, detector: Detector
) -> list[Floats]:
    """Return the vectors of the main face of a picture, or of what `open_source` takes.

    Up to 24 frames of a video are searched, and those without a clear face are skipped. Raises
    `NoPortraitError` if there is none in any of them.
    """
    if is_picture(where):
        image = read_picture(where).image
        return [vector_of(image, find_portrait(image, detector), representation)]
    vectors: list[Floats] = []
    n_searched, next_number = 0, 1
    with open_source(where) as source:
        length = source.n_frames
        step = FRAME_STEP if length is None else max(1, length // PORTRAIT_FRAMES)
        for frame in source:
            if frame.number < next_number:
                continue
            n_searched, next_number = n_searched + 1, frame.number + step
            try:
                box = find_portrait(frame.image, detector)
                vectors.append(vector_of(frame.image, box, representation))
            except NoPortraitError as error:
                reason = error
            if n_searched == PORTRAIT_FRAMES:
                break
    if not vectors:
        raise NoPortraitError(
            f"none of {n_searched} frames shows a clear face. Last reason: {reason}"
        )
    return vectors


def read_all_portraits(
    paths: Iterable[str],
    representation: Representation,
    detector: Detector,
    report: Callable[[str], None],
) -> dict[str, list[Floats]]:
    """Return the vectors of each file with a clear face, and report why the others have none."""
    views: dict[str, list[Floats]] = {}
    for path in paths:
        try:
            views[path] = read_portraits(path, representation, detector)
        except NoPortraitError as error:
            report(f"{path}: {error}")
        except frames.SourceError as error:
            report(str(error))
    return views
