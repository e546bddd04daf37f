"""A browser for the tests of a file, a served demo, and whether pictures are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.page.filming import Clip, made_up
from tests.page.serving import Serving, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Serving]:
    one = Serving(tmp_path / "kept", "--demo")
    yield one
    one.close()


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Serving]:
    """A service that looks for faces, and has seen none."""
    one = Serving(tmp_path / "kept", "--faces=pixels")
    yield one
    one.close()


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    """One made-up person before a camera."""
    return made_up(tmp_path_factory.mktemp("film"))


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Serving]:
    one = Serving(tmp_path / "kept")
    yield one
    one.close()
