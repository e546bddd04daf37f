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

FLIPS = 300


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """Return a folder as a killed process leaves it, and what must be in it."""
    folder, rng = tmp_path_factory.mktemp("journal"), np.random.default_rng(1)
    journal = Journal(str(folder / "of-the-process"))
    for i in range(60):
        journal.append(entries(rng))
        if i == 30:
            journal.database.work_in()
    shutil.copytree(folder / "of-the-process", folder / "left")
    journal.close()
    return folder / "left", chains(folder / "of-the-process")


def chains(folder: Path) -> list[bytes]:
    journal = Journal(str(folder))
    try:
        return [event.chain for event in journal.events()]
    finally:
        journal.close()


def recovered_or_refused(folder: Path, expected: list[bytes]) -> bool:
    """See that nothing is lost in silence, and return whether it was refused."""
    try:
        found = chains(folder)
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


@pytest.mark.parametrize("name", FILES)
def test_bits_flip(name: str, left: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    folder, expected = left
    rng = np.random.default_rng(2)
    size = (folder / name).stat().st_size
    copies, refused = spoilt(folder, tmp_path), False
    for bit in rng.choice(8 * size, FLIPS, replace=8 * size < FLIPS):
        copy = next(copies)
        content = bytearray((copy / name).read_bytes())
        content[bit // 8] ^= 1 << (bit % 8)
        (copy / name).write_bytes(content)
        refused |= recovered_or_refused(copy, expected)
    assert refused == (name != "witness")  # its other place says enough


@pytest.mark.parametrize("name", FILES)
def test_files_are_cut(name: str, left: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    folder, expected = left
    size = (folder / name).stat().st_size
    copies = spoilt(folder, tmp_path)
    for length in sorted({*range(0, size, max(1, size // 150)), 0, 1, 32, size - 1}):
        copy = next(copies)
        with open(copy / name, "r+b") as file:
            file.truncate(length)
        recovered_or_refused(copy, expected)
    for copy in copies:
        (copy / name).unlink()
        with pytest.raises(DamagedError):
            chains(copy)
        break
