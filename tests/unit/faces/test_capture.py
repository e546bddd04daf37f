"""Videos, folders, cameras and addresses."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from labelwalk.faces.capture import Capture, LiveSource, open_source
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.frames import Frame, Image, SourceError
from labelwalk.faces.pictures import encode_jpeg
from tests.unit.faces import generated
from tests.unit.faces.generated import scene
from tests.unit.faces.network_camera import CameraOnTheNet, served
from tests.unit.faces.real_videos import real

pytestmark = pytest.mark.shell


People = Callable[[str], Path]
KINDS = [".avi", ".mkv", ".mp4", ".webm"]


def all_of(where: str | Path) -> list[Frame]:
    with open_source(where) as source:
        return list(source)


def until_refused(where: str | Path) -> tuple[list[Frame], str]:
    frames: list[Frame] = []
    with pytest.raises(SourceError) as refused, open_source(where) as source:
        frames.extend(source)
    return frames, str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_video_gives_all_its_frames(kind: str, people: People) -> None:
    with open_source(people(kind)) as source:
        assert not source.live
        assert source.n_frames == generated.FRAMES
        assert source.frames_per_second == pytest.approx(25.0)
        frames = list(source)
    assert [frame.number for frame in frames] == list(range(1, generated.FRAMES + 1))
    assert [frame.seconds for frame in frames] == pytest.approx(
        [i / 25.0 for i in range(generated.FRAMES)], abs=0.002
    )
    for frame, made in zip(frames, DemoVideo(people=2), strict=False):
        assert frame.scale == 1.0
        assert frame.image.shape == (240, 320, 3)
        assert np.abs(frame.image.astype(float) - made.image).mean() < 8.0


def test_a_real_video() -> None:
    frames = all_of(real("face_videos/david.webm"))
    assert len(frames) == 770
    assert frames[-1].seconds == pytest.approx(30.76)


def test_a_source_is_given_once_and_ends_where_it_is_closed(people: People) -> None:
    with open_source(people(".avi")) as source:
        assert [next(iter(source)).number for _ in range(3)] == [1, 2, 3]
        frames = iter(source)
        next(frames)
        source.close()
        assert list(frames) == []
        assert list(source) == []


def test_a_folder_is_sorted_as_people_count(tmp_path: Path) -> None:
    names = ["10.png", "9.tif", "a2.JPG", "a10.bmp", ".hidden.png"]
    shades = [np.full((4, 6, 3), i * 40, np.uint8) for i in range(5)]
    folder = generated.folder(tmp_path / "pictures", zip(names, shades, strict=True))
    (folder / "notes.txt").write_text("no picture")
    (folder / "deeper.png").mkdir()
    with open_source(str(folder)) as source:
        assert source.n_frames == 4
        frames = list(source)
    assert [int(frame.image[0, 0, 0]) for frame in frames] == [40, 0, 80, 120]
    assert [frame.number for frame in frames] == [1, 2, 3, 4]


@pytest.mark.slow
def test_pictures_of_8k_are_shrunk_and_say_so(tmp_path: Path) -> None:
    large = np.zeros((4320, 7680, 3), np.uint8)
    large[2160:] = 200
    folder = generated.folder(tmp_path / "pictures", [("large.bmp", large)])
    [frame] = all_of(folder)
    assert frame.image.shape == (1080, 1920, 3)
    assert (frame.image[540:] == 200).all()
    assert frame.scale == 0.25


def test_nothing_there(tmp_path: Path) -> None:
    for where in (tmp_path / "no.mp4", "", "no such\0name", "12345"):
        with pytest.raises(SourceError, match="no such file or folder"):
            open_source(where)


@pytest.mark.parametrize("where", ["77", "/dev/video77"])
def test_a_camera_that_is_not_there(where: str) -> None:
    with pytest.raises(SourceError, match=f"camera {where} does not exist"):
        open_source(where)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello " * 1000, np.random.default_rng(0).bytes(100_000), b"RIFF\xff\xff\xff\xffAVI "],
    ids=["empty", "text", "random", "a beginning alone"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_video(kind: str, content: bytes, tmp_path: Path) -> None:
    path = generated.damaged(tmp_path / f"film{kind}", content)
    with pytest.raises(SourceError, match=f"film{kind} is not a readable video"):
        open_source(path)


@pytest.mark.parametrize(
    "content",
    [
        b"5\n",
        b"0.25 17.5\n" * 2000,
        b"frame,x,y,w,h,name\n" + b"1,2,3,4,5,Ada\n" * 400,
        b"\x1b[31ma",
    ],
    ids=["a number", "numbers", "a table", "colours"],
)
@pytest.mark.parametrize("kind", [".txt", ".csv", ".asc", ".nfo", ""])
def test_a_text_is_not_made_a_film_of_letters(kind: str, content: bytes, tmp_path: Path) -> None:
    path = generated.damaged(tmp_path / f"data{kind}", content)
    with pytest.raises(SourceError, match=f"data{kind} is not a readable video"):
        open_source(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".avi", ".webm", ".mkv"])
def test_a_video_that_is_cut_short_gives_what_it_has(
    kind: str, people: People, tmp_path: Path
) -> None:
    whole = people(kind)
    content = whole.read_bytes()
    cut = generated.damaged(tmp_path / f"cut{kind}", content[: len(content) // 2])
    frames, said = until_refused(cut)
    assert 5 < len(frames) < 45
    assert f"it ends after frame {len(frames)} of about 50" in said
    for frame, same in zip(frames[:-1], all_of(whole), strict=False):
        assert (frame.image == same.image).all()


def test_an_mp4_without_its_end_has_no_index(people: People, tmp_path: Path) -> None:
    content = people(".mp4").read_bytes()
    cut = generated.damaged(tmp_path / "cut.mp4", content[: len(content) // 2])
    with pytest.raises(SourceError, match=r"cut\.mp4 is not a readable video"):
        open_source(cut)


@pytest.mark.slow
def test_damage_in_the_middle_is_passed_over(people: People, tmp_path: Path) -> None:
    content = bytearray(people(".webm").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 400] = np.random.default_rng(0).bytes(400)
    frames = all_of(generated.damaged(tmp_path / "middle.webm", bytes(content)))
    assert len(frames) > 40


@pytest.mark.parametrize("kind", [".avi", ".m3u8"])
def test_a_file_that_names_other_places_is_not_followed(kind: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        address = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/secret.ts"
        for number, content in enumerate(
            [
                f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{address}\n#EXT-X-ENDLIST\n",
                f"ffconcat version 1.0\nfile '{address}'\n",
            ]
        ):
            path = generated.damaged(tmp_path / f"{number}{kind}", content.encode())
            with pytest.raises(SourceError, match="is not a readable video"):
                open_source(path)
        with pytest.raises(BlockingIOError):  # nobody came
            elsewhere.accept()


def test_a_video_of_no_frames(tmp_path: Path) -> None:
    path = str(tmp_path / "none.avi")
    codec = cv2.VideoWriter.fourcc(*"MJPG")
    cv2.VideoWriter(path, cv2.CAP_FFMPEG, codec, 25.0, (320, 240)).release()
    with pytest.raises(SourceError, match=r"none\.avi has no frames that can be decoded"):
        open_source(path)


def test_a_video_that_declares_absurd_pictures_is_refused_before_one_is_made(
    tmp_path: Path,
) -> None:
    path = tmp_path / "absurd.avi"
    codec = cv2.VideoWriter.fourcc(*"I420")  # raw: nothing but the header knows the size
    writer = cv2.VideoWriter(str(path), cv2.CAP_FFMPEG, codec, 25.0, (320, 240))
    writer.write(scene([1]))
    writer.release()
    size, absurd = struct.pack("<II", 320, 240), struct.pack("<II", 15_000, 15_000)
    path.write_bytes(path.read_bytes().replace(size, absurd))
    with pytest.raises(SourceError, match="15000 × 15000 pixels, more than the maximum"):
        open_source(path)


def test_a_folder_without_pictures(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no picture")
    with pytest.raises(SourceError, match="has no pictures"):
        open_source(tmp_path)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not a picture"),
        (b"\x89PNG\r\n\x1a\n", "is not a picture"),
        (generated.png_of_size(320, 240)[:-20], "is not a readable picture"),
        (generated.png_of_size(50_000, 50_000), "pixels, the maximum"),
        (generated.png_of_size(10_000, 7_000), "10000 × 7000 pixels, more than the maximum"),
    ],
    ids=["empty", "a beginning", "truncated", "a bomb", "a little too large"],
)
def test_a_folder_with_a_broken_picture(content: bytes, why: str, tmp_path: Path) -> None:
    folder = generated.folder(tmp_path / "pictures", [("1.png", scene([1])), ("3.png", scene([2]))])
    generated.damaged(folder / "2.png", content)
    frames, said = until_refused(folder)
    assert len(frames) == 1
    assert "2.png" in said
    assert why in said
    assert said.endswith("This file follows frame 1.")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is closed to root")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = generated.damaged(tmp_path / "film.avi", b"x")
    path.chmod(0)
    with pytest.raises(SourceError, match="cannot be read by this user"):
        open_source(path)


def test_nothing_is_printed_about_damage(people: People, tmp_path: Path) -> None:
    content = people(".webm").read_bytes()
    damaged = bytearray(content[: len(content) * 3 // 4])
    damaged[3000:6000] = np.random.default_rng(0).bytes(3000)
    paths: list[str | Path] = [
        generated.damaged(tmp_path / "damaged.webm", bytes(damaged)),
        generated.damaged(tmp_path / "random.avi", np.random.default_rng(0).bytes(10_000)),
        "/dev/video77",
        "77",
        "rtsp://127.0.0.1:9/nobody",
    ]
    script = """
import sys
from labelwalk.faces.frames import SourceError
from labelwalk.faces.capture import open_source
from labelwalk.faces.drawing import VideoFile

for path in sys.argv[2:]:
    try:
        with open_source(path) as source:
            list(source)
    except SourceError:
        pass
VideoFile(sys.argv[1], 25.0, (320, 240)).close()
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "out.webm", *paths],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def grey(number: int) -> bytes:
    """A picture that is as many shades of grey bright."""
    return encode_jpeg(np.full((48, 64, 3), number, np.uint8))


def test_a_slow_reader_gets_the_newest_frame_and_hears_of_the_end() -> None:
    camera = CameraOnTheNet(grey)
    starter = threading.Thread(target=camera.tell, args=(20,))  # opening waits for the first
    with served(camera) as address:
        starter.start()
        with open_source(address) as source:
            assert source.live
            assert source.n_frames is None
            frames = iter(source)
            first = next(frames)
            starter.join()
            camera.tell(100)
            while (frame := next(frames)).number < 110:
                assert frame.number > first.number
            seen = [frame]
            camera.unplug()
            with pytest.raises(SourceError, match=r"stopped after frame 1[12]"):
                seen.extend(frames)
    assert seen[-1].number <= 120
    for frame in seen:
        assert abs(float(frame.image.mean()) - frame.number) < 3
        assert frame.image.shape == (48, 64, 3)
    assert all(a.seconds <= b.seconds for a, b in pairwise(seen))


def test_nothing_is_kept_for_a_reader_who_does_not_come() -> None:
    camera = CameraOnTheNet(grey)
    starter = threading.Thread(target=camera.tell, args=(200,))
    with served(camera) as address:
        starter.start()
        with open_source(address) as source:
            starter.join()
            camera.unplug()
            [reader] = [one for one in threading.enumerate() if one.name == "newest frame"]
            reader.join(30)  # it has taken all there was, and nobody has asked
            numbers: list[int] = []
            with pytest.raises(SourceError):
                numbers.extend(frame.number for frame in source)
    [number] = numbers
    assert number > 190


class SilentCamera(Capture):
    """Gives one frame; the next is not there before it is unplugged, however long one waits."""

    frames_per_second = None

    def __init__(self) -> None:
        self.name, self.n_asked = "a silent camera", 0
        self.unplugged, self.closed = threading.Event(), threading.Event()

    def read(self) -> Image | None:
        self.n_asked += 1
        if self.n_asked == 1:
            return np.zeros((48, 64, 3), np.uint8)
        self.unplugged.wait()
        return None

    def close(self) -> None:
        self.closed.set()


def test_closing_ends_whoever_waits() -> None:
    camera, came = SilentCamera(), threading.Event()
    source = LiveSource(camera)

    def look() -> None:
        for _ in source:
            came.set()

    waiting, closing = threading.Thread(target=look), threading.Thread(target=source.close)
    waiting.start()
    assert came.wait(30)
    closing.start()
    waiting.join(30)
    assert not waiting.is_alive()
    assert not camera.closed.is_set()  # the frame that is being read has not come
    camera.unplugged.set()
    closing.join(30)
    assert not closing.is_alive()
    assert camera.closed.is_set()


@pytest.mark.slow
def test_an_address_that_knows_its_end_is_a_video(people: Callable[[str], Path]) -> None:
    content = people(".avi").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with open_source(f"http://127.0.0.1:{server.server_port}/people.avi") as source:
                assert not source.live
                assert len(list(source)) == source.n_frames == 50
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("scheme", ["rtsp", "http"])
def test_nobody_answers_and_no_password_is_told(scheme: str) -> None:
    with pytest.raises(SourceError) as refused:
        open_source(f"{scheme}://me:secret@127.0.0.1:9/stream?token=secret")
    said = str(refused.value)
    assert said.startswith(f"{scheme}://127.0.0.1:9/stream does not return a video")
    assert "secret" not in said
