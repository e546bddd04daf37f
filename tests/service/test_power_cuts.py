"""Whatever a power cut leaves on the disk, all that was acknowledged is there."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import numpy as np
import pytest

from labelwalk.service.database import DamagedError
from labelwalk.service.journal import Journal
from tests.service.journal_writer import whole_groups
from tests.service.recorded_disk import Disk, put, recorded
from tests.service.seeded_bugs import BUGS_OF_THE_DISK
from tests.service.sizes import SMALL, Sizes

pytestmark = [
    pytest.mark.shell,
    pytest.mark.skipif(which("strace") is None, reason="strace records the calls"),
]
WRITER = [sys.executable, "-m", "tests.service.journal_writer"]


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder in memory where there is one: nobody pulls its plug."""
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else tmp_path
    ) as it:
        yield Path(it)


def cut_everywhere(tmp_path: Path, quick_folder: Path, events: int, bug: str = "") -> int:
    """Cut the power at each call of a writer; return how often nothing was lost."""
    folder, rng = tmp_path / "journal", np.random.default_rng(0)
    command = [*WRITER, str(folder), "0", str(events), bug]
    disk, told, cuts = Disk(), (0, ""), 0
    for call in recorded(command, folder, tmp_path / "calls"):
        disk.do(call)
        if call.name == "say":
            sequence, chain = call.content.decode().split()
            told = int(sequence), chain
        for how in ("all", "sure", "some"):
            left = quick_folder / "left"
            put(disk.left(how, rng), folder, left)
            check(left, told)
            shutil.rmtree(left)
            cuts += 1
    assert told[0] >= events
    return cuts


def test_all_that_was_acknowledged_is_there(
    tmp_path: Path, quick_folder: Path, sizes: Sizes
) -> None:
    cuts = cut_everywhere(tmp_path, quick_folder, sizes.events)
    assert cuts > 10 * sizes.events
    print(f"{cuts} power cuts, while {sizes.events} events were written: all there, once")


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS_OF_THE_DISK)
def test_mistakes_are_caught(bug: str, tmp_path: Path, quick_folder: Path) -> None:
    with pytest.raises((AssertionError, DamagedError)):
        cut_everywhere(tmp_path, quick_folder, SMALL.events, bug)


def check(folder: Path, told: tuple[int, str]) -> None:
    journal = Journal(str(folder))
    found = list(journal.events())
    journal.close()
    assert len(found) >= told[0]
    assert told[0] == 0 or found[told[0] - 1].chain.hex() == told[1]
    assert whole_groups(found, 0)
