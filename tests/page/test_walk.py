"""The walk of a newcomer, from the printed link to a server that was killed and started again."""

from __future__ import annotations

import signal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.hands import changed, click, colours, legend, name_it, near, see_points
from tests.page.pictures import ARE_WANTED, keep
from tests.page.serving import DESK, PHONE, Serving, Watch
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.shell]

CLOUD, SPOT, MOON = (-6.0, -5.0), (6.0, -5.0), (-7.0, 5.0)  # where they lie in the demo
OTHERS = 10  # at least, that a click names


def test_the_walk_of_a_newcomer(demo: Serving, browser: Browser) -> None:
    page = browser.new_page(viewport=DESK)
    watch = Watch(page, demo.address)
    page.set_default_timeout(120_000)
    page.goto(demo.link)
    see_points(page, 100)
    assert "token" not in page.url
    expect(page.locator("#verdicts li").first).to_be_visible()
    assert len(colours(page)) == 1

    _teach_two(page, demo)
    _apply_a_dial(page, demo)
    page.reload()
    see_points(page, 100)
    _is_as_left(page, demo)
    _survives(page, demo, watch)
    assert watch.wrong == []
    if ARE_WANTED:
        demo.end()
        demo.start("--demo")
        page.reload()
        _take_pictures(page, demo)
    page.close()


def _teach_two(page: Page, demo: Serving) -> None:
    click(page, near(demo, "demo", *CLOUD))
    assert name_it(page, "cloud") >= OTHERS
    wait_until(lambda: max(colours(page).values()) >= OTHERS and len(colours(page)) == 2)
    click(page, near(demo, "demo", *SPOT))
    assert name_it(page, "spot") >= OTHERS
    wait_until(lambda: len(colours(page)) == 3)
    assert min(legend(page)["cloud"], legend(page)["spot"]) >= OTHERS

    page.locator("#toasts .toast").filter(has_text="spot").get_by_role(
        "button", name="Undo"
    ).click()
    assert changed(page, "removed") >= OTHERS
    assert legend(page)["spot"] <= 1
    assert [one["label"] for one in demo.asked("demo", "/taught")] == ["cloud"]
    page.locator("#panel-close").click()


def _apply_a_dial(page: Page, demo: Serving) -> None:
    before = demo.asked("demo")["settings"]["sink"]
    page.locator("#dial-sink").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(page.locator(".effect .verdict")).to_contain_text("answers")
    page.get_by_role("button", name="Apply").click()
    page.locator("#toasts .toast").filter(has_text="settings were changed").wait_for()
    assert demo.asked("demo")["settings"]["sink"] == pytest.approx(10 * before)


def _is_as_left(page: Page, demo: Serving) -> None:
    wait_until(lambda: legend(page).get("cloud", 0) >= OTHERS)
    assert legend(page)["spot"] <= 1
    expect(page.locator("#dial-sink")).to_have_js_property("value", "3")
    assert [one["label"] for one in demo.asked("demo", "/taught")] == ["cloud"]


def _survives(page: Page, demo: Serving, watch: Watch) -> None:
    """Stopped and killed, then started without its stream: nothing moves any more."""
    maps = []
    for number in (signal.SIGTERM, signal.SIGKILL):
        watch.away = True
        demo.end(number)
        expect(page.locator("#live-words")).to_have_text("reconnecting…")
        demo.start()
        expect(page.locator("#live-words")).to_have_text("live")
        watch.away = False
        page.reload()
        see_points(page, 100)
        _is_as_left(page, demo)
        maps.append((demo.asked("demo", "/map"), legend(page)))
    assert maps[0] == maps[1]


def _take_pictures(page: Page, demo: Serving) -> None:
    see_points(page, 100)
    for name, place in (("spot", SPOT), ("moon", MOON)):
        click(page, near(demo, "demo", *place))
        name_it(page, name)
    click(page, near(demo, "demo", 7.0, 3.0))
    page.locator("#panel .choice").filter(has_text="moon").click()
    page.locator("#panel-close").click()
    wait_until(lambda: demo.asked("demo")["examples"] > 1500)
    page.emulate_media(color_scheme="light")
    keep(_settled(page), "service-light.png")
    page.emulate_media(color_scheme="dark")
    page.reload()
    see_points(page, 100)
    click(page, near(demo, "demo", -8.5, 4.5))
    keep(_settled(page), "service-dark.png")
    page.emulate_media(color_scheme="light")
    page.locator("#panel-close").click()
    page.set_viewport_size(PHONE)
    page.reload()
    see_points(page, 100)
    keep(_settled(page), "service-phone.png")
    page.set_viewport_size(DESK)


def _settled(page: Page) -> bytes:
    """Look when the first figures and signs have come, and no news is in the way."""
    page.locator(".figure", has_text="seen").wait_for()
    page.locator(".sign").first.wait_for()
    page.locator("#questions li").first.wait_for(state="attached")
    wait_until(lambda: page.locator(".toast").count() == 0)
    return page.screenshot()
