"""Camera frames in the service: processed one at a time, in a separate thread."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeVar

from labelwalk.faces.capture import open_source
from labelwalk.faces.detection import Detector, HaarDetector
from labelwalk.faces.frames import Image, NoFrameError, Source
from labelwalk.faces.people_store import PeopleStore, open_people
from labelwalk.faces.pictures import decode_picture, encode_jpeg
from labelwalk.faces.pipeline import Face, FacePipeline
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.worker import BusyError, NoLearnerError

T = TypeVar("T")
CAMERA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MAX_CAMERAS = 16  # that are followed at a time
MAX_QUEUED_FRAMES = 8
RECONNECT_INTERVAL_S = 5.0
OWN_CAMERA = "own"  # name of the camera of the service among others


class CameraWorker:
    """Processes frames, and all other requests about faces, one at a time.

    If the learner was deleted, the next request creates another one.
    """

    def __init__(self, people: PeopleStore, detector: Detector | None = None) -> None:
        self.people = people
        self.own_camera: OwnCamera | None = None
        self._detector = detector or HaarDetector()
        self._pipelines: OrderedDict[str, FacePipeline] = OrderedDict()
        self._n_purges = people.n_purges
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="faces")
        self._n_queued, self._lock = 0, threading.Lock()

    def submit(self, request: Callable[[PeopleStore], T]) -> Future[T]:
        """Call a function with the people, after all earlier requests."""

        def run() -> T:
            while True:
                if self.people.is_deleted:
                    self.people.reopen()
                    self._pipelines.clear()
                try:
                    return request(self.people)
                except NoLearnerError:
                    if not self.people.is_deleted:  # else repeat it with a new learner
                        raise

        return self._executor.submit(run)

    def process_sent(self, camera: str, data: bytes) -> Future[dict[str, Any]]:
        """Process a frame that was sent, and return its faces."""
        if not CAMERA_NAME.fullmatch(camera):
            raise ValueError(
                f"Invalid camera name {camera[:80]!r}: use 1–64 letters, digits, '-' or '_'."
            )
        with self._lock:
            if self._n_queued >= MAX_QUEUED_FRAMES:
                raise BusyError(f"{MAX_QUEUED_FRAMES} frames are waiting already. Skip this frame.")
            self._n_queued += 1

        def process(people: PeopleStore) -> dict[str, Any]:
            frame = decode_picture(data)
            return self._process(camera, frame.image, frame.scale)

        answer = self.submit(process)
        answer.add_done_callback(self._count_done)
        return answer

    def process(self, camera: str, image: Image) -> dict[str, Any]:
        """Process a frame of this machine, and return its faces."""
        return self.submit(lambda people: self._process(camera, image, 1.0)).result()

    def name(self, example: int, name: str) -> Future[list[int]]:
        """Label a face; the result lists the labelled examples."""

        def label(people: PeopleStore) -> list[int]:
            people.check_remembered(example)  # before anything changes
            following = (
                pipeline for pipeline in self._pipelines.values() if pipeline.list_views(example)
            )
            pipeline = next(following, None) or self._make_pipeline()
            people.remove_other_labels([example, *pipeline.list_views(example)], name)
            examples = pipeline.name(example, name)
            for labelled in examples:
                people.crops.persist(labelled)
            return examples

        return self.submit(label)

    def close(self) -> None:
        """Stop the camera, and finish the waiting requests."""
        if self.own_camera is not None:
            self.own_camera.close()
        self._executor.shutdown()

    def _count_done(self, answer: Future[Any]) -> None:
        with self._lock:
            self._n_queued -= 1

    def _process(self, camera: str, image: Image, scale: float) -> dict[str, Any]:
        start = perf_counter()
        pipeline, crops = self._get_pipeline(camera), self.people.crops
        faces = pipeline.process(image)
        for face in faces:
            crops.cache(face.example, image, face.box)
            if pipeline.list_views(face.example) == [face.example]:  # the first of its track
                crops.persist(face.example)
        self.people.recognizer.number_strangers()
        height, width = image.shape[:2]
        return {
            "width": round(width / scale),
            "height": round(height / scale),
            "faces": [_to_json(face, scale) for face in faces],
            "milliseconds": 1000.0 * (perf_counter() - start),
        }

    def _get_pipeline(self, camera: str) -> FacePipeline:
        if self._n_purges != self.people.n_purges:  # tracks may belong to erased people
            self._n_purges = self.people.n_purges
            self._pipelines.clear()
        if camera not in self._pipelines:
            self._pipelines[camera] = self._make_pipeline()
            if len(self._pipelines) > MAX_CAMERAS:
                self._pipelines.popitem(last=False)
        self._pipelines.move_to_end(camera)
        return self._pipelines[camera]

    def _make_pipeline(self) -> FacePipeline:
        people = self.people
        return FacePipeline(
            people.representation, recognizer=people.recognizer, detector=self._detector
        )


class View(NamedTuple):
    """A frame as a JPEG, and its faces."""

    picture: bytes
    faces: dict[str, Any]


class OwnCamera:
    """A source that the service processes by itself, in a thread.

    A file is played once, at its own pace; a camera that fails is opened again and again.

    Attributes
    ----------
    name : str
        For messages, without passwords.
    error : str or None
        Why there is no current frame.
    """

    def __init__(self, worker: CameraWorker, where: str) -> None:
        self._worker, self._where = worker, where
        self._view: View | None = None
        self._is_stopped = threading.Event()
        source = open_source(where)  # raises at once if it cannot be opened
        self.name = source.name
        self.error: str | None = "no frame is available yet."
        self._thread = threading.Thread(  # daemon: an interrupt may prevent the call of `close`
            target=self._run, args=(source,), name="watching", daemon=True
        )
        self._thread.start()

    def get_view(self) -> View:
        """Return the newest frame; raise `NoFrameError` if there is none."""
        if self.error is not None or self._view is None:
            raise NoFrameError(f"{self.name}: {self.error}")
        return self._view

    def close(self) -> None:
        """Stop the thread."""
        self._is_stopped.set()
        self._thread.join()

    def _run(self, source: Source | None) -> None:
        while not self._is_stopped.is_set():
            try:
                with source or open_source(self._where) as frames:
                    self._process_all(frames)
                if not frames.live:
                    self.error, self._view = "it has ended.", None
                    return
            except Exception as error:  # after any error, the last view must not stay
                self.error, self._view = str(error), None
            source = None
            self._is_stopped.wait(RECONNECT_INTERVAL_S)

    def _process_all(self, source: Source) -> None:
        start = monotonic()
        for frame in source:
            if not source.live:
                self._is_stopped.wait(max(0.0, frame.seconds - (monotonic() - start)))
            if self._is_stopped.is_set():
                return
            faces = self._worker.process(OWN_CAMERA, frame.image)
            self._view, self.error = View(encode_jpeg(frame.image), faces), None


def start_face_service(
    folder: str,
    store: LearnerStore,
    kind: str | None,
    *,
    watch: str | None = None,
    keep_crops: bool = False,
) -> CameraWorker:
    """Start to process frames for the learner "faces" of a folder."""
    worker = CameraWorker(open_people(folder, store, kind, keep_crops=keep_crops))
    try:
        worker.own_camera = None if watch is None else OwnCamera(worker, watch)
    except BaseException:
        worker.close()
        raise
    return worker


def _to_json(face: Face, scale: float) -> dict[str, Any]:
    return face._asdict() | {"box": [round(side / scale) for side in face.box]}
