"""The benchmark runs and says what it must; how fast it was is not for a test to judge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
CORE = BENCHMARKS / "core.py"
EACH = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
for path in sorted(pathlib.Path(sys.argv[1]).glob("[!_]*.py")):
    importlib.import_module(path.stem)
"""


@pytest.mark.slow
def test_the_core_benchmark_reports_every_figure(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    command = [sys.executable, str(CORE), "speed", "defaults", "--quick"]
    command += ["--k", "200", "--json", str(written)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode in (0, 1), outcome.stderr
    figures = json.loads(written.read_text())
    for part in ("dense", "sparse"):
        (figure,) = figures[part]
        assert figure["k"] == 200
        assert figure["largest_bound"] <= 0.01
        assert figure["exact_over_nearest_label"] >= 0.03
    (figure,) = figures["defaults"]
    assert figure["gap_to_naive"] <= 0.01
    assert "times_naive" in outcome.stdout


@pytest.mark.slow
@pytest.mark.shell
def test_whatever_benchmarks_import_is_there() -> None:
    for extra in ("ray", "confluent_kafka", "cv2", "httpx", "uvicorn", "matplotlib"):
        pytest.importorskip(extra)
    command = [sys.executable, "-c", EACH, str(BENCHMARKS)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
