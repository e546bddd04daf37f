"""Frames of several cameras, looked at one after the other in a thread of their own."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeVar

from labelwalk.faces.absent import NoFrameError
from labelwalk.faces.crops import pictured
from labelwalk.faces.frames import Frame, Source
from labelwalk.faces.haar import Detector, HaarDetector
from labelwalk.faces.image import Image
from labelwalk.faces.onlooker import Face, Onlooker
from labelwalk.faces.opening import opened
from labelwalk.faces.people_store import Gallery, called, crops_in, representation_in
from labelwalk.faces.pictures import decoded, encoded
from labelwalk.faces.renumbering import Renumbering
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.worker import BusyError, NoLearnerError

T = TypeVar("T")
CAMERA = re.compile(r"[A-Za-z0-9_-]{1,64}")
MOST = 16  # cameras that are followed at a time
WAITING = 8  # frames that may wait for their turn
PAUSE = 5.0  # seconds before a camera that is away is looked for again
OWN = "own"  # what the camera is called among others


class Cameras:
    """Looks at frames, and does all else that concerns faces, one thing at a time.

    Where the learner was struck out, the next thing finds another that knows nobody.

    Parameters
    ----------
    gallery : Gallery
    detector : function, optional
        What finds faces; `HaarDetector` where none is given.
    """

    def __init__(self, gallery: Gallery, detector: Detector | None = None) -> None:
        self.gallery = gallery
        self._detector = detector or HaarDetector()
        self._onlookers: OrderedDict[str, Onlooker] = OrderedDict()
        self._renumbering, self._n_sweeps = Renumbering(gallery.recognizer), gallery.n_sweeps
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="faces")
        self._waiting, self._lock = 0, threading.Lock()

    def ask(self, question: Callable[[Gallery], T]) -> Future[T]:
        """Have something done with the gallery in its turn."""
        return self._in_turn(lambda: question(self.gallery))

    def look(self, camera: str, data: bytes) -> Future[dict[str, Any]]:
        """Look at a frame that was sent; the answer says who is in it.

        Parameters
        ----------
        camera : str
            Whose frame it is: faces are followed from frame to frame.
        data : bytes
            A JPEG, PNG or WebP.

        Raises
        ------
        ValueError
            It cannot be called that.
        BusyError
            Too many frames wait.
        """
        if not CAMERA.fullmatch(camera):
            raise ValueError(
                f"camera={camera[:80]!r} is not 1 to 64 letters, digits, - or _. Call it so."
            )
        with self._lock:
            if self._waiting >= WAITING:
                raise BusyError(f"{WAITING} frames wait to be looked at. Leave this one out.")
            self._waiting += 1
        answer = self._in_turn(lambda: self._look_at_sent(camera, data))
        answer.add_done_callback(self._is_done)
        return answer

    def look_at(self, camera: str, image: Image) -> dict[str, Any]:
        """Look at a frame that is at hand, when it is its turn, and say who is in it."""
        return self._in_turn(lambda: self._look(camera, image, 1.0)).result()

    def name(self, example: int, name: str) -> Future[list[int]]:
        """Say who a face is; the answer is what was taught."""

        def do(gallery: Gallery) -> list[int]:
            gallery.check_remembered(example)  # before anything is changed
            onlooker = self._who_follows(example)
            gallery.correct([example, *onlooker.followed(example)], name)
            taught = onlooker.name(example, name)
            for one in taught:
                gallery.crops.keep(one)
            return taught

        return self.ask(do)

    def close(self) -> None:
        """Do what waits."""
        self._worker.shutdown()

    def _in_turn(self, do: Callable[[], T]) -> Future[T]:
        def done() -> T:
            while True:
                if self.gallery.is_gone:
                    self._begin_anew()
                try:
                    return do()
                except NoLearnerError:
                    if not self.gallery.is_gone:  # else what was done has gone with it
                        raise

        return self._worker.submit(done)

    def _begin_anew(self) -> None:
        self.gallery.begin_anew()
        self._onlookers.clear()
        self._renumbering = Renumbering(self.gallery.recognizer)

    def _is_done(self, answer: Future[Any]) -> None:
        with self._lock:
            self._waiting -= 1

    def _look_at_sent(self, camera: str, data: bytes) -> dict[str, Any]:
        frame = decoded(data)
        return self._look(camera, frame.image, frame.scale)

    def _look(self, camera: str, image: Image, scale: float) -> dict[str, Any]:
        begun = perf_counter()
        faces = self._onlooker(camera).look(image)
        self._hold_pictures(camera, image, faces)
        self._renumbering.look()
        height, width = image.shape[:2]
        return {
            "width": round(width / scale),
            "height": round(height / scale),
            "faces": [_told(face, scale) for face in faces],
            "milliseconds": 1000.0 * (perf_counter() - begun),
        }

    def _onlooker(self, camera: str) -> Onlooker:
        if self._n_sweeps != self.gallery.n_sweeps:  # somebody is gone, and their tracks with them
            self._n_sweeps = self.gallery.n_sweeps
            self._onlookers.clear()
        if camera not in self._onlookers:
            self._onlookers[camera] = self._new_onlooker()
            if len(self._onlookers) > MOST:
                self._onlookers.popitem(last=False)
        self._onlookers.move_to_end(camera)
        return self._onlookers[camera]

    def _who_follows(self, example: int) -> Onlooker:
        following = (one for one in self._onlookers.values() if one.followed(example))
        return next(following, None) or self._new_onlooker()

    def _new_onlooker(self) -> Onlooker:
        gallery = self.gallery
        return Onlooker(
            gallery.representation, recognizer=gallery.recognizer, detector=self._detector
        )

    def _hold_pictures(self, camera: str, image: Image, faces: list[Face]) -> None:
        """Hold all, and keep the first of each track, if any are kept."""
        crops, onlooker = self.gallery.crops, self._onlookers[camera]
        for face in faces:
            crops.hold(face.example, pictured(image, face.box))
            if onlooker.followed(face.example) == [face.example]:
                crops.keep(face.example)


def _told(face: Face, scale: float) -> dict[str, Any]:
    return {
        "box": [round(side / scale) for side in face.box],
        "track": face.track,
        "name": face.name,
        "stranger": face.stranger,
        "confidence": face.confidence,
        "example": face.example,
    }


class View(NamedTuple):
    """A frame as a JPEG, and who is in it."""

    picture: bytes
    told: dict[str, Any]


class Watching:
    """Looks at a source in a thread of its own.

    A file is watched at its own pace, and once; a camera that is away is looked for again.

    Parameters
    ----------
    cameras : Cameras
    where : str
        As `labelwalk.faces.opening.opened` takes it.

    Attributes
    ----------
    name : str
        What it is called to people: without passwords.
    error : str or None
        Why there are no frames now.
    """

    def __init__(self, cameras: Cameras, where: str) -> None:
        self._cameras, self._where = cameras, where
        self._view: View | None = None
        self._end = threading.Event()
        first = opened(where)  # what cannot be opened at all is told at once
        self.name = first.name
        self.error: str | None = "there is no frame yet."
        self._thread = threading.Thread(  # whoever began it may be interrupted before they hold it
            target=self._watch, args=(first,), name="watching", daemon=True
        )
        self._thread.start()

    def view(self) -> View:
        """Return the newest frame.

        Raises
        ------
        NoFrameError
        """
        if self.error is not None or self._view is None:
            raise NoFrameError(f"{self.name}: {self.error}")
        return self._view

    def close(self) -> None:
        """Look no more."""
        self._end.set()
        self._thread.join()

    def _watch(self, source: Source | None) -> None:
        """Look at what is open, and then at what can be opened again."""
        while not self._end.is_set():
            try:
                if source is None:
                    source = opened(self._where)
                with source as now:
                    self._look_at_all(now)
                if not now.live:
                    self.error, self._view = "it has ended.", None
                    return
            except Exception as error:  # whatever it is: who looks must not see the last for ever
                self.error, self._view = str(error), None
            source = None
            self._end.wait(PAUSE)

    def _look_at_all(self, source: Source) -> None:
        begun = monotonic()
        for frame in source:
            if not source.live:
                self._end.wait(max(0.0, frame.seconds - (monotonic() - begun)))
            if self._end.is_set():
                return
            self._look_at(frame)

    def _look_at(self, frame: Frame) -> None:
        told = self._cameras.look_at(OWN, frame.image)
        self._view, self.error = View(encoded(frame.image), told), None


@dataclass(frozen=True)
class Faces:
    """Who looks, and at what without being asked."""

    cameras: Cameras
    watching: Watching | None = None

    def close(self) -> None:
        """Look no more, and do what waits."""
        if self.watching is not None:
            self.watching.close()
        self.cameras.close()


def faces_in(
    folder: str,
    store: LearnerStore,
    kind: str,
    *,
    watch: str | None = None,
    keep_crops: bool = False,
) -> Faces:
    """Return what looks at frames for the learner "faces" of a folder.

    Parameters
    ----------
    folder : str
    store : LearnerStore
        Of that folder.
    kind : str
        The representation; "auto": what the folder has, or else pixels.
    watch : str, optional
        A source that is watched without being asked.
    keep_crops : bool
        Whether pictures are written to the disk.

    Raises
    ------
    ValueError
        The folder has faces of another representation.
    SourceError
        The source cannot be opened.
    """
    wanted = (representation_in(store) or "pixels") if kind == "auto" else kind
    crops = crops_in(folder, store.cipher, are_kept=keep_crops)
    cameras = Cameras(Gallery(store, called(wanted), crops=crops))
    try:
        return Faces(cameras, None if watch is None else Watching(cameras, watch))
    except BaseException:
        cameras.close()
        raise
