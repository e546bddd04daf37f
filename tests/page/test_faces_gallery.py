"""People and strangers on the page of faces: named, forgotten, and how readily that is done."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.page.filming import (
    Clip,
    faces,
    made_up,
    name_it,
    name_somebody,
    on_the_net,
    point_at,
    start,
    way_back,
    with_camera,
)
from tests.page.serving import Browsers, Serving, looking
from tests.support.waiting import wait_until
from tests.unit.faces import generated
from tests.unit.faces.people import look_alike, views

pytestmark = [pytest.mark.slow, pytest.mark.shell]

APART = 0.35  # by which vectors of synthetic people are multiplied, so that pixels might be so
LONGER = 448  # numbers that pixels have more


def test_strangers_are_named_and_forgotten(
    browsers: Browsers, people: Serving, tmp_path: Path
) -> None:
    clip = made_up(tmp_path, people=2, n_frames=240)
    with looking(with_camera(browsers, clip), people, path="/faces") as (page, _):
        start(page)
        strangers = page.locator("#strangers li")
        wait_until(lambda: strangers.count() >= 2)
        page.get_by_role("button", name="Stop").click()
        first = strangers.first
        known_as = first.locator(".name").inner_text()
        expect(first.locator("img").first).to_be_visible()
        first.get_by_role("button", name="Name…").click()
        first.get_by_label("Who is it?").fill("Ada")
        page.keyboard.press("Enter")
        expect(page.locator("#toasts .toast").last).to_contain_text("Named Ada (")
        expect(page.locator("#people li")).to_contain_text("Ada")
        expect(page.locator("#people img").first).to_be_visible()
        expect(page.locator("#strangers")).not_to_contain_text(known_as)

        other = strangers.first.locator(".name").inner_text()
        strangers.first.get_by_role("button", name="Erase…").click()
        strangers.first.get_by_role("button", name="Keep").click()
        expect(strangers.first).to_contain_text(other)
        strangers.first.get_by_role("button", name="Erase…").click()
        strangers.first.get_by_role("button", name="Erase", exact=True).click()
        erased = re.compile(rf"{other}: .+ erased")
        expect(page.locator("#toasts .toast").last).to_contain_text(erased)
        expect(page.locator("#strangers")).not_to_contain_text(other)
        known = people.http.get("/api/faces").json()
        assert [one["name"] for one in known["people"]] == ["Ada"]


def test_a_name_that_nobody_has_any_more_shows_no_face(
    filmed_browser: Browser, people: Serving, clip: Clip
) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, _):
        name_somebody(page, clip)
        undo = way_back(page)
        expect(page.locator("#people img").first).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        undo.click()
        expect(page.locator("#people li")).to_contain_text("no one has that name any more")
        expect(page.locator("#people img")).to_have_count(0)
        expect(page.locator("#people .initial")).to_have_text("A")


def test_a_wrong_name_is_put_right(filmed_browser: Browser, people: Serving, clip: Clip) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, _):
        name_somebody(page, clip, "Ben")
        wait_until(lambda: [one.name for one in faces(page)] == ["Ben"])
        point_at(page, clip, "Ben")
        expect(page.locator("#naming .choice")).to_have_text("Ben")
        name_it(page, "Ada")
        wait_until(lambda: [one.name for one in faces(page)] == ["Ada"])


def test_boldness_is_set_by_hand_and_left_to_itself(
    filmed_browser: Browser, people: Serving, clip: Clip
) -> None:
    def sink() -> Any:
        return people.http.get("/api/faces/sink").raise_for_status().json()

    with looking(filmed_browser, people, path="/faces") as (page, _):
        start(page)
        expect(page.locator("#dial")).to_be_hidden()
        point_at(page, clip, "unknown")
        name_it(page, "Ada")
        page.locator("#dial").wait_for()
        page.locator("#dial").focus()
        page.keyboard.press("Home")
        expect(page.locator("#sink-words")).to_have_text("set by hand")
        expect(page.locator("#automatic")).not_to_be_checked()
        highest = sink()["sink"]
        page.keyboard.press("End")
        wait_until(lambda: sink()["sink"] < highest / 10)
        assert not sink()["automatic"]
        page.locator("#automatic").check()
        wait_until(lambda: sink()["automatic"])
        expect(page.locator("#sink-words")).to_have_text("automatic")


def test_the_cliff_is_marked_and_warned_of(browser: Browser, people: Serving) -> None:
    """Two strangers, and a face between one of them and who is named."""
    faces_of = [np.pad(APART * views(60, who), ((0, 0), (0, LONGER))) for who in (1, 2, 3)]
    between = look_alike(faces_of[0], faces_of[1])
    people.done("faces", "/teach", {"rows": faces_of[0][:4].tolist(), "labels": ["Ada"] * 4})
    everybody = np.stack(faces_of, axis=1).reshape(-1, faces_of[0].shape[1])
    people.done("faces", "/observe", {"rows": [*everybody.tolist(), between.tolist()]})
    with looking(browser, people, path="/faces") as (page, _):
        expect(page.locator("#cliff-words")).to_contain_text(
            "from there on, strangers would get names"
        )
        expect(page.locator(".staircase .edge")).to_have_count(1)
        warning = page.locator("#sink").get_by_role("status")
        expect(warning).to_be_empty()
        page.locator("#dial").focus()
        page.keyboard.press("End")
        expect(warning).to_contain_text("is too low")
        page.keyboard.press("Home")
        expect(warning).to_be_empty()


def test_what_the_service_itself_watches(browser: Browser, tmp_path: Path, clip: Clip) -> None:
    with (
        on_the_net() as camera,
        closing(Serving(tmp_path / "kept", "--faces=pixels", f"--watch={camera}")) as people,
    ):
        with looking(browser, people, path="/faces") as (page, watch):
            expect(page.locator("#source option")).to_have_count(2)
            page.locator("#source").select_option("service")
            page.get_by_role("button", name="Watch http").click()
            point_at(page, clip, "unknown")
            name_it(page, "Ada")
            wait_until(lambda: [one.name for one in faces(page)] == ["Ada"])
            assert ("POST", "/api/faces/frames") not in watch.requests
            page.locator("#source").select_option("browser")
            expect(page.locator("#trouble")).to_contain_text("No camera was found")
            watch.wrong.clear()  # the browser itself reports that there was no frame yet
        with looking(browser, people, people.tokens["read"], path="/faces") as (page, _):
            page.get_by_role("button", name="Watch http").click()
            expect(page.locator(".face").first).to_be_disabled()


def test_a_video_that_has_ended(browser: Browser, tmp_path: Path) -> None:
    video = generated.video(tmp_path / "people.mp4", n_frames=5, people=1)
    with (
        closing(Serving(tmp_path / "kept", "--faces=pixels", f"--watch={video}")) as people,
        looking(browser, people, path="/faces") as (page, watch),
    ):
        page.locator("#source").select_option("service")
        page.get_by_role("button", name=re.compile(r"Watch .*people\.mp4")).click()
        expect(page.locator("#trouble")).to_contain_text("it has ended")
        watch.wrong.clear()  # the browser itself reports the 503
