"""Whatever a power cut leaves on the disk, all that was acknowledged is there."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from shutil import which

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.service.commands import apply_command
from labelwalk.service.database import DamagedError
from labelwalk.service.journal import Journal
from labelwalk.service.learner_store import LearnerStore
from tests.service.journal_writer import whole_groups
from tests.service.recorded_disk import Disk, put, recorded
from tests.service.seeded_bugs import BUGS_OF_THE_DISK
from tests.service.sizes import SMALL, Sizes
from tests.service.store_writer import EVERY, K, events

pytestmark = [
    pytest.mark.shell,
    pytest.mark.skipif(which("strace") is None, reason="strace records the calls"),
]
WRITER = [sys.executable, "-m", "tests.service.journal_writer"]
STORE_WRITER = [sys.executable, "-m", "tests.service.store_writer"]


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


@pytest.mark.slow
def test_all_that_was_acknowledged_is_there(
    tmp_path: Path, quick_folder: Path, sizes: Sizes
) -> None:
    cuts = cut_everywhere(tmp_path, quick_folder, sizes.events)
    assert cuts > 10 * sizes.events
    print(f"{cuts} power cuts, while {sizes.events} events were written: all there, once")


@pytest.mark.slow
def test_learners_are_those_of_an_undisturbed_run(
    tmp_path: Path, quick_folder: Path, sizes: Sizes, passphrase: str | None
) -> None:
    """Snapshots and all: whatever is left, it is a learner to which the first events happened."""
    folder, rng, told, cuts = tmp_path / "kept", np.random.default_rng(1), -1, 0
    command = [*STORE_WRITER, str(folder), "5", str(sizes.learned)]
    digests, disk = ["", *alone_after_each(5, sizes.learned)], Disk()
    for i, call in enumerate(recorded(command, folder, tmp_path / "calls")):
        disk.do(call)
        if call.name == "say":
            told = int(call.content.split()[0])
        if i % sizes.stride:
            continue
        for how in ("all", "sure", "some"):
            left = quick_folder / "left"
            put(disk.left(how, rng), folder, left)
            happened, digest = learned(left, passphrase)
            assert happened > told
            assert digest == digests[happened]
            shutil.rmtree(left)
            cuts += 1
    assert told == sizes.learned - 1
    print(f"{cuts} power cuts, while {sizes.learned} events were learned: states undisturbed")


def alone_after_each(seed: int, n: int) -> Iterator[str]:
    """Yield the state of a learner without a service, before any event and after each."""
    learner = OnlineLearner(K)
    yield learner.digest()
    for event in islice(events(seed), n):
        apply_command(event, learner)
        yield learner.digest()


def learned(folder: Path, passphrase: str | None) -> tuple[int, str]:
    """Return how much is there, the learner itself counted as one, and its state."""
    store = LearnerStore(str(folder), snapshot_every=EVERY, passphrase=passphrase)
    states = store.query_all(lambda all: [one.learner.digest() for one in all.values()]).result()
    happened = store._journal.last.sequence
    store.close()
    return happened, states[0] if states else ""


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS_OF_THE_DISK)
def test_mistakes_are_caught(bug: str, tmp_path: Path, quick_folder: Path) -> None:
    with pytest.raises((AssertionError, DamagedError)):
        cut_everywhere(tmp_path, quick_folder, SMALL.events, bug)


def check(folder: Path, told: tuple[int, str]) -> None:
    journal = Journal(str(folder))
    found = list(journal.reader.read_events())
    journal.close()
    assert len(found) >= told[0]
    assert told[0] == 0 or found[told[0] - 1].chain.hex() == told[1]
    assert whole_groups(found, 0)
