"""A call to the disk that fails: nothing is acknowledged any more, and nothing that was is lost."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from labelwalk import OnlineLearner
from labelwalk.service.learner_store import LearnerStore
from tests.service.sizes import SMALL, Sizes
from tests.service.test_power_cuts import check
from tests.service.test_server import K, rows, served

pytestmark = [
    pytest.mark.shell,
    pytest.mark.slow,
    pytest.mark.skipif(which("strace") is None, reason="strace lets calls fail"),
]

WRITER = [sys.executable, "-m", "tests.service.journal_writer"]
FAILURES = [("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("fsync", "EIO")]
OPENING = {"pwrite64": 40, "fdatasync": 10}  # calls of a thread, before one fails
SAID = re.compile(r'write\(1<[^>]*>, "(\d+) ([0-9a-f]+)')


def failing(call: str, error: str, when: int, log: Path) -> list[str]:
    """Return the beginning of a command of whose threads each has one call that fails."""
    inject = f"inject={call}:error={error}:when={when}"
    told = ["-f", "-y", "-qq", "-s99", "-o", str(log)]
    return ["strace", *told, f"-etrace={call},write", f"-e{inject}"]


def write_on(folder: Path, call: str, error: str, when: int, bug: str = "") -> bool:
    """Let one call of a writer fail, and return whether it got so far."""
    log = folder.with_suffix(".calls")
    command = [*failing(call, error, when, log), *WRITER, str(folder), "0", str(SMALL.events), bug]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told, failed = (0, ""), False
    for line in log.read_text().splitlines():
        if said := SAID.search(line):
            assert not failed, f"acknowledged after a failure: {line}"
            told = int(said[1]), said[2]
        # SQLite does not hear that a folder was not synchronised: Database does it once more
        failed |= "(INJECTED)" in line and not (call == "fdatasync" and f"{folder}>" in line)
    check(folder, told)
    return failed


@pytest.mark.parametrize(("call", "error"), FAILURES)
def test_a_writer(call: str, error: str, tmp_path: Path, sizes: Sizes) -> None:
    """From the first call of a process on, those that make the folder included."""
    step = 1 if sizes.failing_calls > 10 else 6
    whens = [1 + step * i for i in range(sizes.failing_calls)]
    failed = sum(write_on(tmp_path / f"kept-{n}", call, error, n) for n in whens)
    assert failed
    print(f"{failed} times {error} from {call} in a writer: nothing acknowledged after, none lost")


@pytest.mark.parametrize(("call", "error"), FAILURES[:3])
def test_the_service(call: str, error: str, tmp_path: Path, sizes: Sizes) -> None:
    turns = 1 + sizes.failing_calls // 5
    answered = [
        serve_on(tmp_path / f"kept-{turn}", call, error, OPENING[call] + 3 * turn)
        for turn in range(turns)
    ]
    print(f"{turns} times {error} from {call} in the service after {answered} answers: none lost")


def serve_on(folder: Path, call: str, error: str, when: int) -> int:
    """Let one call of a service fail, and return how many requests it had answered."""
    store = LearnerStore(str(folder))
    number = store.create("a", OnlineLearner(K)).result()
    store.close()
    statuses: list[int] = []
    under = [*failing(call, error, when, folder / "calls"), "-D"]
    with served(folder, under=under, options=["--log=json"]) as one:
        while statuses[-5:] != [503] * 5:
            assert len(statuses) < 200, "it never failed"
            body = {"rows": rows(len(statuses)).tolist()}
            statuses.append(one.http.post("/api/learners/a/observe", json=body).status_code)
        assert one.http.get("/api/learners/a").status_code == 503
        assert "labelwalk_failed 1" in one.http.get("/metrics").text
        assert one.end(signal.SIGTERM).count('"event": "disk failed"') == 1
    answered = statuses.index(503)
    assert statuses == [200] * answered + [503] * 5
    again = LearnerStore(str(folder))
    n, digest = again.query(
        number, lambda one: (one.next_example_id, one.learner.digest())
    ).result()
    again.close()
    alone, done = OnlineLearner(K), 0
    while alone.n_seen < n:
        alone.observe(rows(done))
        done += 1
    assert answered <= done <= answered + 1
    assert alone.digest() == digest
    return answered


@pytest.mark.parametrize("bug", ["errors of the disk are swallowed", "it goes on after a failure"])
def test_mistakes_are_caught(bug: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        write_on(tmp_path / "kept", "fdatasync", "EIO", 12, bug)
