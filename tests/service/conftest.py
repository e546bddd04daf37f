"""What tests of the service share: their sizes, chosen by `--full`, a store, and passphrases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labelwalk.cli.options import PASSPHRASE_VARIABLE
from labelwalk.service import encryption
from labelwalk.service.learner_store import LearnerStore
from tests.service.sizes import FULL, SMALL, Sizes


@pytest.fixture(scope="session")
def sizes(request: pytest.FixtureRequest) -> Sizes:
    return FULL if request.config.getoption("--full") else SMALL


@pytest.fixture
def quick_scrypt(monkeypatch: pytest.MonkeyPatch) -> None:
    """See that folders that are begun here cost no half second each time they are opened."""
    monkeypatch.setattr(encryption, "SCRYPT_N", 2)


@pytest.fixture(params=[None, "correct horse"], ids=["plain", "encrypted"])
def passphrase(
    request: pytest.FixtureRequest, quick_scrypt: None, monkeypatch: pytest.MonkeyPatch
) -> str | None:
    """Return one or none; processes that are started find the same in their environment."""
    found: str | None = request.param
    monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
    if found is not None:
        monkeypatch.setenv(PASSPHRASE_VARIABLE, found)
    return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LearnerStore]:
    store = LearnerStore(str(tmp_path / "kept"))
    yield store
    store.close()
