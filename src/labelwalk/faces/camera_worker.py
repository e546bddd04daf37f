"""Camera frames in the service: processed one at a time, in a separate thread."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic, perf_counter
from typing import Any, TypeVar

from labelwalk.faces.capture import open_source
from labelwalk.faces.detection import Detector, HaarDetector
from labelwalk.faces.frames import Frame, Image, NoFrameError, Source
from labelwalk.faces.people_store import PeopleStore, open_people
from labelwalk.faces.pictures import decode_picture, encode_jpeg
from labelwalk.faces.pipeline import FacePipeline
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
        self._pipelines: dict[str, FacePipeline] = {}  # by camera, the latest used one last
        self._n_purges = people.n_purges
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="faces")
        self._free_places = threading.BoundedSemaphore(MAX_QUEUED_FRAMES)

    def submit(self, request: Callable[[PeopleStore], T]) -> Future[T]:
        """Call a function with the people, after all earlier requests."""

        def run() -> T:
            while True:
                try:
                    return request(self.people)
                except NoLearnerError:
                    if not self.people.reopen():  # the request is about another learner
                        raise
                self._pipelines.clear()

        return self._executor.submit(run)

    def process_sent(self, camera: str, data: bytes) -> Future[dict[str, Any]]:
        """Process a frame that was sent, and return its faces."""
        if not CAMERA_NAME.fullmatch(camera):
            raise ValueError(
                f"Invalid camera name {camera[:80]!r}: use 1–64 letters, digits, '-' or '_'."
            )
        if not self._free_places.acquire(blocking=False):
            raise BusyError(f"{MAX_QUEUED_FRAMES} frames are waiting. Skip this frame.")
        answer = self.submit(lambda people: self._process(camera, decode_picture(data)))
        answer.add_done_callback(lambda answer: self._free_places.release())
        return answer

    def process(self, camera: str, image: Image) -> dict[str, Any]:
        """Process a frame of this machine, and return its faces."""
        return self.submit(lambda people: self._process(camera, Frame(1, 0.0, image))).result()

    def name(self, example: int, name: str) -> Future[list[int]]:
        """Label a face; the result lists the labelled examples."""

        def label(people: PeopleStore) -> list[int]:
            people.check_remembered(example)  # before anything changes
            following = (item for item in self._pipelines.values() if item.list_views(example))
            pipeline = next(following, None) or self.people.make_pipeline(self._detector)
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

    def _process(self, camera: str, frame: Frame) -> dict[str, Any]:
        start, crops, scale = perf_counter(), self.people.crops, frame.scale
        pipeline = self._get_pipeline(camera)
        faces = pipeline.process(frame.image)
        for face in faces:
            crops.cache(face.example, frame.image, face.box)
            if pipeline.list_views(face.example) == [face.example]:  # the first of its track
                crops.persist(face.example)
        self.people.recognizer.number_strangers()
        height, width = (round(side / scale) for side in frame.image.shape[:2])
        return {
            "width": width,
            "height": height,
            "faces": [
                face._asdict() | {"box": [round(side / scale) for side in face.box]}
                for face in faces
            ],
            "milliseconds": 1000.0 * (perf_counter() - start),
        }

    def _get_pipeline(self, camera: str) -> FacePipeline:
        if self._n_purges != self.people.n_purges:  # tracks may belong to erased people
            self._n_purges = self.people.n_purges
            self._pipelines.clear()
        pipeline = self._pipelines.pop(camera, None) or self.people.make_pipeline(self._detector)
        self._pipelines[camera] = pipeline
        if len(self._pipelines) > MAX_CAMERAS:
            del self._pipelines[next(iter(self._pipelines))]
        return pipeline


class OwnCamera:
    """A source that the service processes by itself, in a thread.

    A file is played once, at its own pace; a camera that fails is opened again and again.
    """

    def __init__(self, worker: CameraWorker, where: str) -> None:
        self._worker, self._where = worker, where
        self._view: tuple[bytes, dict[str, Any]] | None = None
        self._is_stopped = threading.Event()
        source = open_source(where)  # raises at once if it cannot be opened
        self.name = source.name  # for messages, without passwords
        self.error: str | None = "no frame is available yet."  # why there is no current frame
        self._thread = threading.Thread(  # daemon: an interrupt may prevent the call of `close`
            target=self._run, args=(source,), name="watching", daemon=True
        )
        self._thread.start()

    def get_view(self) -> tuple[bytes, dict[str, Any]]:
        """Return the newest frame as a JPEG and its faces; raise `NoFrameError` without one."""
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
            self._view, self.error = (encode_jpeg(frame.image), faces), None


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
    if watch is not None:  # an error leaves nothing to close: no thread has started
        worker.own_camera = OwnCamera(worker, watch)
    return worker
