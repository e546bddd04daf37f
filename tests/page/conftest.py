"""A browser for the tests of a file, a served demo, and whether pictures are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

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
def empty(tmp_path: Path) -> Iterator[Serving]:
    one = Serving(tmp_path / "kept")
    yield one
    one.close()
