"""What tests of the service share: their sizes, chosen by `--full`, and a keeper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labelwalk.service.keeper import Keeper
from tests.service.sizes import FULL, SMALL, Sizes


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> Sizes:
    return FULL if request.config.getoption("--full") else SMALL


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    keeper = Keeper(str(tmp_path / "kept"))
    yield keeper
    keeper.close()
