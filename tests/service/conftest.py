"""The sizes of the tests of the service, chosen by `--full`."""

from __future__ import annotations

import pytest

from tests.service.sizes import FULL, SMALL, Sizes


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> Sizes:
    return FULL if request.config.getoption("--full") else SMALL
