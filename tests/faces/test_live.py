"""Live sources: the newest frame and no backlog, and what is said when they end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk.faces.capture import Capture, LiveSource, open_source
from labelwalk.faces.frames import Image, SourceError
from labelwalk.faces.pictures import encode_jpeg
from tests.faces.network_camera import CameraOnTheNet, served

pytestmark = pytest.mark.shell


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
            with pytest.raises(SourceError, match=r"gives no more frames after frame 1[12]"):
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

    def disable_buffer(self) -> None:
        pass

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
    assert said.startswith(f"{scheme}://127.0.0.1:9/stream does not answer with a video")
    assert "secret" not in said
