"""A bit that flips, a file that is cut: all is there, or the place is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from labelwalk.service.database import DamagedError
from labelwalk.service.encryption import PassphraseError
from labelwalk.service.journal import Journal
from tests.service.journal_writer import entries
from tests.service.seeded_bugs import BUGS_OF_READING
from tests.service.sizes import SMALL, Sizes

pytestmark = [pytest.mark.shell, pytest.mark.slow]

FILES = {"journal.db": (0, 4096), "journal.db-wal": (32, 24 + 4096), "witness": (0, 512)}
Left = tuple[Path, list[bytes]]


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    return killed(tmp_path_factory.mktemp("journal"))


def killed(folder: Path, groups: int = 60, passphrase: str | None = None) -> Left:
    """Return a folder as a killed process leaves it, and what must be in it."""
    rng = np.random.default_rng(1)
    journal = Journal(str(folder / "of-the-process"), passphrase)
    for i in range(groups):
        journal.append(entries(rng))
        if i == groups // 2:
            journal.database.read("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(folder / "of-the-process", folder / "left")
    journal.close()
    return folder / "left", contents(folder / "of-the-process", passphrase)


def contents(folder: Path, passphrase: str | None = None) -> list[bytes]:
    journal = Journal(str(folder), passphrase)
    try:
        events = list(journal.reader.read_events())
        for event in events if passphrase is not None else []:
            journal.reader.decrypt(event)
        return [event.payload + event.chain for event in events]
    finally:
        journal.close()


def recovered_or_refused(
    folder: Path, expected: list[bytes], passphrase: str | None = None
) -> bool:
    """See that nothing is lost in silence, and return whether it was refused."""
    try:
        found = contents(folder, passphrase)
    except DamagedError as error:
        said = str(error)
    except PassphraseError:  # its key is not to be seen any more
        return passphrase is not None
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


def flip_bits(
    name: str,
    folder: Path,
    expected: list[bytes],
    tmp_path: Path,
    flips: int,
    passphrase: str | None = None,
) -> int:
    """Flip bits of a file, one at a time; return how often it was refused."""
    rng = np.random.default_rng(2)
    size = (folder / name).stat().st_size
    copies, refused = spoilt(folder, tmp_path), 0
    for bit in rng.choice(8 * size, flips, replace=8 * size < flips):
        copy = next(copies)
        content = bytearray((copy / name).read_bytes())
        content[bit // 8] ^= 1 << (bit % 8)
        (copy / name).write_bytes(content)
        refused += recovered_or_refused(copy, expected, passphrase)
    return refused


def cut_file(
    name: str, folder: Path, expected: list[bytes], tmp_path: Path, lengths: Iterable[int]
) -> int:
    """Cut a file to lengths, and take it away; return how often it was refused."""
    copies, refused = spoilt(folder, tmp_path), 0
    for length in lengths:
        copy = next(copies)
        with open(copy / name, "r+b") as file:
            file.truncate(length)
        refused += recovered_or_refused(copy, expected)
    copy = next(copies)
    (copy / name).unlink()
    assert recovered_or_refused(copy, expected)
    return refused


def telling_lengths(name: str, size: int, more: int) -> list[int]:
    """Return the ends of pages and records, those beside them, and some lengths at random."""
    header, record = FILES[name]
    ends = {0, *range(header, size, record)}
    near = {end + step for end in ends for step in (-1, 0, 1, 24)}
    drawn = np.random.default_rng(3).integers(size, size=more)
    return sorted(length for length in near | set(drawn.tolist()) if 0 <= length < size)


@pytest.mark.parametrize("name", FILES)
def test_bits_flip(name: str, left: Left, tmp_path: Path, sizes: Sizes) -> None:
    refused = flip_bits(name, *left, tmp_path, sizes.flips)
    assert (refused > 0) == (name != "witness")  # its other place says enough
    print(f"{name}: {sizes.flips} bits flipped, {refused} refused, else all there")


@pytest.mark.usefixtures("quick_scrypt")
def test_bits_flip_in_what_is_encrypted(tmp_path: Path, sizes: Sizes) -> None:
    left = killed(tmp_path / "killed", groups=12, passphrase="a secret")
    assert flip_bits("journal.db", *left, tmp_path, sizes.flips, "a secret") > 0


@pytest.mark.parametrize("name", FILES)
def test_files_are_cut(name: str, left: Left, tmp_path: Path, sizes: Sizes) -> None:
    lengths = telling_lengths(name, (left[0] / name).stat().st_size, sizes.cuts)
    refused = cut_file(name, *left, tmp_path, lengths)
    print(f"{name}: cut to {len(lengths)} lengths, {refused} refused, else all there")


@pytest.mark.parametrize("name", FILES)
def test_small_files_are_cut_to_every_length(name: str, tmp_path: Path, sizes: Sizes) -> None:
    folder, expected = killed(tmp_path / "killed", groups=8)
    size = (folder / name).stat().st_size
    lengths = range(0, size, 1 if sizes.every_length else 499)
    refused = cut_file(name, folder, expected, tmp_path, lengths)
    print(f"{name}: cut to {len(lengths)} of {size} lengths, {refused} refused, else all there")


@pytest.mark.parametrize("bug", BUGS_OF_READING)
def test_mistakes_are_caught(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS_OF_READING[bug](monkeypatch.setattr)
    folder, expected = killed(tmp_path / "killed")
    with pytest.raises((AssertionError, TypeError)):
        spoil_everything(folder, expected, tmp_path)


def spoil_everything(folder: Path, expected: list[bytes], tmp_path: Path) -> None:
    for name in FILES:
        lengths = telling_lengths(name, (folder / name).stat().st_size, SMALL.cuts)
        cut_file(name, folder, expected, tmp_path, lengths)
        flip_bits(name, folder, expected, tmp_path, SMALL.flips)
