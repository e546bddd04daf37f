"""The scripts of the gallery, and the one that draws the tutorial, run and end in a picture."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONGEST = 60  # lines

pytestmark = pytest.mark.shell


def run(script: Path, folder: Path, *arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(script), *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_there_are_seven() -> None:
    assert len(EXAMPLES) == 7


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_runs(script: Path, tmp_path: Path) -> None:
    run(script, tmp_path)


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_is_short_and_ends_in_a_picture(script: Path) -> None:
    lines = script.read_text("utf-8").splitlines()
    assert len(lines) < LONGEST
    assert lines[-1] == "plt.show()"


@pytest.mark.slow
def test_the_pictures_of_the_tutorial_can_be_drawn(tmp_path: Path) -> None:
    run(ROOT / "docs" / "pictures.py", tmp_path, str(tmp_path))
    shown = re.findall(r"\(images/(.+?)\)", (ROOT / "docs" / "tutorial.md").read_text("utf-8"))
    assert {path.name for path in tmp_path.iterdir()} == set(shown)
