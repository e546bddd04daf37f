"""What tests of faces share: one video of each kind, made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.unit.faces import generated


@pytest.fixture(scope="session")
def people(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Two people in a video of the kind that is asked for; not to be changed."""
    folder = tmp_path_factory.mktemp("people")
    return cache(lambda kind: generated.video(folder / f"people{kind}"))
