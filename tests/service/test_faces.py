"""Faces in the service: named, kept over kill -9, and forgotten to the last byte."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from labelwalk.cli.serve import serve
from labelwalk.faces.camera_worker import MAX_QUEUED_FRAMES, CameraWorker, start_face_service
from labelwalk.faces.commands import Kind
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.detection import HaarDetector
from labelwalk.faces.frames import Box, Image
from labelwalk.faces.people_store import CropStore, DurableLearner, PeopleStore
from labelwalk.faces.pictures import decode_picture, encode_jpeg
from labelwalk.faces.profiles import PIXELS, VECTORS
from labelwalk.faces.recognizer import FaceRecognizer, LearnerHandle
from labelwalk.faces.representations import Pixels, Representation
from labelwalk.service.erasure import CleanupError
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.worker import BusyError, NoLearnerError
from tests.service.asking import TOKENS, Asking
from tests.service.test_server import ENVIRONMENT, free_port, served
from tests.support.waiting import wait_until
from tests.unit.faces import generated
from tests.unit.faces.generated import scene
from tests.unit.faces.people import look_alike, views

pytestmark = [pytest.mark.shell, pytest.mark.slow]

JPEG = {"content-type": "image/jpeg"}
PIECE = 64  # bytes of a vector: SQLite lays long ones over several pages


class Looking:
    """A service that looks at the frames of a video."""

    def __init__(self, folder: Path, store: LearnerStore, **options: Any) -> None:
        self.folder = folder
        self.faces = start_face_service(str(folder), store, "pixels", **options)
        self.ask = Asking(store, self.faces)
        self._frames = iter(DemoVideo(people=2, n_frames=400))

    @property
    def gallery(self) -> PeopleStore:
        return self.faces.people

    def __call__(self, n: int) -> list[dict[str, Any]]:
        """Send n more frames, and return the faces of the last."""
        for _ in range(n):
            told = self.send(encode_jpeg(next(self._frames).image))
        found: list[dict[str, Any]] = told["faces"]
        return found

    def send(self, picture: bytes) -> dict[str, Any]:
        answer = self.ask("POST", "/api/faces/frames?camera=door", content=picture, headers=JPEG)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def done(self, what: str, **said: Any) -> Any:
        answer = self.ask("POST", f"/api/faces/{what}", json=said)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def asked(self, what: str = "") -> Any:
        return self.ask("GET", f"/api/faces{what}", TOKENS.read).json()


@pytest.fixture
def looking(store: LearnerStore, tmp_path: Path) -> Iterator[Looking]:
    one = Looking(tmp_path / "kept", store)
    yield one
    one.faces.close()


def people_of(store: LearnerStore, representation: Representation) -> PeopleStore:
    """Return people without stored pictures."""
    return PeopleStore(store, representation, CropStore("no pictures", are_kept=False))


def files_with(folder: Path, needle: bytes) -> list[str]:
    return [
        str(path) for path in folder.rglob("*") if path.is_file() and needle in path.read_bytes()
    ]


def a_vector(looking: Looking, example: int) -> bytes:
    """Return a piece of the vector of an example, as it is written."""
    kept = looking.gallery.managed.learner.remembered
    vector = bytes(kept.row[np.flatnonzero(kept.id == example)[0]].astype("<f8").tobytes())
    pieces = [vector[i : i + PIECE] for i in range(0, len(vector), PIECE)]
    return next(piece for piece in pieces if files_with(looking.folder, piece))


def test_a_name_follows_a_face_and_a_stranger_gets_a_number(looking: Looking) -> None:
    (face,) = looking(20)
    assert (face["name"], face["stranger"]) == (None, 1)
    taught = looking.done("name", example=face["example"], name=" Ada ")
    assert taught["name"] == "Ada"
    assert taught["examples"][0] == face["example"]
    assert len(taught["examples"]) == 4
    for _ in range(4):
        (face,) = looking(10)
        assert face["name"] == "Ada"
        assert face["confidence"] > 0.5
    (other,) = looking(40)
    assert (other["name"], other["stranger"]) == (None, 2)
    everybody = looking.asked()
    (ada,), (stranger,) = everybody["people"], everybody["strangers"]
    assert (ada["name"], ada["taught"], stranger["number"]) == ("Ada", 4, 2)
    assert everybody["representation"] == "pixels 96"
    for example in (*ada["views"], *stranger["views"]):
        answer = looking.ask("GET", f"/api/faces/pictures/{example}")
        assert answer.headers["content-type"] == "image/jpeg"
        assert min(decode_picture(answer.content).image.shape[:2]) > 30


def test_a_name_is_corrected_and_taken_back(looking: Looking) -> None:
    (face,) = looking(20)
    looking.done("name", example=face["example"], name="Eda")
    (face,) = looking(5)
    taught = looking.done("name", example=face["example"], name="Ada")
    assert [one["name"] for one in looking.asked()["people"] if one["taught"]] == ["Ada"]
    assert looking.done("undo", examples=taught["examples"])["undone"] == 4
    assert not any(one["taught"] for one in looking.asked()["people"])
    again = looking.ask("POST", "/api/faces/undo", json={"examples": taught["examples"]})
    assert again.status_code == 422
    assert "no longer have a name" in again.json()["error"]


def test_pictures_of_an_encrypted_folder_are_locked(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    store = LearnerStore(str(folder), passphrase="between us")
    looking = Looking(folder, store, keep_crops=True)
    (face,) = looking(10)
    looking.done("name", example=face["example"], name="Adalbert")
    picture = looking.ask("GET", f"/api/faces/pictures/{face['example']}").content
    looking.faces.close()
    store.close()
    crops = [path.read_bytes() for path in (folder / "crops").iterdir()]
    assert len(crops) >= 4
    for needle in (b"Adalbert", b"JFIF", picture[-PIECE:]):
        assert files_with(folder, needle) == []
    again = LearnerStore(str(folder), passphrase="between us")
    looking = Looking(folder, again, keep_crops=True)
    assert looking.ask("GET", f"/api/faces/pictures/{face['example']}").content == picture
    assert looking.asked()["people"][0]["name"] == "Adalbert"
    looking.faces.close()
    again.close()


@pytest.mark.parametrize("keep_crops", [False, True])
def test_who_is_forgotten_is_gone_from_every_file(
    store: LearnerStore, tmp_path: Path, keep_crops: bool
) -> None:
    looking = Looking(tmp_path / "kept", store, keep_crops=keep_crops)
    (face,) = looking(20)
    looking.done("name", example=face["example"], name="Adalbert")
    (later,) = looking(20)
    (_, *_) = looking(110)
    taught, adapted = a_vector(looking, face["example"]), a_vector(looking, later["example"])
    store.back_up()
    assert files_with(looking.folder, b"Adalbert")
    crop = looking.folder / "crops" / f"{face['example']}.jpg"
    assert crop.exists() == keep_crops
    before = looking.asked()["strangers"]

    gone = looking.done("forget", name="Adalbert")
    assert gone["erased"] >= 60
    assert gone["older"] is False
    for needle in (b"Adalbert", taught, adapted):
        assert files_with(looking.folder, needle) == []
    assert not crop.exists()
    assert looking.asked()["people"] == []
    assert [one["number"] for one in looking.asked()["strangers"]] == [
        one["number"] for one in before
    ]
    assert looking.ask("POST", "/api/faces/forget", json={"name": "Adalbert"}).status_code == 404
    looking.done("forget", stranger=before[0]["number"])
    assert looking.asked()["strangers"] == []
    assert looking.gallery.managed.learner.n_vertices == 0
    if keep_crops:
        assert list((looking.folder / "crops").iterdir()) == []
    looking.faces.close()


def test_a_name_drawn_from_vectors_alone_has_a_picture(looking: Looking) -> None:
    """Crops in memory are gone after a restart: what is kept is what can be drawn."""
    (face,) = looking(20)
    seen = looking.ask("GET", f"/api/faces/pictures/{face['example']}").content
    looking.gallery.crops.purge([], 10**9)
    drawn = looking.ask("GET", f"/api/faces/pictures/{face['example']}").content
    assert drawn != seen
    alike = np.corrcoef(_small(seen, margin=0.25), _small(drawn, margin=0.0))[0, 1]
    assert alike > 0.8
    assert looking.ask("GET", "/api/faces/pictures/99999").status_code == 404


def _small(picture: bytes, margin: float) -> Any:
    image = decode_picture(picture).image
    edge = round(margin / (1 + 2 * margin) * len(image))
    middle = image[edge : len(image) - edge, edge : len(image) - edge]
    vector: Any = Pixels(32)(np.ascontiguousarray(middle))
    return vector


def test_the_sink_goes_over_the_cliff_with_a_warning(store: LearnerStore) -> None:
    number = store.create("faces", VECTORS.learner()).result()
    recognizer = FaceRecognizer(VECTORS, handle=DurableLearner(store, number))
    recognizer.teach(views(4, 1), ["ada"] * 4)
    for who in (1, 2, 3):
        recognizer.observe(views(60, who))
    recognizer.observe(look_alike(views(60, 1), views(60, 2)))
    found = recognizer.survey()
    assert found is not None
    assert found.cliff is not None
    assert "strangers would get names" in str(recognizer.set_sink(found.cliff / 2))
    assert recognizer.automatic is False
    assert recognizer.set_sink("auto") is None
    assert recognizer.automatic is True


def test_the_sink_is_set_and_found(looking: Looking) -> None:
    looking(1)
    told = looking.asked("/sink")
    assert (told["automatic"], told["sinks"], told["cliff"]) == (True, [], None)
    told = looking.done("sink", sink=1e-5)
    assert (told["sink"], told["automatic"], told["warning"]) == (1e-5, False, None)
    assert looking.done("sink", sink="auto")["automatic"] is True
    wrong = looking.ask("POST", "/api/faces/sink", json={"sink": -1.0})
    assert wrong.status_code == 422
    assert "sink=-1.0" in wrong.json()["error"]
    assert looking.asked("/sink")["automatic"] is True


def test_kept_and_at_hand_are_the_same(store: LearnerStore) -> None:
    number = store.create("faces", VECTORS.learner()).result()
    kept = FaceRecognizer(VECTORS, handle=DurableLearner(store, number))
    at_hand = FaceRecognizer(VECTORS, handle=LearnerHandle(VECTORS.learner()))
    said = []
    for one in (kept, at_hand):
        one.teach(views(4, 1), ["ada"] * 4)
        seen = one.observe(np.concatenate([views(90, 1), views(90, 2)]))
        one.name(int(seen.ids[120]), "ben")
        one.retract(int(seen.ids[120]))
        said.append((one.learner.digest(), one.strangers(), one.known(), one.people, one.sink))
    assert said[0] == said[1]


def test_numbers_and_names_outlive_kill(tmp_path: Path) -> None:
    folder, options = tmp_path / "kept", ["--faces=pixels"]
    frames = [encode_jpeg(frame.image) for frame in DemoVideo(people=2, n_frames=100)]
    with served(folder, options=options) as one:
        for i, frame in enumerate(frames):
            told = one.http.post("/api/faces/frames?camera=a", content=frame).json()
            if i == 20:
                named = {"example": told["faces"][0]["example"], "name": "Ada"}
                assert one.http.post("/api/faces/name", json=named).status_code == 200
        everybody = one.http.get("/api/faces").json()
        one.end(signal.SIGKILL)
    with served(folder, options=options) as one:
        assert one.http.get("/api/faces").json() == everybody
        assert len(everybody["people"]) == len(everybody["strangers"]) == 1
        one.end(signal.SIGTERM)
    command = [sys.executable, "-m", "labelwalk", "serve", str(folder), "--faces=dlib"]
    command.append(f"--port={free_port()}")
    failed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert failed.returncode == 2
    assert "are stored as pixels 96" in failed.stderr


def test_serve_has_the_choices_of_the_faces_commands() -> None:
    assert get_type_hints(serve)["faces"] == Kind | None


def test_without_faces(store: LearnerStore) -> None:
    ask = Asking(store)
    assert ask("GET", "/api/faces").json()["on"] is False
    for method, path in (
        ("GET", "/view"),
        ("GET", "/sink"),
        ("GET", "/pictures/1"),
        ("POST", "/frames?camera=a"),
    ):
        answer = ask(method, f"/api/faces{path}")
        assert answer.status_code == 404
        assert "--faces" in answer.json()["error"]


def test_pictures_that_are_none_and_too_large_ones(looking: Looking) -> None:
    (face,) = looking(3)
    good = encode_jpeg(next(iter(DemoVideo(people=1, n_frames=1))).image)
    for picture, words in (
        (b"", "is not a picture"),
        (b"GIF89a" + bytes(100), "is not a picture"),
        (good[: len(good) // 2], "cannot be read|is not a picture|truncated"),
        (generated.png_of_size(60_000, 60_000), "more than 67108864 pixels"),
    ):
        answer = looking.ask("POST", "/api/faces/frames?camera=door", content=picture)
        assert answer.status_code == 422
        assert re.search(words, answer.json()["error"])
    assert looking.send(encode_jpeg(scene([1], 7680, 4320)))["width"] == 7680
    assert looking(1)[0]["track"] == face["track"]


def test_a_box_is_in_pixels_of_what_was_sent(looking: Looking) -> None:
    small = looking.send(encode_jpeg(scene([1], 1600, 1200)))["faces"][0]["box"]
    large = looking.send(encode_jpeg(scene([1], 6400, 4800)))["faces"][0]["box"]
    assert np.allclose(np.array(large) / 4.0, small, atol=40)


def test_fifty_faces_and_none(store: LearnerStore) -> None:
    cameras = CameraWorker(people_of(store, Pixels(32)), detector=HaarDetector(smallest=40))
    crowd = encode_jpeg(scene(list(range(50)), 1920, 1080))
    for _ in range(3):
        faces = cameras.process_sent("a", crowd).result()["faces"]
        assert len(faces) >= 45
        assert {face["track"] for face in faces} == set(range(1, len(faces) + 1))
    assert cameras.process_sent("a", encode_jpeg(scene([]))).result()["faces"] == []
    cameras.close()


@pytest.mark.parametrize("camera", ["", "a b", "../x", "ä", "x" * 65])
def test_cameras_have_plain_names(looking: Looking, camera: str) -> None:
    answer = looking.ask("POST", "/api/faces/frames", params={"camera": camera}, content=b"")
    assert answer.status_code == 422
    assert "camera" in answer.json()["error"]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "\ud800"])
def test_names_can_be_read(looking: Looking, name: str) -> None:
    (face,) = looking(1)
    body = json.dumps({"example": face["example"], "name": name})
    sent = {"content-type": "application/json"}
    answer = looking.ask("POST", "/api/faces/name", content=body, headers=sent)
    assert answer.status_code in (400, 422)
    assert looking.asked()["people"] == []


def test_too_many_frames_are_turned_away(store: LearnerStore) -> None:
    go_on = threading.Event()

    def slow(image: Image) -> list[Box]:
        go_on.wait()
        return []

    cameras = CameraWorker(people_of(store, Pixels(32)), detector=slow)
    frame = encode_jpeg(scene([]))
    waiting = [cameras.process_sent("a", frame) for _ in range(MAX_QUEUED_FRAMES)]
    with pytest.raises(BusyError, match="Skip this frame"):
        cameras.process_sent("a", frame)
    go_on.set()
    assert all(one.result()["faces"] == [] for one in waiting)
    assert cameras.process_sent("a", frame).result()["faces"] == []
    cameras.close()


def test_a_camera_of_its_own(store: LearnerStore, tmp_path: Path) -> None:
    video = generated.video(tmp_path / "people.mp4", n_frames=12)
    looking = Looking(tmp_path / "kept", store, watch=str(video))
    wait_until(lambda: looking.asked()["source"]["error"] is None)
    wait_until(lambda: looking.asked()["source"]["error"] == "it has ended.")
    answer = looking.ask("GET", "/api/faces/view")
    assert answer.status_code == 503
    assert "people.mp4: it has ended." in answer.json()["error"]
    assert looking.gallery.managed.next_example_id >= 10
    looking.faces.close()


def test_the_view_of_its_own_camera(store: LearnerStore, tmp_path: Path) -> None:
    video = generated.video(tmp_path / "people.mp4", n_frames=200)
    looking = Looking(tmp_path / "kept", store, watch=str(video))
    wait_until(lambda: looking.asked()["source"]["error"] is None)
    answer = looking.ask("GET", "/api/faces/view")
    assert answer.status_code == 200
    assert decode_picture(answer.content).image.shape == (240, 320, 3)
    assert '"faces"' in answer.headers["x-labelwalk-faces"]
    looking.faces.close()


def test_a_source_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "labelwalk", "serve", str(tmp_path / "kept")]
    command += [f"--port={free_port()}", "--faces=pixels", "--watch=nowhere.mp4"]
    failed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "nowhere.mp4: no such file or folder." in failed.stderr
    alone = subprocess.run(
        [*command[:-2], "--keep-crops"], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert alone.returncode == 2
    assert "require --faces" in alone.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_it_serves_ends_it(number: int, tmp_path: Path) -> None:
    video = generated.video(tmp_path / "people.avi", n_frames=400)
    command = [sys.executable, "-m", "labelwalk", "serve", str(tmp_path / "kept")]
    command += ["--faces=pixels-32", f"--watch={video}", f"--port={free_port()}"]
    with subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert any(line.startswith("Faces: ") for line in process.stderr)
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode in (0, 130, -signal.SIGTERM)  # it has come so far, or not
    assert "Traceback" not in said
    LearnerStore(str(tmp_path / "kept")).close()


def test_pictures_that_were_left_behind_are_swept_away(store: LearnerStore, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    os.makedirs(folder / "crops")
    for name in ("7.jpg", "3.part"):
        (folder / "crops" / name).write_bytes(b"left")
    looking = Looking(folder, store, keep_crops=True)
    assert list((folder / "crops").iterdir()) == []
    looking.faces.close()


def test_a_learner_for_other_vectors_is_not_taken_over(store: LearnerStore) -> None:
    store.create("faces", VECTORS.learner()).result()
    with pytest.raises(ValueError, match="has different settings than these faces require"):
        people_of(store, Pixels(32))


def test_a_learner_that_was_brought_here_is_taken_over(store: LearnerStore) -> None:
    store.create("faces", PIXELS.learner()).result()
    assert people_of(store, Pixels(32)).managed.notes["representation"] == "pixels 32"


def a_gallery(store: LearnerStore) -> PeopleStore:
    """Return one whose vectors are made up: those of people who are far from each other."""
    return people_of(store, MadeUp())


class MadeUp:
    """Vectors that a test brings."""

    name, profile = "made up", VECTORS

    def __call__(self, image: Image) -> Any:
        raise AssertionError


def test_views_named_otherwise_stay(store: LearnerStore) -> None:
    gallery = a_gallery(store)
    recognizer = gallery.recognizer
    recognizer.teach(views(4, 1), ["ada"] * 4)
    ids = recognizer.observe(views(30, 1)).ids
    for example in ids[10:13].tolist():
        recognizer.name(example, "ben")  # who looks just like her
    gallery.forget("ada")
    (ben,) = recognizer.known()
    assert (ben.name, ben.taught) == ("ben", 3)


def test_what_came_before_the_events_that_are_kept_is_said(tmp_path: Path) -> None:
    folder = str(tmp_path / "kept")
    store = LearnerStore(folder, snapshot_every=20, retain=0.0)
    gallery = a_gallery(store)
    for row in views(60, 1):
        gallery.recognizer.observe(row[None])
    wait_until(lambda: store._journal.reader.read_anchor().sequence > 0)
    example = int(gallery.recognizer.observe(views(1, 1)).ids[0])
    store.back_up()
    gallery.recognizer.name(example, "ada")
    gone = gallery.forget("ada")
    assert gone.older is True
    gallery.recognizer.observe(views(15, 2))
    known, new = gallery.recognizer.strangers()
    assert known.examples > 15 >= new.examples
    assert gallery.forget(new.number).older is False
    store.close()


def test_other_ways_of_erasing_take_the_pictures_too(store: LearnerStore, tmp_path: Path) -> None:
    looking = Looking(tmp_path / "kept", store, keep_crops=True)
    (face,) = looking(10)
    looking.done("name", example=face["example"], name="Ada")
    crops = looking.folder / "crops"
    assert len(list(crops.iterdir())) >= 4
    answer = looking.ask("POST", "/api/learners/faces/forget", json={"label": "Ada"})
    assert answer.status_code == 200
    assert not (crops / f"{face['example']}.jpg").exists()
    assert looking.ask("GET", f"/api/faces/pictures/{face['example']}").status_code == 404
    assert looking.ask("DELETE", "/api/learners/faces").status_code == 204
    assert list(crops.iterdir()) == []
    looking.faces.close()


def test_who_is_struck_out_is_gone_and_faces_begin_anew(
    store: LearnerStore, tmp_path: Path
) -> None:
    looking = Looking(tmp_path / "kept", store, keep_crops=True)
    (face,) = looking(20)
    looking.done("name", example=face["example"], name="Ada")
    assert looking.ask("DELETE", "/api/learners/faces").status_code == 204
    everybody = looking.asked()
    assert (everybody["people"], everybody["strangers"], everybody["examples"]) == ([], [], 0)
    assert looking.ask("GET", f"/api/faces/pictures/{face['example']}").status_code == 404
    named = {"example": face["example"], "name": "Ben"}
    assert looking.ask("POST", "/api/faces/name", json=named).status_code == 422
    assert looking.ask("DELETE", "/api/learners/faces").status_code == 204
    (face,) = looking(20)  # a frame is the first that comes
    assert (face["name"], face["stranger"], face["track"]) == (None, 1, 1)
    looking.done("name", example=face["example"], name="Eda")
    assert [one["name"] for one in looking.asked()["people"]] == ["Eda"]
    assert looking(5)[0]["name"] == "Eda"
    looking.faces.close()


def test_a_frame_under_way_is_looked_at_anew_when_all_are_struck_out(store: LearnerStore) -> None:
    struck = iter([False, True, False])

    def detector(image: Image) -> list[Box]:
        if next(struck):
            store.delete(store.find_id("faces")).result()
        return [Box(100, 60, 80, 80)]

    cameras = CameraWorker(people_of(store, Pixels(32)), detector=detector)
    frame = encode_jpeg(scene([1]))
    for _ in range(2):
        (face,) = cameras.process_sent("a", frame).result()["faces"]
        assert (face["example"], face["track"]) == (0, 1)
    cameras.close()


def test_a_request_about_another_learner_fails_and_nothing_begins_anew(
    store: LearnerStore, tmp_path: Path
) -> None:
    looking = Looking(tmp_path / "kept", store, keep_crops=True)
    (face,) = looking(10)
    crops, calls = list((looking.folder / "crops").iterdir()), list[PeopleStore]()

    def request(people: PeopleStore) -> None:
        calls.append(people)
        store.find_id("somebody else")

    with pytest.raises(NoLearnerError, match="somebody else"):
        looking.faces.submit(request).result()
    assert len(calls) == 1
    assert list((looking.folder / "crops").iterdir()) == crops
    assert looking(1)[0]["track"] == face["track"]
    looking.faces.close()


def test_pictures_are_swept_away_by_several_at_a_time(tmp_path: Path) -> None:
    crops = [CropStore(str(tmp_path)) for _ in range(4)]
    for _ in range(5):
        for example in range(200):
            (tmp_path / f"{example}.jpg").write_bytes(b"left")
        with ThreadPoolExecutor(4) as sweepers:
            for swept in [sweepers.submit(one.purge, [], 0) for one in crops]:
                swept.result()
        assert list(tmp_path.iterdir()) == []


def test_who_takes_the_place_of_the_struck_out_is_looked_at(looking: Looking) -> None:
    looking(5)
    store = looking.gallery._store
    store.delete(store.find_id("faces")).result()
    wrong = store.create("faces", VECTORS.learner()).result()
    answer = looking.ask("GET", "/api/faces")
    assert answer.status_code == 422
    assert "has different settings than these faces require. Delete it" in answer.json()["error"]
    store.delete(wrong).result()
    brought = PIXELS.learner()
    brought.teach(np.zeros((1, 576)), ["Ada"])
    store.create("faces", brought).result()
    assert [one["name"] for one in looking.asked()["people"]] == ["Ada"]
    assert looking(1)[0]["name"] is None


def test_a_service_goes_on_when_its_faces_were_struck_out(tmp_path: Path) -> None:
    folder, options = tmp_path / "kept", ["--faces=pixels"]
    frames = [encode_jpeg(frame.image) for frame in DemoVideo(people=1, n_frames=20)]
    with served(folder, options=options) as one:
        for _ in range(2):
            for frame in frames:
                sent = one.http.post("/api/faces/frames?camera=a", content=frame)
                assert sent.status_code == 200, sent.text
            assert one.http.get("/api/faces").json()["examples"] == 20
            struck = one.http.delete("/api/learners/faces")
            assert struck.status_code == 204
        one.http.post("/api/faces/frames?camera=a", content=frames[0])
        everybody = one.http.get("/api/faces").json()
        assert everybody["examples"] == 1
        one.end(signal.SIGKILL)
    with served(folder, options=options) as one:
        assert one.http.get("/api/faces").json() == everybody
        one.end(signal.SIGTERM)


def test_what_is_not_ours_among_pictures_stays(store: LearnerStore, tmp_path: Path) -> None:
    crops = tmp_path / "kept" / "crops"
    (crops / "7.jpg").mkdir(parents=True)
    (crops / "notes.txt").write_text("mine")
    (crops / "8.jpg").write_bytes(b"left")
    with pytest.raises(CleanupError, match=r"7\.jpg cannot be deleted"):
        Looking(tmp_path / "kept", store, keep_crops=True)
    assert not (crops / "8.jpg").exists()
    assert (crops / "notes.txt").exists()


def test_a_picture_that_cannot_be_kept_does_no_harm(store: LearnerStore, tmp_path: Path) -> None:
    looking = Looking(tmp_path / "kept", store, keep_crops=True)
    (tmp_path / "kept" / "crops").rmdir()
    (face,) = looking(5)
    assert looking.done("name", example=face["example"], name="Ada")["name"] == "Ada"
    looking.faces.close()


def test_a_name_that_cannot_be_given_changes_nothing(looking: Looking) -> None:
    (face,) = looking(5)
    looking.done("name", example=face["example"], name="Ada")
    before = looking.asked()["people"]
    wrong = looking.ask("POST", "/api/faces/name", json={"example": 9999, "name": "Ben"})
    assert wrong.status_code == 422
    assert "example=9999 is no longer remembered" in wrong.json()["error"]
    assert looking.asked()["people"] == before


def test_numbers_go_on_when_their_first_views_are_gone(tmp_path: Path) -> None:
    folder, numbers = str(tmp_path / "kept"), []
    store = LearnerStore(folder)
    gallery = a_gallery(store)
    gallery.recognizer.observe(np.concatenate([views(40, 1), views(40, 2)]))
    gallery.recognizer.strangers()
    store.erase(store.find_id("faces"), examples=range(8)).result()
    for _ in range(2):
        numbers.append([one.number for one in gallery.recognizer.strangers()])
        store.close()
        store = LearnerStore(folder)
        gallery = a_gallery(store)
    assert numbers[0] == numbers[1]
    store.close()


def test_who_is_gone_has_no_number_in_memory(store: LearnerStore) -> None:
    gallery = a_gallery(store)
    gallery.recognizer.observe(views(40, 1))
    (stranger,) = gallery.recognizer.strangers()
    gallery.forget(stranger.number)
    assert gallery.recognizer.stranger(views(1, 1)[0]) is None


def test_a_name_is_the_same_however_it_is_written(looking: Looking) -> None:
    (face,) = looking(5)
    looking.done("name", example=face["example"], name="Jose\u0301")
    assert [one["name"] for one in looking.asked()["people"]] == ["Jos\u00e9"]
    looking.done("forget", name="Jose\u0301")
    assert looking.asked()["people"] == []
