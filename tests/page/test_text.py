"""Labels and names are text wherever the page shows them, whatever they look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.hands import click, near, see_points
from tests.page.serving import Serving, looking
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.shell]

EVIL = "<img src=x onerror=window.broken=1>"
WORSE = "</script><b onmouseover=window.broken=1>bold</b> &amp;"
NAME = "<img src=x onerror=window.broken=2>"
CENTRES = np.array([[0.0, 0.0], [6.0, 6.0]])


def rows(seed: int, n: int = 60) -> Any:
    rng = np.random.default_rng(seed)
    return (CENTRES[rng.integers(2, size=n)] + 0.5 * rng.normal(size=(n, 2))).tolist()


def nothing_broke(page: Page) -> None:
    assert page.evaluate("window.broken === undefined")
    assert page.locator("img, b, script:not([src])").count() == 0


def test_labels_and_names_stay_text(empty: Serving, browser: Browser) -> None:
    with looking(browser, empty) as (page, _):
        page.get_by_label("Name", exact=True).fill(NAME)
        page.get_by_role("button", name="Create").click()
        page.locator("#board").wait_for()
        empty.done(NAME, "/teach", {"rows": CENTRES.tolist(), "labels": [EVIL, WORSE]})
        for seed in range(3):
            empty.done(NAME, "/observe", {"rows": rows(seed)})
        see_points(page, 40)
        assert NAME in page.title()
        expect(page.locator("#switcher option")).to_have_text(NAME)
        for place in ("#legend", "#overlay", "#verdicts", "#questions"):
            for label in (EVIL, WORSE):
                wait_until(
                    lambda place=place, label=label: label in page.locator(place).inner_text()
                )

        at = near(empty, NAME, 1.0, 1.0)
        click(page, at)
        for place in (".what", ".choices", ".near", ".chances", ".why"):
            expect(page.locator(f"#panel {place}")).to_contain_text(EVIL)
        page.locator("#panel .choice").filter(has_text="bold").click()
        expect(page.locator("#toasts .toast").last).to_contain_text(WORSE)
        page.keyboard.press("u")
        page.locator("#panel-close").click()

        page.locator("#dial-abstain_below").focus()
        page.keyboard.press("End")
        expect(page.locator(".effect")).to_contain_text(EVIL)
        page.locator("#table-part summary").click()
        expect(page.locator("#table")).to_contain_text(WORSE)
        page.locator("#manage").click()
        expect(page.locator("#learners .all")).to_contain_text(NAME)
        nothing_broke(page)


def test_the_words_of_an_error_stay_text(empty: Serving, browser: Browser) -> None:
    empty.http.post("/api/learners", json={"name": NAME}).raise_for_status()
    with looking(browser, empty) as (page, watch):
        page.locator("#manage").click()
        page.locator("#learners").get_by_label("Name", exact=True).fill(NAME)
        page.locator("#learners").get_by_role("button", name="Create").click()
        expect(page.locator("#errors .toast")).to_contain_text(NAME)
        nothing_broke(page)
        watch.wrong.clear()  # the browser itself reports the 409
