"""Axe finds nothing serious, a phone is wide enough, keys are enough, and readers only read."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.page.hands import changed, click, legend, name_it, near, see_points
from tests.page.serving import PHONE, Serving, looking
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.shell]

Theme = Literal["light", "dark"]
SERIOUS = ("serious", "critical")
SETTLED = """Promise.allSettled(document.getAnimations()
    .filter(one => one.effect.getTiming().iterations === 1).map(one => one.finished))"""


def violations(page: Page) -> list[Any]:
    """What axe calls serious, once nothing moves any more."""
    page.evaluate(SETTLED)
    found: Any = Axe().run(page).response["violations"]
    return [
        (one["id"], [node["html"] + node["failureSummary"] for node in one["nodes"]])
        for one in found
        if one["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_an_empty_page(empty: Serving, browser: Browser, theme: Theme) -> None:
    with looking(browser, empty, color_scheme=theme) as (page, watch):
        page.locator("#welcome").wait_for()
        assert violations(page) == []
        page.context.clear_cookies()
        page.reload()
        page.locator("#gate").wait_for()
        assert violations(page) == []
        watch.wrong.clear()  # the browser itself reports the 401


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_a_full_page(demo: Serving, browser: Browser, theme: Theme) -> None:
    with looking(browser, demo, color_scheme=theme) as (page, _):
        see_points(page, 100)
        click(page, near(demo, "demo", -6.0, -5.0))
        name_it(page, "cloud")
        page.locator(".near li").first.wait_for()
        assert violations(page) == []
        page.locator("#panel-close").click()
        page.locator("#dial-sink").focus()
        page.keyboard.press("ArrowLeft")
        page.locator(".effect .verdict").wait_for()
        page.locator("#verdicts li").first.click()
        page.locator("#table-part summary").click()
        page.locator(".sign").first.wait_for()
        assert violations(page) == []
        page.locator("#manage").click()
        page.locator("#learners").wait_for()
        assert violations(page) == []


def test_a_phone_is_wide_enough(demo: Serving, browser: Browser) -> None:
    with looking(browser, demo, viewport=PHONE, has_touch=True, is_mobile=True) as (page, _):
        see_points(page, 100)
        page.locator(".sign").first.wait_for()
        page.locator("#verdicts li").first.wait_for()
        width = "document.documentElement.scrollWidth"
        assert page.evaluate(width) <= PHONE["width"]
        click(page, near(demo, "demo", -6.0, -5.0))
        name_it(page, "a class with a long name that goes on and on")
        page.locator("#panel-close").click()
        wait_until(lambda: len(legend(page)) == 2)
        assert page.evaluate(width) <= PHONE["width"]


def test_keys_are_enough(demo: Serving, browser: Browser) -> None:
    with looking(browser, demo) as (page, _):
        see_points(page, 100)
        page.keyboard.press("m")
        expect(page.locator("#map-spoken")).to_contain_text("no label")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.locator("#panel").wait_for()
        page.keyboard.press("n")
        page.keyboard.type("first")
        page.keyboard.press("Enter")
        assert changed(page, "first") > 0
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        expect(page.locator("#map")).to_be_focused()

        page.keyboard.press("s")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("1")
        expect(page.locator("#verdicts [aria-selected=true]")).to_contain_text("taught")
        assert len(demo.asked("demo", "/taught")) == 2
        page.keyboard.press("u")
        page.locator(".toast").filter(has_text="removed").wait_for()
        assert len(demo.asked("demo", "/taught")) == 1


def test_a_token_for_reading_changes_nothing(demo: Serving, browser: Browser) -> None:
    example = demo.asked("demo", "/recent?n=1")["verdicts"]
    wait_until(lambda: demo.asked("demo", "/recent?n=1")["verdicts"] != example)
    newest = demo.asked("demo", "/recent?n=1")["verdicts"][0]["example"]
    demo.done("demo", "/teach_later", {"example": newest, "label": "known"})
    with looking(browser, demo, demo.tokens["read"]) as (page, watch):
        see_points(page, 60)
        expect(page.locator("#reading")).to_be_visible()
        click(page, near(demo, "demo", -6.0, -5.0))
        assert page.locator(".choice:visible, [data-new-name]:visible").count() == 0
        page.keyboard.press("1")
        page.locator("#panel-close").click()
        for key in ("m", "ArrowDown", "1", "s", "ArrowDown", "1", "n", "u"):
            page.keyboard.press(key)
        page.locator("#dial-sink").focus()
        page.keyboard.press("ArrowLeft")
        page.locator(".effect .verdict").wait_for()
        expect(page.get_by_role("button", name="Apply")).to_be_hidden()
        page.locator("#manage").click()
        assert page.get_by_role("button", name="Delete").count() == 0
        posted = {path.rsplit("/", 1)[-1] for method, path in watch.requests if method != "GET"}
        assert posted == {"session", "try"}
    assert [one["label"] for one in demo.asked("demo", "/taught")] == ["known"]
