"""`labelwalk faces watch`: videos, events and summaries, also of what is damaged or unplugged."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.drawing import GREY, choose_colour
from labelwalk.faces.frames import Image
from labelwalk.faces.pictures import encode_jpeg
from labelwalk.service.learner_store import LearnerStore
from tests.unit.faces import generated
from tests.unit.faces.commands import everybody, lines, ok, pictures, refused, shown
from tests.unit.faces.generated import scene
from tests.unit.faces.network_camera import CameraOnTheNet, served

pytestmark = [pytest.mark.shell, pytest.mark.slow]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
WATCH = (sys.executable, "-m", "labelwalk", "faces", "watch")


def caption_is(image: Image, event: dict[str, Any], colour: tuple[int, int, int]) -> bool:
    """Whether what is written above a box stands on about this colour, compressed as it is."""
    x, y, *_ = event["box"]
    under = image[y - 2 : y, x : x + 20].reshape(-1, 3).mean(axis=0)
    return bool(np.abs(under - colour[::-1]).max() < 25)


def test_from_nothing_to_a_named_face(tmp_path: Path) -> None:
    folder, first, second = tmp_path / "people", tmp_path / "1.avi", tmp_path / "2.avi"
    result = ok("watch", "demo", "--people", folder, "-o", first, "--frames=130", "--events=-")
    appears = json.loads(result.stdout.splitlines()[0])
    assert (appears["event"], appears["name"], appears["frame"]) == ("appears", None, 1)
    assert caption_is(shown(first)[0].image, appears, GREY)
    assert re.search(
        r"130 frames of 4 synthetic people, [\d.]+ a second; 140 faces\.", result.stderr
    )
    assert re.search(r"unknown #1 +\d+ +\d", result.stderr)
    assert f"To name one: labelwalk faces name {folder} '#" in result.stderr.replace("\n", "")
    assert f"Video: {first}" in result.stderr
    ok("name", folder, "#1", "Ada")
    events = tmp_path / "events.ndjson"
    options = ("--people", folder, "--output", second, "--events", events, "--frames=60")
    said = ok("watch", "demo", *options).stderr
    assert re.search(r"Ada +60 +1", said)
    assert f"Events: {events}" in said
    appears, leaves = lines(events)
    frames = shown(second)
    assert len(frames) == 60
    assert caption_is(frames[0].image, appears, choose_colour("Ada"))
    assert (appears["event"], appears["name"], appears["frame"]) == ("appears", "Ada", 1)
    assert appears["confidence"] > 0.5
    assert (leaves["event"], leaves["frame"], leaves["faces"]) == ("leaves", 60, 60)


def test_without_a_folder_everybody_is_unknown_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ok("watch", "demo", "--frames=20", "--events=-", "--faces=pixels-32")
    assert "Nothing is stored. Use --people FOLDER" in result.stderr
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["event"], one["stranger"]) for one in events] == [
        ("appears", None),
        ("named", 1),
        ("leaves", 1),
    ]
    x, y, width, height = events[0]["box"]
    [truth] = DemoVideo().truth(1)
    assert abs(x + width / 2 - truth.box.x - truth.box.width / 2) < 10
    assert abs(y + height / 2 - truth.box.y - truth.box.height / 2) < 10
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [".avi", ".webm"])
def test_a_video_file(kind: str, people: Callable[[str], Path], tmp_path: Path) -> None:
    output = tmp_path / f"out{kind}"
    said = ok("watch", people(kind), "--output", output, "--faces=pixels-32").stderr
    assert f"{generated.FRAMES} frames of {people(kind)}" in said.replace("\n", "")
    assert len(shown(output)) == generated.FRAMES


def test_a_folder_of_pictures_of_any_size(tmp_path: Path) -> None:
    sizes = [(320, 240), (240, 320), (640, 480)]
    album = [(f"{i}.png", scene([3], *size)) for i, size in enumerate(sizes)]
    folder = generated.folder(tmp_path / "album", album)
    output = tmp_path / "out.avi"
    ok("watch", folder, "--output", output, "--faces=pixels-32")
    assert [frame.image.shape for frame in shown(output)] == [(240, 320, 3)] * 3


def test_nobody_and_fifty(tmp_path: Path) -> None:
    empty = generated.folder(tmp_path / "empty", [("1.png", scene([])), ("2.png", scene([]))])
    assert "2 frames of" in (said := ok("watch", empty).stderr)
    assert "no face was found." in said
    crowd = scene(range(50), 1280, 960)
    full = generated.folder(tmp_path / "full", [(f"{i}.png", crowd) for i in range(3)])
    output, events = tmp_path / "out.avi", tmp_path / "events.ndjson"
    options = ("--smallest=60", "--output", output, "--events", events, "--faces=pixels-32")
    ok("watch", full, *options)
    appear = [one for one in lines(events) if one["event"] == "appears"]
    assert len({one["track"] for one in appear}) >= 45
    assert shown(output)[0].image.shape == (960, 1280, 3)


def test_a_damaged_video_gives_what_it_has(people: Callable[[str], Path], tmp_path: Path) -> None:
    content = people(".webm").read_bytes()
    cut = generated.damaged(tmp_path / "cut.webm", content[: len(content) // 2])
    folder, output, events = tmp_path / "people", tmp_path / "out.avi", tmp_path / "events.ndjson"
    options = ("--people", folder, "--output", output, "--events", events)
    said = refused(1, "watch", cut, *options)
    assert "cut.webm is damaged or truncated: it ends after frame" in said.splitlines()[-1]
    n = len(shown(output))
    assert 5 < n < generated.FRAMES
    assert lines(events)[-1]["event"] == "leaves"
    assert everybody(folder)["examples"] == n


def test_an_unplugged_camera(tmp_path: Path) -> None:
    camera = CameraOnTheNet(lambda number: encode_jpeg(DemoVideo().image(number)))

    def send() -> None:
        camera.tell(40)
        camera.unplug()

    output, events = tmp_path / "out.avi", tmp_path / "events.ndjson"
    sender = threading.Thread(target=send)
    with served(camera) as address:
        sender.start()
        said = refused(1, "watch", address, "--output", output, "--events", events)
        sender.join()
    assert "stopped after frame 40" in said.splitlines()[-1]
    assert shown(output)
    first, *_, last = lines(events)
    assert (first["event"], last["event"]) == ("appears", "leaves")


def test_crops_are_kept_where_asked(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    ok("watch", "demo", "--people", folder, "--frames=5")
    assert not (folder / "crops").exists()
    ok("watch", "demo", "--people", folder, "--frames=5", "--keep-crops")
    [crop] = (folder / "crops").iterdir()
    assert crop.stat().st_mode & 0o777 == 0o600


def test_dlib_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    ok("watch", "demo", "--people", folder, "--frames=3", "--faces=dlib")
    assert everybody(folder)["representation"] == "dlib 128"
    ok("watch", "demo", "--people", folder, "--frames=1")  # as the folder has them
    said = refused(2, "watch", "demo", "--people", folder, "--faces=pixels")
    assert "stored as dlib 128, which cannot be compared with pixels 96" in said


def test_quiet() -> None:
    assert ok("watch", "demo", "--frames=2", "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("code", "arguments", "why"),
    [
        (1, ["nowhere.mp4"], "nowhere.mp4: no such file or folder."),
        (1, ["77"], "camera 77 does not exist or is in use by another program."),
        (1, ["demo", "--output=out.gif"], "out.gif does not have a video suffix. Use one of .mp4"),
        (1, ["demo", "--output=no/out.avi"], "no/out.avi cannot be written."),
        (1, ["demo", "--events=no/events"], "no/events cannot be written"),
        (2, ["demo", "--output=a.avi", "--events=a.avi"], "output and events are the same"),
        (2, ["demo", "--keep-crops"], "Give both"),
        (2, ["demo", "--frames=0"], "--frames"),
        (2, ["demo", "--faces=pixies"], "--faces"),
        (2, ["demo", "--smallest=5"], "--smallest"),
        (2, [], "Missing argument"),
    ],
)
def test_what_cannot_be(
    code: int, arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert why in refused(code, "watch", *arguments)
    assert not (tmp_path / "people").exists()


def test_a_video_is_not_written_over_itself(tmp_path: Path) -> None:
    path = generated.video(tmp_path / "film.avi", n_frames=3)
    before = path.read_bytes()
    assert "source and output are the same" in refused(2, "watch", path, "--output", path)
    assert path.read_bytes() == before


def test_a_folder_that_a_service_uses(tmp_path: Path) -> None:
    store = LearnerStore(str(tmp_path / "people"))
    try:
        for command in (["watch", "demo", "--people"], ["people"]):
            said = refused(1, *command, tmp_path / "people")
            assert f"is in use by process {os.getpid()}. Stop that process" in said
    finally:
        store.close()


def test_a_folder_of_others(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    (tmp_path / "file").write_text("")
    for other in (tmp_path / "file", tmp_path):
        assert "is not a folder of people" in refused(2, "watch", "demo", "--people", other)
    ok("enroll", folder, "Ada", pictures(tmp_path / "ada"))
    (folder / "journal.db").write_bytes(b"nonsense" * 100)
    assert "journal.db" in refused(1, "watch", "demo", "--people", folder)


def test_ctrl_c_finishes_the_video(tmp_path: Path) -> None:
    folder, output = tmp_path / "people", tmp_path / "out.mp4"
    options = ("demo", "--people", str(folder), "--output", str(output), "--events=-")
    run = subprocess.Popen(
        [*WATCH, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert run.stdout is not None
    assert json.loads(run.stdout.readline())["event"] == "appears"
    run.send_signal(signal.SIGINT)
    rest, said = run.communicate(timeout=60)
    assert run.returncode == 130, said
    assert "Ended by SIGINT; all output is complete." in said
    n = len(shown(output))
    assert 0 < n < 600
    assert json.loads(rest.splitlines()[-1])["event"] == "leaves"
    assert everybody(folder)["examples"] >= n


def test_events_go_to_standard_output_while_a_terminal_shows_a_bar() -> None:
    terminal, end = pty.openpty()
    run = subprocess.Popen(
        [*WATCH, "demo", "--frames=20", "--events=-"],
        stdout=subprocess.PIPE,
        stderr=end,
        env=ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(end)
    shown_there = bytearray()
    reader = threading.Thread(target=_read_all, args=(terminal, shown_there))
    reader.start()
    told, _ = run.communicate(timeout=60)
    reader.join()
    os.close(terminal)
    kinds = [json.loads(line)["event"] for line in told.decode().splitlines()]
    assert kinds == ["appears", "named", "leaves"]
    assert b"20 frames" in shown_there
    assert b"appears" not in shown_there


def _read_all(terminal: int, into: bytearray) -> None:
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            return
        if not some:
            return
        into += some


def test_nobody_reads_the_events(tmp_path: Path) -> None:
    output = tmp_path / "out.avi"
    script = f"{' '.join(WATCH)} demo --events - --output {output} | head -n 1"
    ran: Any = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )
    assert ran.returncode == 141, ran.stderr
    assert "Traceback" not in ran.stderr
    assert shown(output)
