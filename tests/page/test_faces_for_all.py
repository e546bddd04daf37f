"""The page of faces: axe finds nothing, a phone is wide enough, keys are enough, readers read."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.page.filming import Clip, faces, name_it, name_somebody, point_at, start
from tests.page.serving import PHONE, Serving, looking
from tests.page.test_access_for_all import Theme, violations
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.shell]

EVIL = "<img src=x onerror=window.broken=1>"
LONG = "somebodywithaverylongnamethatgoesonandonandon and never ends"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(
    filmed_browser: Browser, people: Serving, clip: Clip, theme: Theme
) -> None:
    with looking(filmed_browser, people, path="/faces", color_scheme=theme) as (page, _):
        page.locator("#start").wait_for()
        assert violations(page) == []
        start(page)
        point_at(page, clip, "unknown")
        assert violations(page) == []
        name_it(page, "Ada")
        page.locator("#people").get_by_role("button", name="Erase…").click()
        page.locator("#dial").wait_for()
        assert violations(page) == []


def test_axe_finds_nothing_where_there_is_no_camera(browser: Browser, people: Serving) -> None:
    with looking(browser, people, path="/faces") as (page, watch):
        page.locator("#start").click()
        expect(page.locator("#trouble")).not_to_be_empty()
        assert violations(page) == []
        page.context.clear_cookies()
        page.reload()
        page.locator("#gate").wait_for()
        assert violations(page) == []
        watch.wrong.clear()  # the browser itself reports the 401


def test_a_phone_is_wide_enough(filmed_browser: Browser, people: Serving, clip: Clip) -> None:
    width = "document.documentElement.scrollWidth"
    phone: Any = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    with looking(filmed_browser, people, path="/faces", **phone) as (page, _):
        start(page)
        point_at(page, clip, "unknown")
        assert page.evaluate(width) <= PHONE["width"]
        name_it(page, LONG)
        page.locator("#dial").wait_for()
        page.locator("#people").get_by_role("button", name="Erase…").click()
        assert page.evaluate(width) <= PHONE["width"]


def test_keys_are_enough(filmed_browser: Browser, people: Serving) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, _):
        page.locator("#start").wait_for()
        page.locator("#start").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#stop")).to_be_focused()
        face = page.locator(".face").first
        face.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#naming input")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#naming")).to_be_hidden()
        expect(face).to_be_focused()
        page.keyboard.press("Enter")
        page.keyboard.type("Ada")
        page.keyboard.press("Enter")
        wait_until(lambda: [one.name for one in faces(page)] == ["Ada"])
        expect(page.locator("#spoken")).to_contain_text("Ada")

        page.locator("#people").get_by_role("button", name="Erase…").focus()
        page.keyboard.press("Enter")
        page.keyboard.type("Ada")
        page.keyboard.press("Enter")
        expect(page.locator("#people li")).to_have_count(0)
        expect(page.locator("#people-title")).to_be_focused()
        page.locator("#stop").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#start")).to_be_focused()


def test_a_token_for_reading_films_nobody(
    filmed_browser: Browser, people: Serving, clip: Clip
) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, _):
        name_somebody(page, clip)
    with looking(filmed_browser, people, people.tokens["read"], path="/faces") as (page, watch):
        expect(page.locator("#people")).to_contain_text("Ada")
        expect(page.locator("#newcomer")).to_contain_text("is read-only")
        expect(page.locator("#start")).to_be_hidden()
        expect(page.get_by_role("button", name="Erase…")).to_be_hidden()
        expect(page.locator("#automatic")).to_be_disabled()
        assert {path for method, path in watch.requests if method != "GET"} == {"/api/session"}


def test_names_stay_text(filmed_browser: Browser, people: Serving, clip: Clip) -> None:
    with looking(filmed_browser, people, path="/faces") as (page, _):
        name_somebody(page, clip, EVIL)
        wait_until(lambda: [one.name for one in faces(page)] == [EVIL])
        expect(page.locator("#people")).to_contain_text(EVIL)
        point_at(page, clip, EVIL)
        expect(page.locator("#naming .choice")).to_have_text(EVIL)
        assert page.evaluate("window.broken === undefined")


def test_the_main_page_leads_here(browser: Browser, people: Serving) -> None:
    with looking(browser, people) as (page, _):
        page.get_by_role("link", name="Faces").click()
        expect(page).to_have_title("Faces · labelwalk")
        expect(page.get_by_role("button", name="Start the camera")).to_be_visible()
        page.get_by_role("link", name="All learners").click()
        expect(page.locator("#switcher")).to_have_value("faces")
