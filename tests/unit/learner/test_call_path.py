"""One more example takes a short path through the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from typer.testing import CliRunner

import labelwalk
from labelwalk import OnlineLearner
from labelwalk.cli import app

pytestmark = pytest.mark.shell  # with the compiler off, kernels are modules that are entered too

PACKAGE = str(Path(labelwalk.__file__).parent)
MAX_MODULES = 12
MAX_MODULES_OF_A_COMMAND = 45  # 68 in version 0.7.0


def find_entered_modules(call: Callable[[], object]) -> set[str]:
    """Return the modules of the package in which a call runs a function."""
    entered: set[str] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            entered.add(path.removeprefix(PACKAGE))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered


def test_one_observation_enters_few_modules() -> None:
    learner = OnlineLearner(30)
    learner.teach([[0.0, 0.0], [5.0, 5.0]], ["a", "b"])
    learner.observe(np.random.default_rng(0).normal(size=(300, 2)))
    x = np.array([0.1, 0.2])
    learner.observe(x)
    modules = find_entered_modules(lambda: learner.observe(x))
    assert len(modules) <= MAX_MODULES, sorted(modules)
    assert any(path.endswith("learner.py") for path in modules)


@pytest.mark.parametrize("source", ["in.csv", "row.csv"], ids=["new learner", "saved learner"])
def test_one_row_of_a_command_enters_few_modules(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("x,y,label\n0,0,low\n9,9,high\n1,0,\n")
    Path("row.csv").write_text("x,y\n8,9\n")

    def label(path: str) -> None:
        result = CliRunner().invoke(app, ["label", path, "-oout.csv", "--model=m.lw"])
        assert result.exit_code == 0, result.output

    label("in.csv")
    label("row.csv")  # all modules are imported now
    if source == "in.csv":
        Path("m.lw").unlink()
    modules = find_entered_modules(lambda: label(source))
    assert len(modules) <= MAX_MODULES_OF_A_COMMAND, sorted(modules)
