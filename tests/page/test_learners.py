"""Several learners: made, shown, exported, imported and deleted; each class keeps its colour."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.page.hands import click, legend, see_points
from tests.page.serving import Serving, looking
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.shell]

ROWS = [[float(x), float(y)] for x in (0, 1, 8, 9) for y in (0, 1, 8, 9)]


def test_a_learner_is_made_exported_imported_and_deleted(
    empty: Serving, browser: Browser, tmp_path: Path
) -> None:
    with looking(browser, empty) as (page, _):
        page.get_by_label("Name", exact=True).fill("door")
        page.get_by_label("Maximum number of vertices").fill("50")
        page.get_by_role("button", name="Create").click()
        expect(page.locator("#map-empty")).to_contain_text("Waiting for examples")
        assert empty.asked("door")["settings"]["n_centroids"] == 50
        empty.done("door", "/observe", {"rows": ROWS})
        empty.done("door", "/teach", {"rows": [[0.0, 0.0]], "labels": ["shut"]})
        see_points(page, len(ROWS) - 1)

        page.locator("#manage").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Export").click()
        kept = tmp_path / "door.lw"
        download.value.save_as(kept)
        page.locator("#learners").get_by_label("Learner file").set_input_files(kept)
        page.locator("#learners").get_by_label("Import as").fill("copy")
        page.locator("#learners").get_by_role("button", name="Import").click()
        expect(page.locator("#switcher")).to_have_value("copy")
        assert empty.asked("copy")["classes"] == ["shut"]
        wait_until(lambda: legend(page).get("shut", 0) > 0)

        page.locator("#switcher").select_option("door")
        expect(page).to_have_title("door · labelwalk")
        _delete(page, "door")
        expect(page.locator("#switcher")).to_have_value("copy")
        _delete(page, "copy")
        expect(page.locator("#welcome")).to_be_visible()
        page.get_by_role("button", name="Start the demo").click()
        see_points(page, 30)
        expect(page.locator("#switcher")).to_have_value("demo")


def _delete(page: Page, name: str) -> None:
    page.locator("#manage").click()
    mine = page.locator("#learners .all li").filter(has_text=name)
    mine.get_by_role("button", name="Delete…").click()
    sure = mine.get_by_role("button", name="Delete", exact=True)
    mine.get_by_role("textbox").fill(name[:-1])
    expect(sure).to_be_disabled()
    mine.get_by_role("textbox").fill(name)
    sure.click()
    expect(page.locator("#learners")).to_be_hidden()


def test_a_class_keeps_its_colour(empty: Serving, browser: Browser) -> None:
    names = ["a", "b", "c"]
    empty.http.post("/api/learners", json={"name": "door"}).raise_for_status()
    empty.done("door", "/observe", {"rows": ROWS})
    places = [[0.0, 0.0], [9.0, 0.0], [9.0, 9.0]]
    empty.done("door", "/teach", {"rows": places, "labels": names})
    with looking(browser, empty) as (page, _):
        see_points(page, len(ROWS))
        before = _colours(page)
        assert len(set(before.values())) == len(before)
        empty.done("door", "/forget", {"label": "a"})
        wait_until(lambda: _colours(page) == {name: before[name] for name in ("b", "c")})


def test_what_is_learned_while_the_page_connects_is_shown(empty: Serving, browser: Browser) -> None:
    def learn(route: Route) -> None:
        empty.done("door", "/teach", {"rows": [[0.0, 0.0]], "labels": ["shut"]})
        empty.done("door", "/observe", {"rows": ROWS})
        route.continue_()

    with looking(browser, empty) as (page, _):
        page.route("**/live", learn, times=1)  # when the page has fetched what is there
        page.get_by_label("Name", exact=True).fill("door")
        page.get_by_role("button", name="Create").click()
        see_points(page, len(ROWS) - 1)
        expect(page.locator("#verdicts li").first).to_contain_text("shut")


def test_a_label_is_taken_back_where_it_was_given(empty: Serving, browser: Browser) -> None:
    empty.http.post("/api/learners", json={"name": "door"}).raise_for_status()
    empty.done("door", "/observe", {"rows": ROWS})
    empty.done("door", "/teach_later", {"example": 0, "label": "shut"})
    with looking(browser, empty) as (page, _):
        see_points(page, len(ROWS))
        click(page, (0.0, 0.0))
        page.get_by_role("button", name="Remove its label").click()
        page.locator(".toast").filter(has_text="removed").wait_for()
        assert empty.asked("door", "/taught") == []
        expect(page.locator("#panel .what")).to_contain_text("no label")


def test_the_theme_stays_as_chosen(empty: Serving, browser: Browser) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with looking(browser, empty, color_scheme="light") as (page, _):
        page.locator("#welcome").wait_for()
        light = page.evaluate(ground)
        page.keyboard.press("t")
        dark = page.evaluate(ground)
        assert dark != light
        page.reload()
        page.locator("#welcome").wait_for()
        assert page.evaluate(ground) == dark
        page.get_by_role("button", name="Light or dark").click()
        assert page.evaluate(ground) == light


def _colours(page: Page) -> dict[str, str]:
    found = page.locator("#legend li").evaluate_all(
        "all => all.map(one => [one.querySelector('.name').textContent,"
        " one.querySelector('path').getAttribute('fill')])"
    )
    return {name: colour for name, colour in found if name != "no label"}
