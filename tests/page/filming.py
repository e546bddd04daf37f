"""A browser whose camera shows a clip, and what a person does with the faces in it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import cv2
from playwright.sync_api import Browser, Locator, Page, expect

from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.frames import Image
from tests.page.serving import Browsers
from tests.support.waiting import wait_until

CAMERA = "--use-fake-device-for-media-stream"
ALLOWED = "--use-fake-ui-for-media-stream"  # whoever asks for a camera gets it
PART = "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: {}\r\n\r\n"
SEEN = """found => found.map(one => ({
    name: one.querySelector(".name").textContent, box: one.dataset.box.split(" ").map(Number),
}))"""
PLACE = """([x, y]) => {
    const place = document.getElementById("picture").getBoundingClientRect();
    return [place.x + x * place.width, place.y + y * place.height];
}"""


class Clip(NamedTuple):
    """A film for the camera, and the size of its frames."""

    path: Path
    width: int
    height: int


class Seen(NamedTuple):
    """A face of the frame that is shown."""

    name: str
    box: tuple[int, int, int, int]


def filmed(path: Path, frames: Iterable[Image]) -> Clip:
    """Write frames as a film that a camera of Chromium can show, over and over."""
    with path.open("wb") as file:
        for image in frames:
            file.write(cv2.imencode(".jpg", image)[1].tobytes())
    return Clip(path, image.shape[1], image.shape[0])


def made_up(folder: Path, people: int = 1, n_frames: int = 150) -> Clip:
    """Film people who were made up."""
    video = DemoVideo(people=people, n_frames=n_frames)
    return filmed(folder / f"{people}-made-up.mjpeg", (frame.image for frame in video))


def with_camera(browsers: Browsers, clip: Clip) -> Browser:
    """Return a browser that has the film before its camera."""
    return browsers.open(CAMERA, ALLOWED, f"--use-file-for-fake-video-capture={clip.path}")


@contextmanager
def on_the_net(people: int = 1) -> Iterator[str]:
    """Send synthetic people over and over, as cameras on a network do."""
    video = DemoVideo(people=people, n_frames=100)
    pictures = [cv2.imencode(".jpg", frame.image)[1].tobytes() for frame in video]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
            self.end_headers()
            with suppress(OSError):  # who looked has left
                for picture in cycle(pictures):
                    self.wfile.write(PART.format(len(picture)).encode() + picture + b"\r\n")
                    time.sleep(1 / video.frames_per_second)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/camera.mjpg"
        finally:
            server.shutdown()
            thread.join()


def start(page: Page) -> None:
    """Start the camera, and wait for somebody to be seen."""
    page.get_by_role("button", name="Start the camera").click()
    expect(page.locator("#live-words")).to_have_text("live")
    page.locator(".face").first.wait_for()


def faces(page: Page) -> list[Seen]:
    """Who is in the frame that is shown."""
    found = page.locator(".face:not(.was-there)").evaluate_all(SEEN)
    return [Seen(one["name"], tuple(one["box"])) for one in found]


def point_at(page: Page, clip: Clip, name: str) -> Seen:
    """Click a face of that name in the picture; people click again where it went on."""

    def is_asked() -> Seen | None:
        for face in faces(page):
            x, y, width, height = face.box
            if face.name.startswith(name):
                middle = [(x + width / 2) / clip.width, (y + height / 2) / clip.height]
                page.mouse.click(*page.evaluate(PLACE, middle))
                try:
                    page.locator("#naming input").wait_for(timeout=2000)
                except Exception:
                    return None
                return face
        return None

    page.locator("#picture").scroll_into_view_if_needed()
    found: Seen = wait_until(is_asked)
    return found


def name_it(page: Page, name: str) -> None:
    """Answer who it is, and wait until the service has learned it."""
    page.locator("#naming input").fill(name)
    page.keyboard.press("Enter")
    expect(page.locator("#toasts .toast").last).to_contain_text(f"Named {name} (")
    expect(page.locator("#naming")).to_be_hidden()


def name_somebody(page: Page, clip: Clip, name: str = "Ada") -> None:
    """Start the camera, and name the face in its picture."""
    start(page)
    point_at(page, clip, "unknown")
    name_it(page, name)


def way_back(page: Page) -> Locator:
    """Return the button that takes the last name back; news that have the focus stay."""
    button = page.locator("#toasts .toast").last.get_by_role("button", name="Undo")
    button.focus()
    return button


def forget(page: Page, name: str) -> None:
    """Have somebody forgotten, by typing their name."""
    card = page.locator("#people li").filter(has_text=name)
    card.get_by_role("button", name="Erase…").click()
    sure = card.get_by_role("button", name="Erase", exact=True)
    card.get_by_role("textbox").fill(name[:-1])
    expect(sure).to_be_disabled()
    card.get_by_role("textbox").fill(name)
    sure.click()
    expect(page.locator("#toasts .toast").last).to_contain_text(re.compile(rf"{name}: .+ erased"))
