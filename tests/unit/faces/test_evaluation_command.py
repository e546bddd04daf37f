"""`python -m paper.face_evaluation`: names compared with the truth."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.pictures import encode_jpeg
from paper.face_evaluation import main
from tests.unit.faces import generated
from tests.unit.faces.commands import everybody, ok, pictures
from tests.unit.faces.network_camera import CameraOnTheNet, served
from tests.unit.faces.real_videos import real

pytestmark = [pytest.mark.shell, pytest.mark.slow]


class Result(NamedTuple):
    """What a command printed, and its exit code."""

    exit_code: int
    stdout: str
    stderr: str


def run_evaluation(*arguments: str | Path) -> Result:
    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = int(str(error.code))
    return Result(code, stdout.getvalue(), stderr.getvalue())


def ok_evaluation(*arguments: str | Path) -> Result:
    result = run_evaluation(*arguments)
    assert result.exit_code == 0, result
    return result


def refused_evaluation(code: int, *arguments: str | Path) -> str:
    result = run_evaluation(*arguments)
    assert result.exit_code == code, result
    return result.stderr


def evaluated(*arguments: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ok_evaluation(*arguments, "--json", "--quiet").stdout)
    return found


def table(path: Path, n_frames: int, rename: dict[str | None, str] | None = None) -> Path:
    """Write the truth of the demo with two people."""
    rows = ["frame,x,y,w,h,name"]
    for number in range(1, n_frames + 1):
        for box, name in DemoVideo(people=2).truth(number):
            rows.append(",".join(map(str, (number, *box, (rename or {}).get(name, name)))))
    path.write_text("\n".join(rows) + "\n")
    return path


def test_the_demo_brings_its_truth() -> None:
    said = ok_evaluation("demo", "--frames=70", "--faces=pixels-32").stdout.splitlines()
    assert said[0] == "70 frames, 70 of them judged. Faces taught: Ada 4, Ben 4."
    assert said[1] == "precision      1.0000   62 of 62 names are right"
    assert said[2] == "recall         1.0000   62 of 62 faces of known people were named"
    assert said[3] == "false accepts  0.0000   0 of 0 others got a name"


def test_a_table_and_lines(people: Callable[[str], Path], tmp_path: Path) -> None:
    found = evaluated(people(".avi"), table(tmp_path / "truth.csv", 40))
    assert (found["frames"], found["judged"], found["taught"]) == (50, 40, {"Ada": 4})
    assert (found["true"], found["precision"]) == (36, 1.0)
    assert found["recall"] > 0.9
    boxes = tmp_path / "ada.txt"
    boxes.write_text(
        "".join(f"{','.join(map(str, DemoVideo().truth(n)[0].box))}\n" for n in (9, 10))
    )
    found = evaluated(people(".avi"), boxes, "--first=9", "--labels=1")
    assert (found["judged"], found["taught"], found["true"]) == (2, {"ada": 1}, 1)
    assert evaluated(people(".avi"), boxes, "--first=9", "--name=Ada")["taught"] == {"Ada": 2}


def test_strangers_who_are_named_are_false_accepts(
    people: Callable[[str], Path], tmp_path: Path
) -> None:
    truth = table(tmp_path / "truth.csv", 50)
    content = truth.read_text().splitlines()
    nameless = [line if i < 6 else line.rpartition(",")[0] + "," for i, line in enumerate(content)]
    truth.write_text("\n".join(nameless))
    found = evaluated(people(".avi"), truth)
    assert (found["true"], found["strangers"]) == (1, 45)
    assert found["accepted"] > 40
    assert found["false_accepts"] == found["accepted"] / 45
    assert found["precision"] < 0.1


def test_people_of_a_folder_are_copied(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    ok("enroll", folder, "Ada", pictures(tmp_path / "ada", people=4))
    before = everybody(folder)
    found = evaluated("demo", "--people", folder, "--frames=120")
    assert found["taught"] == {}
    assert (found["true"], found["strangers"]) == (60, 60)
    assert (found["precision"], found["accepted"]) == (1.0, 0)
    assert found["recall"] > 0.9
    assert everybody(folder) == before
    found = evaluated("demo", "--people", folder, "--frames=70", "--labels=2")
    assert found["taught"] == {"Ada": 2, "Ben": 2}


def warned(*arguments: str | Path) -> list[str]:
    said = ok_evaluation(*arguments, "--json", "--quiet", "--faces=pixels-32").stderr
    return said.splitlines()


def test_a_truth_of_more_frames_than_there_are(
    people: Callable[[str], Path], tmp_path: Path
) -> None:
    video, truth = people(".avi"), table(tmp_path / "truth.csv", 60)
    (said,) = warned(video, truth)
    assert said.startswith(f"Warning: {truth}: 10 of its 60 frames come after frame 50, the last")
    assert str(video) in said
    assert warned(video, truth, "--frames=40") == []  # nobody asked for more
    assert warned(video, table(tmp_path / "truth.csv", 50)) == []


def test_lines_that_end_before_the_frames_do(people: Callable[[str], Path], tmp_path: Path) -> None:
    lines = tmp_path / "ada.txt"
    lines.write_text("10,10,50,50\n" * 5)
    said = ok_evaluation(people(".avi"), lines).stderr
    assert "it ends at frame 5, and" in said
    assert "say so with --first" in said


def test_a_truth_of_other_pixels(people: Callable[[str], Path], tmp_path: Path) -> None:
    boxes = [DemoVideo().truth(number)[0].box for number in range(1, 9)]
    lines = [",".join(map(str, box)) for box in boxes]
    truth = tmp_path / "ada.txt"
    truth.write_text("\n".join([*lines[:6], "320,0,40,40", "0,-40,40,40"]))
    _, said = warned(people(".avi"), truth)
    assert f"{truth}: 2 of 8 true boxes do not lie in the 320 × 240 pixels of" in said
    truth.write_text("\n".join(["0,0,9,9"] * 8))
    _, said = warned(people(".avi"), truth)
    assert f"{truth}: on none of its 8 true boxes was a face found." in said


@pytest.mark.slow
def test_a_real_person() -> None:
    truth = real("face_videos/david_gt.txt")
    found = evaluated(real("face_videos/david.webm"), truth, "--first=300", "--name=David")
    assert (found["frames"], found["judged"], found["taught"]) == (770, 471, {"David": 4})
    assert found["precision"] > 0.95
    assert found["recall"] > 0.5


def test_a_damaged_video(people: Callable[[str], Path], tmp_path: Path) -> None:
    content = people(".webm").read_bytes()
    cut = generated.damaged(tmp_path / "cut.webm", content[: len(content) // 2])
    said = refused_evaluation(1, cut, table(tmp_path / "truth.csv", 50))
    assert "is damaged or truncated" in said


@pytest.mark.parametrize(
    ("code", "arguments", "why"),
    [
        (2, ["film.avi"], "TRUTH is missing"),
        (2, ["demo", "--labels=0"], "nobody is known. Give --labels, or --people"),
        (2, ["demo", "--people=nowhere"], "is not a folder of people"),
        (1, ["demo", "nowhere.csv"], "TRUTH: nowhere.csv cannot be read (No such file or dir"),
        (1, ["demo", "folder"], "TRUTH: folder cannot be read (Is a directory). Give the path of"),
        (3, ["demo", "film.csv"], "film.csv is not text in UTF-8 (invalid start byte). Save it as"),
        (3, ["demo", "bad.csv"], "bad.csv, line 2: 'x' is not the number of a frame"),
        (3, ["demo", "bad.csv", "--name=Ada"], "has a column for names and for frames"),
        (
            3,
            ["demo", "late.csv", "--frames=2"],
            "has none of the frames 1 to 2 of 4 synthetic people, but frames 9,000 to",
        ),
        (
            3,
            ["demo", "aside.txt", "--frames=3"],
            "aside.txt: none of its 2 boxes for these frames lies in the 320 × 240",
        ),
        (1, ["nowhere.avi", "late.csv"], "no such file or folder"),
        (2, ["demo", "--frames=0"], "frames=0 is not an integer from 1"),
        (2, ["demo", "--frames=-1"], "frames=-1 is not an integer from 1"),
        (2, ["demo", "--faces=pixies"], "--faces"),
    ],
)
def test_what_cannot_be(
    code: int, arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.csv").write_text("frame,x,y,w,h,name\nx,0,0,1,1,Ada\n")
    (tmp_path / "film.csv").write_bytes(b"\x80" * 9)
    (tmp_path / "folder").mkdir()
    (tmp_path / "aside.txt").write_text("400,10,50,50\n10,300,50,50\n")
    (tmp_path / "late.csv").write_text("frame,x,y,w,h,name\n9000,0,0,1,1,Ada\n")
    assert why in refused_evaluation(code, *arguments)


def test_ctrl_c_tells_what_was_measured(tmp_path: Path) -> None:
    camera = CameraOnTheNet(lambda number: encode_jpeg(DemoVideo(people=2).image(number)))

    def send() -> None:
        camera.tell(40)  # somebody listens, and so signals are heard
        os.kill(os.getpid(), signal.SIGINT)
        camera.unplug()

    sender = threading.Thread(target=send)
    with served(camera) as address:
        sender.start()
        result = run_evaluation(address, table(tmp_path / "truth.csv", 40))
        sender.join()
    assert result.exit_code in (130, 1), result  # 1: it saw the end of the camera first
    if result.exit_code == 130:
        assert "Ended by SIGINT; the figures are those of the frames until then." in result.stderr
    assert "precision" in result.stdout
