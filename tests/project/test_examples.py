"""The scripts of the gallery, and the one that draws the tutorial, run and end in a picture."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot as plt
from matplotlib import rc_context

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LONGEST = 60  # lines

pytestmark = pytest.mark.shell


def test_there_are_seven() -> None:
    assert len(EXAMPLES) == 7


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_runs(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run it here, where libraries are imported already and warnings are errors."""
    monkeypatch.chdir(tmp_path)
    with rc_context({"backend": "Agg"}):
        runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()
    plt.close("all")


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_a_script_of_the_gallery_is_short_and_ends_in_a_picture(script: Path) -> None:
    lines = script.read_text("utf-8").splitlines()
    assert len(lines) < LONGEST
    assert lines[-1] == "plt.show()"


@pytest.mark.slow
def test_the_pictures_of_the_tutorial_can_be_drawn(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(ROOT / "docs" / "pictures.py"), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    shown = re.findall(r"\(images/(.+?)\)", (ROOT / "docs" / "tutorial.md").read_text("utf-8"))
    assert {path.name for path in tmp_path.iterdir()} == set(shown)
