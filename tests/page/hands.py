"""What a person does on the page, and what they see there."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.page.serving import Serving
from tests.support.waiting import wait_until

POINTS = "#plot .points path"
ENTRIES = "found => found.map(one => [...one.querySelectorAll('span')].map(o => o.textContent))"
FILLS = "found => found.map(one => getComputedStyle(one).fill)"
WHERE = """([x, y]) => {
    const plot = document.getElementById("plot"), box = plot.getBoundingClientRect();
    const [left, right] = plot.layout.xaxis.range, [low, high] = plot.layout.yaxis.range;
    const [across, down] = [(x - left) / (right - left), (high - y) / (high - low)];
    return [box.x + across * box.width, box.y + down * box.height];
}"""


def see_points(page: Page, n: int) -> None:
    page.locator(POINTS).nth(n).wait_for(state="attached")


def colours(page: Page) -> dict[str, int]:
    """How many marks of each colour are on the map."""
    seen: dict[str, int] = {}
    for one in page.locator(POINTS).evaluate_all(FILLS):
        seen[one] = seen.get(one, 0) + 1
    return seen


def near(serving: Serving, learner: str, x: float, y: float) -> tuple[float, float]:
    """Where the vertex lies that is nearest to a place."""
    found = serving.asked(learner, "/map")["vertices"]
    return min(
        zip(found["x"], found["y"], strict=True),
        key=lambda place: (place[0] - x) ** 2 + (place[1] - y) ** 2,
    )


def click(page: Page, place: tuple[float, float]) -> None:
    """Click a vertex; its panel opens, and one that was open is put away before.

    A panel that stays open may still follow its own vertex to another number, which looks like
    the answer to the click. A click is lost where the map is drawn anew under the pointer, so
    people click again.
    """
    panel = page.locator("#panel")
    if panel.is_visible():
        page.locator("#panel-close").click()
    expect(panel).to_be_hidden()
    page.locator("#map").scroll_into_view_if_needed()

    def is_open() -> bool:
        page.mouse.click(*page.evaluate(WHERE, list(place)))
        try:
            expect(panel).to_be_visible(timeout=5000)
        except AssertionError:
            return False
        return True

    wait_until(is_open)
    expect(page.locator("#panel-title")).to_be_focused()


def name_it(page: Page, name: str) -> int:
    """Give what the panel shows a new class, and return how many vertices changed their label."""
    page.locator("#panel [data-new-name]").fill(name)
    page.keyboard.press("Enter")
    return changed(page, name)


def changed(page: Page, words: str) -> int:
    said = page.locator("#toasts .toast").filter(has_text=words).last.inner_text()
    found = re.search(r"(\d+) (?:vertex|vertices) changed", said)
    return int(found.group(1)) if found else 0


def legend(page: Page) -> dict[str, int]:
    """How many vertices each class has, as the page says."""
    entries = page.locator("#legend li").evaluate_all(ENTRIES)
    return {name: int(n.replace(",", "")) for name, n in entries}
