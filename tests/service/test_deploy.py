"""What `deploy/` says is right: the commands in it run, and systemd understands the unit."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest

from labelwalk.service.learner_store import LearnerStore
from tests.service.test_server import ENVIRONMENT, free_port, is_ready
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.shell, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "labelwalk.service"
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
OPERATIONS = ROOT / "docs" / "guide" / "operations.md"


def here(command: list[str]) -> list[str]:
    """Return a command with what is installed here in place of what is installed there."""
    if Path(command[0]).name == "labelwalk":
        return [sys.executable, "-m", "labelwalk", *command[1:]]
    return [sys.executable, *command[1:]]


def container_command(word: str, port: int) -> list[str]:
    text = CONTAINERFILE.read_text().replace("\\\n", "").replace("8321", str(port))
    found = re.search(rf"^{word}.*?(\[.*\])$", text, re.M)
    assert found is not None
    command: list[str] = json.loads(found[1])
    return here(command)


def started(command: list[str], folder: Path) -> subprocess.Popen[str]:
    inside = [str(folder) if word == "/var/lib/labelwalk" else word for word in command]
    assert str(folder) in inside
    return subprocess.Popen(inside, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)


def test_the_container_serves_and_knows_its_health(tmp_path: Path) -> None:
    port = free_port()
    health = container_command("HEALTHCHECK", port)
    assert subprocess.run(health, capture_output=True).returncode == 1
    process = started(container_command("CMD", port), tmp_path / "kept")
    wait_until(lambda: subprocess.run(health, capture_output=True).returncode == 0)
    assert stopped_in_order(process)


def test_the_command_of_the_unit(tmp_path: Path) -> None:
    (line,) = [line for line in UNIT.read_text().splitlines() if line.startswith("ExecStart=")]
    command = here(shlex.split(line.partition("=")[2]))
    port = free_port()
    process = started([*command, f"--port={port}"], tmp_path / "kept")
    wait_until(lambda: is_ready(port))
    assert stopped_in_order(process)


def stopped_in_order(process: subprocess.Popen[str]) -> bool:
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1].splitlines()
    events = [json.loads(line)["event"] for line in said]
    return process.returncode == 0 and (events[0], events[-1]) == ("started", "stopped")


@pytest.mark.skipif(which("systemd-analyze") is None, reason="systemd-analyze reads units")
@pytest.mark.parametrize("encrypted", [False, True])
def test_systemd_understands_the_unit(encrypted: bool, tmp_path: Path) -> None:
    unit = tmp_path / "labelwalk.service"
    [more] = re.findall(r"```ini\n(.*?)```", OPERATIONS.read_text(), re.S)
    text = UNIT.read_text() + (more if encrypted else "")
    unit.write_text(text.replace("/opt/labelwalk/bin/labelwalk", sys.executable))
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True)
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


def test_the_page_names_what_is_there(tmp_path: Path) -> None:
    page = OPERATIONS.read_text()
    measures = set(re.findall(r"\blabelwalk_\w+", page))
    assert measures
    store = LearnerStore(str(tmp_path))
    assert measures <= {metric.name for metric in store.list_metrics()}
    store.close()
