"""Frames of several cameras, looked at one after the other in a thread of their own."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from typing import Any, TypeVar

from labelwalk.faces.haar import Detector, HaarDetector
from labelwalk.faces.image import Image
from labelwalk.faces.onlooker import Face, Onlooker
from labelwalk.faces.pictures import decoded
from labelwalk.faces.renumbering import Renumbering
from labelwalk.service.crops import pictured
from labelwalk.service.gallery import Gallery
from labelwalk.service.worker import BusyError, NoLearnerError

T = TypeVar("T")
CAMERA = re.compile(r"[A-Za-z0-9_-]{1,64}")
MOST = 16  # cameras that are followed at a time
WAITING = 8  # frames that may wait for their turn


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
