"""How many modules of the package a row passes through on its way from a file to its answer."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import pytest
from typer.testing import CliRunner

import labelwalk
from labelwalk.cli import app

pytestmark = pytest.mark.shell

PACKAGE = Path(labelwalk.__file__).parent
MAX_ENTERED_MODULES = 45  # 68 in version 0.7.0


def collect_entered_modules(arguments: list[str]) -> list[str]:
    """Run a command and return the modules in which a function was called."""
    entered: set[str] = set()

    def record(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            entered.add(frame.f_code.co_filename)

    sys.setprofile(record)
    try:
        result = CliRunner().invoke(app, arguments)
    finally:
        sys.setprofile(None)
    assert result.exit_code == 0, result.output
    inside = [Path(name) for name in entered if Path(name).is_relative_to(PACKAGE)]
    return sorted(path.relative_to(PACKAGE).as_posix() for path in inside)


def test_one_row_enters_few_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("x,y,label\n0,0,low\n9,9,high\n1,0,\n")
    Path("row.csv").write_text("x,y\n8,9\n")
    label = ["label", "--model=m.lw"]
    CliRunner().invoke(app, [*label, "in.csv", "-oout.csv"])
    CliRunner().invoke(app, [*label, "row.csv", "-owarm.csv"])  # imports and compiles
    entered = collect_entered_modules([*label, "row.csv", "-onamed.csv"])
    assert len(entered) <= MAX_ENTERED_MODULES, entered
