"""The walk over the page of faces, with a film before the camera of a real browser."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from labelwalk.faces.capture import open_source
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.frames import Image
from tests.page.filming import (
    Clip,
    faces,
    filmed,
    forget,
    made_up,
    name_it,
    point_at,
    start,
    way_back,
    with_camera,
)
from tests.page.pictures import ARE_WANTED, keep
from tests.page.serving import PHONE, Browsers, Serving, looking
from tests.support.waiting import wait_until
from tests.unit.faces.real_videos import real

pytestmark = [pytest.mark.slow, pytest.mark.shell]

NAME = "Ada of the clip"
PLACES = 6  # in which the name is seen
PIECE = 64  # bytes
SOME_TIME = """new Promise(done => {
    let left = 30;
    const tick = () => (left-- ? requestAnimationFrame(tick) : done());
    tick();
})"""
COLOUR = """([x, y]) => {
    const { width, height } = document.getElementById("picture");
    const pen = document.getElementById("picture").getContext("2d");
    const [red, green, blue] = pen.getImageData(x * width, y * height, 1, 1).data;
    return "#" + [red, green, blue].map(one => one.toString(16).padStart(2, "0")).join("");
}"""
COUNTED = """() => {
    const asked = window.fetch;
    let under_way = 0;
    window.most = 0;
    window.fetch = async (path, ...more) => {
        if (!path.includes("/frames")) return asked(path, ...more);
        window.most = Math.max(window.most, ++under_way);
        return asked(path, ...more).finally(() => under_way--);
    };
}"""


def david(folder: Path) -> Clip:
    """Frames in which he has come into the light."""
    with open_source(str(real("face_videos/david.webm"))) as video:
        return filmed(folder / "david.mjpeg", (one.image for one in islice(video, 300, 450)))


@pytest.mark.parametrize("film", [made_up, david])
def test_a_name_follows_a_face_until_it_is_forgotten(
    browsers: Browsers, people: Serving, tmp_path: Path, film: Callable[[Path], Clip]
) -> None:
    clip = film(tmp_path)
    with looking(with_camera(browsers, clip), people, path="/faces") as (page, _):
        page.evaluate(COUNTED)
        start(page)
        point_at(page, clip, "unknown")
        _stands_still(page)
        name_it(page, NAME)
        undo = way_back(page)
        _follows(page)
        expect(page.locator("#people li")).to_contain_text(NAME)
        point_at(page, clip, NAME)
        _is_drawn(page, clip)
        page.keyboard.press("Escape")
        expect(page.locator("#pace")).to_contain_text("frames/s")

        undo.click()
        expect(page.locator("#toasts .toast").last).to_contain_text("Undone")
        wait_until(lambda: [face.name[:7] for face in faces(page)] == ["unknown"])

        point_at(page, clip, "unknown")
        name_it(page, NAME)
        _follows(page)
        vectors = _vectors(people)
        assert _holding(people.folder, NAME.encode())
        assert _holding(people.folder, *vectors)

        page.get_by_role("button", name="Stop").click()  # the film would show the same again
        forget(page, NAME)
        expect(page.locator("#people")).not_to_contain_text(NAME)
        assert not _holding(people.folder, NAME.encode())
        assert not _holding(people.folder, *vectors)
        wait_until(lambda: page.locator(".toast").count() == 0)
        expect(page.locator("body")).not_to_contain_text(NAME)
        assert NAME not in page.evaluate("JSON.stringify(localStorage)")
        start(page)
        wait_until(lambda: [face.name[:7] for face in faces(page)] == ["unknown"])
        assert page.evaluate("window.most") == 1


@pytest.mark.skipif(not ARE_WANTED, reason="pictures are taken on demand")
def test_pictures_of_the_documentation(browsers: Browsers, people: Serving, tmp_path: Path) -> None:
    video = DemoVideo(people=4, n_frames=720)
    clip = filmed(tmp_path / "smooth.mjpeg", (_smooth(frame.image) for frame in video))
    with looking(with_camera(browsers, clip), people, path="/faces") as (page, _):
        start(page)
        for name in ("Ada", "Ben", "Cleo"):
            point_at(page, clip, "unknown")
            name_it(page, name)
            wait_until(lambda name=name: name in [face.name for face in faces(page)])
        wait_until(lambda: people.http.get("/api/faces").json()["examples"] > 300)
        page.set_viewport_size({"width": 1440, "height": 1240})
        _keep_when(page, "faces-light.png")
        page.emulate_media(color_scheme="dark")
        point_at(page, clip, "unknown")
        keep(page.screenshot(), "faces-dark.png")
        page.keyboard.press("Escape")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(PHONE)
        _keep_when(page, "faces-phone.png")


def _smooth(image: Image) -> Image:
    """Without its noise, which takes much space in a picture."""
    return cv2.GaussianBlur(image, (0, 0), 1.0).astype(np.uint8)


def _keep_when(page: Page, name: str) -> None:
    """Keep what is seen while two are in the picture, one of them named, and no news is there."""

    def are_there() -> bool:
        named = sorted(not face.name.startswith("unknown") for face in faces(page))
        gone = page.locator(".toast, .was-there").count()
        return named == [False, True] and gone == 0

    def taken() -> bytes | None:
        picture = page.screenshot() if are_there() else None
        return picture if are_there() else None

    keep(wait_until(taken), name)


def _stands_still(page: Page) -> None:
    """See that the picture stays while it is asked who that is."""
    shown = "document.getElementById('picture').toDataURL()"
    before = page.evaluate(shown)
    page.evaluate(SOME_TIME)
    assert page.evaluate(shown) == before


def _is_drawn(page: Page, clip: Clip) -> None:
    """See that the box in the picture has the colour of the name."""
    ((_, (x, y, _, height)),) = faces(page)
    place = [x / clip.width, (y + height / 2) / clip.height]
    swatch = page.locator(".face:not(.was-there) path").get_attribute("fill")
    assert swatch == page.locator("#people li path").get_attribute("fill")
    assert page.evaluate(COLOUR, place) == swatch


def _follows(page: Page) -> None:
    """See the name go with the face from place to place, and nobody else have it."""
    places = set[Any]()

    def went_on() -> bool:
        named = [face for face in faces(page) if face.name == NAME]
        assert len(named) <= 1
        places.update(face.box for face in named)
        return len(places) >= PLACES

    wait_until(went_on)


def _vectors(people: Serving) -> list[bytes]:
    """Pieces of what was taught, as numbers of either width: files lay long rows out in pages."""
    taught = {one["example"] for one in people.asked("faces", "/taught")}
    found = people.asked("faces", "/map")["vertices"]
    rows = [
        example["row"]
        for vertex, is_taught in zip(found["id"], found["taught"], strict=True)
        if is_taught
        for example in people.asked("faces", f"/vertices/{vertex}")["examples"]
        if example["example"] in taught
    ]
    assert rows
    whole = [np.array(row, kind).tobytes() for row in rows for kind in ("<f8", "<f4")]
    return [row[at : at + PIECE] for row in whole for at in range(0, len(row), PIECE)]


def _holding(folder: Path, *traces: bytes) -> list[str]:
    """Names of the files that hold any of these bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(one in path.read_bytes() for one in traces)]
