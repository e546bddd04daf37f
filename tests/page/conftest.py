"""Browsers for the tests of the page, a served demo, and whether pictures are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.page.filming import Clip, made_up, with_camera
from tests.page.serving import Browsers, Serving


@pytest.fixture(scope="package")
def browsers() -> Iterator[Browsers]:
    """Browsers for this folder alone: while one runs, no test can run an event loop."""
    with closing(Browsers()) as browsers:
        yield browsers


@pytest.fixture
def browser(browsers: Browsers) -> Browser:
    return browsers.open()


@pytest.fixture
def filmed_browser(browsers: Browsers, clip: Clip) -> Browser:
    """A browser that has one made-up person before its camera."""
    return with_camera(browsers, clip)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Serving]:
    with closing(Serving(tmp_path / "kept", "--demo")) as one:
        yield one


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Serving]:
    """A service that looks for faces, and has seen none."""
    with closing(Serving(tmp_path / "kept", "--faces=pixels")) as one:
        yield one


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    """One made-up person before a camera."""
    return made_up(tmp_path_factory.mktemp("film"))


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Serving]:
    with closing(Serving(tmp_path / "kept")) as one:
        yield one
