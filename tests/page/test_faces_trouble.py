"""Where there is no picture, the page says why and what to do, and the service lives on."""

from __future__ import annotations

import signal
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.filming import CAMERA, faces, start
from tests.page.serving import Browsers, Serving, looking
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.shell]

ELSEWHERE = "faces.test"  # a name that is not that of this machine
TAKEN = """() => {
    const taken = async () => { throw new DOMException("", "NotReadableError"); };
    navigator.mediaDevices.getUserMedia = taken;
}"""
HELD = """() => {
    const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
    navigator.mediaDevices.getUserMedia = async (wanted) => (window.held = await ask(wanted));
}"""
UNPLUG = """() => {
    for (const track of window.held.getTracks()) {
        track.stop();
        track.dispatchEvent(new Event("ended"));
    }
}"""
LOOK = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
IS_OFF = "window.held.getTracks().every(track => track.readyState === 'ended')"


def in_vain(page: Page, words: str) -> None:
    """Start, and read why not."""
    page.locator("#start").click()
    expect(page.locator("#trouble")).to_contain_text(words)
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def is_alive(people: Serving) -> bool:
    return bool(people.http.get("/readyz").is_success)


@pytest.mark.parametrize(
    ("flags", "words"), [((), "Connect one"), ((CAMERA,), "Allow it in the address bar")]
)
def test_no_camera_and_none_allowed(
    browsers: Browsers, people: Serving, flags: tuple[str, ...], words: str
) -> None:
    with looking(browsers.open(*flags), people, path="/faces") as (page, watch):
        for _ in range(2):
            in_vain(page, words)
        expect(page.locator("#people-title")).to_be_visible()
        assert not any(path.endswith("/frames") for _, path in watch.requests)
    assert is_alive(people)


def test_a_camera_that_another_program_has(browser: Browser, people: Serving) -> None:
    with looking(browser, people, path="/faces") as (page, _):
        page.locator("#start").wait_for()
        page.evaluate(TAKEN)
        in_vain(page, "another program")


def test_a_page_from_elsewhere_without_tls(browsers: Browsers, tmp_path: Path) -> None:
    options = "--faces=pixels", f"--allow-host={ELSEWHERE}"
    here = f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"
    with closing(Serving(tmp_path / "kept", *options)) as people:
        people.address = f"http://{ELSEWHERE}:{people.port}"
        with looking(browsers.open(here, CAMERA), people, path="/faces") as (page, _):
            in_vain(page, f"http://localhost:{people.port}")
            expect(page.locator("#trouble")).to_contain_text("--certificate and --private-key")


def test_a_camera_that_is_unplugged(filmed_browser: Browser, people: Serving) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, _):
        page.evaluate(HELD)
        start(page)
        page.evaluate(UNPLUG)
        expect(page.locator("#trouble")).to_contain_text("was disconnected")
        expect(page.locator("#nobody")).to_be_visible()
        page.get_by_role("button", name="Try again").click()
        wait_until(lambda: faces(page))
        expect(page.locator("#curtain")).to_be_hidden()


def test_nothing_is_filmed_while_nobody_looks(filmed_browser: Browser, people: Serving) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, _):
        page.evaluate(HELD)
        start(page)
        page.evaluate(LOOK, True)
        expect(page.locator("#live-words")).to_have_text("paused")
        assert page.evaluate(IS_OFF)
        page.evaluate(LOOK, False)
        expect(page.locator("#live-words")).to_have_text("live")
        wait_until(lambda: faces(page))
        page.get_by_role("button", name="Stop").click()
        assert page.evaluate(IS_OFF)


def test_a_service_that_goes_away_and_comes_back(filmed_browser: Browser, people: Serving) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, watch):
        start(page)
        watch.away = True
        people.end(signal.SIGTERM)
        expect(page.locator("#trouble")).to_contain_text("Check that it is running.")
        people.start("--faces=pixels")
        expect(page.locator("#curtain")).to_be_hidden()
        wait_until(lambda: faces(page))


def test_faces_that_are_off(browser: Browser, empty: Serving) -> None:
    with looking(browser, empty, path="/faces") as (page, _):
        expect(page.locator("#off")).to_contain_text("--faces pixels")
        expect(page.locator("#board")).to_be_hidden()
        page.goto(empty.address)
        page.locator("#welcome").wait_for()
        expect(page.locator("#to-faces")).to_be_hidden()
