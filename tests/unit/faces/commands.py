"""The commands of faces as a test runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from labelwalk.cli import app
from labelwalk.faces.capture import open_source
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.frames import Frame
from tests.unit.faces import generated
from tests.unit.faces.generated import scene


def faces(*arguments: str | Path, input: str | None = None) -> Result:
    return CliRunner().invoke(app, ["faces", *map(str, arguments)], input=input)


def ok(*arguments: str | Path) -> Result:
    result = faces(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(code: int, *arguments: str | Path) -> str:
    result = faces(*arguments)
    assert result.exit_code == code, result.output
    return result.stderr


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def shown(path: Path) -> list[Frame]:
    with open_source(path) as video:
        return list(video)


def everybody(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ok("people", folder, "--json").stdout)
    return found


def pictures(folder: Path, numbers: tuple[int, ...] = (5, 20, 35, 50), people: int = 2) -> Path:
    """Pictures out of the demo: Ada in frames 1 to 60, Ben in 61 to 120."""
    video = DemoVideo(people=people)
    return generated.folder(folder, [(f"{n}.png", video.image(n)) for n in numbers])


def picture(path: Path, people: list[int]) -> Path:
    return generated.folder(path.parent, [(path.name, scene(people))]) / path.name
