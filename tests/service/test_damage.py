"""A bit that flips, a file that is cut: all is there, or the place is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from labelwalk.service.database import DamagedError
from labelwalk.service.journal import Journal
from tests.service.journal_writer import entries
from tests.service.seeded_bugs import BUGS_OF_READING

pytestmark = [pytest.mark.shell, pytest.mark.slow]

FLIPS = 300


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    return killed(tmp_path_factory.mktemp("journal"))


def killed(folder: Path) -> tuple[Path, list[bytes]]:
    """Return a folder as a killed process leaves it, and what must be in it."""
    rng = np.random.default_rng(1)
    journal = Journal(str(folder / "of-the-process"))
    for i in range(60):
        journal.append(entries(rng))
        if i == 30:
            journal.database.read("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(folder / "of-the-process", folder / "left")
    journal.close()
    return folder / "left", contents(folder / "of-the-process")


def contents(folder: Path) -> list[bytes]:
    journal = Journal(str(folder))
    try:
        return [event.payload + event.chain for event in journal.events()]
    finally:
        journal.close()


def recovered_or_refused(folder: Path, expected: list[bytes]) -> bool:
    """See that nothing is lost in silence, and return whether it was refused."""
    try:
        found = contents(folder)
    except DamagedError as error:
        said = str(error)
    else:
        assert found == expected
        return False
    assert "journal.db" in said
    return True


def spoilt(left: Path, tmp_path: Path) -> Iterator[Path]:
    while True:
        target = tmp_path / "spoilt"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(left, target)
        yield target


FILES = ["journal.db", "journal.db-wal", "witness"]


def flip_bits(name: str, folder: Path, expected: list[bytes], tmp_path: Path) -> bool:
    """Flip bits of a file, one at a time; return whether any was refused."""
    rng = np.random.default_rng(2)
    size = (folder / name).stat().st_size
    copies, refused = spoilt(folder, tmp_path), False
    for bit in rng.choice(8 * size, FLIPS, replace=8 * size < FLIPS):
        copy = next(copies)
        content = bytearray((copy / name).read_bytes())
        content[bit // 8] ^= 1 << (bit % 8)
        (copy / name).write_bytes(content)
        refused |= recovered_or_refused(copy, expected)
    return refused


def cut_file(name: str, folder: Path, expected: list[bytes], tmp_path: Path) -> None:
    """Cut a file at many lengths, and take it away."""
    size = (folder / name).stat().st_size
    copies = spoilt(folder, tmp_path)
    for length in sorted({*range(0, size, max(1, size // 150)), 0, 1, 32, size - 1}):
        copy = next(copies)
        with open(copy / name, "r+b") as file:
            file.truncate(length)
        recovered_or_refused(copy, expected)
    copy = next(copies)
    (copy / name).unlink()
    assert recovered_or_refused(copy, expected)


@pytest.mark.parametrize("name", FILES)
def test_bits_flip(name: str, left: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    refused = flip_bits(name, *left, tmp_path)
    assert refused == (name != "witness")  # its other place says enough


@pytest.mark.parametrize("name", FILES)
def test_files_are_cut(name: str, left: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    cut_file(name, *left, tmp_path)


@pytest.mark.parametrize("bug", BUGS_OF_READING)
def test_mistakes_are_caught(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS_OF_READING[bug](monkeypatch.setattr)
    folder, expected = killed(tmp_path / "killed")
    with pytest.raises((AssertionError, TypeError)):
        spoil_everything(folder, expected, tmp_path)


def spoil_everything(folder: Path, expected: list[bytes], tmp_path: Path) -> None:
    for name in FILES:
        cut_file(name, folder, expected, tmp_path)
        flip_bits(name, folder, expected, tmp_path)
