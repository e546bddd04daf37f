"""Benchmarks run and say what they must; how fast it was is not for a test to judge."""

from __future__ import annotations

import ast
import json
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import labelwalk
from benchmarks._against import SUITES, compare, dependencies
from labelwalk import distributed
from tests.support.waiting import wait_until

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
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


PUBLIC = {
    "labelwalk": set(labelwalk.__all__),
    "labelwalk.distributed": set(distributed.__all__),
    "labelwalk.client": {"Answers", "AsyncClient", "Client", "LabelQuestion", "ServiceError"},
}
OWN = {"self", "cls"}
NAMED_TUPLE = {"_asdict", "_replace"}


def private_uses(source: str) -> Iterator[str]:
    """Yield what a script uses of labelwalk beside its public names, programs in strings too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labelwalk"):
            public = PUBLIC.get(str(node.module), set())
            yield from (f"{node.module}.{a.name}" for a in node.names if a.name not in public)
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.startswith("labelwalk")]
            yield from (name for name in names if name not in PUBLIC)
        elif isinstance(node, ast.Attribute):
            yield from private_attribute(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from private_text(node.value)


def private_attribute(node: ast.Attribute) -> Iterator[str]:
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    is_private = re.match(r"_(?!_)", node.attr) and node.attr not in NAMED_TUPLE
    if (is_private and owner not in OWN) or (
        owner == "labelwalk" and node.attr not in PUBLIC["labelwalk"]
    ):
        yield f"{owner}.{node.attr}"


def private_text(text: str) -> Iterator[str]:
    if re.fullmatch(r"labelwalk(\.\w+)+", text) and text not in PUBLIC:
        yield text
    if re.search(r"^(from|import) ", text, re.M) and "labelwalk" in text:
        yield from private_uses(text)


def with_helpers(path: Path) -> set[Path]:
    """Return a script and the scripts beside it that it imports or runs."""
    scripts, waiting = set[Path](), [path]
    while waiting:
        script = waiting.pop()
        if script not in scripts:
            scripts.add(script)
            named = re.findall(
                r"^from (_[a-z]\w*) import|\"(_[a-z]\w*)\.py\"", script.read_text(), re.M
            )
            waiting += [BENCHMARKS / f"{a or b}.py" for a, b in named]
    return scripts


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_uses_public_names_alone(suite: str) -> None:
    for script in with_helpers(BENCHMARKS / f"{suite}.py"):
        assert list(private_uses(script.read_text("utf-8"))) == [], script.name


@pytest.mark.parametrize(
    "source",
    [
        "from labelwalk.engine.engine import Engine",
        "from labelwalk import learner",
        "from labelwalk.distributed import ray_executor",
        "import labelwalk.engine.engine as engine",
        "import labelwalk\nlabelwalk.engine.Engine",
        "learner._engine",
        "learner.settings._engine.state",
        "PROGRAM = 'import sys\\nfrom labelwalk.engine.engine import Engine'",
        "import_module('labelwalk.engine.engine')",
    ],
)
def test_a_private_name_is_noticed(source: str) -> None:
    assert list(private_uses(source))


def test_helpers_of_a_suite_are_looked_at_too() -> None:
    names = {script.name for script in with_helpers(BENCHMARKS / "scale.py")}
    assert names >= {"scale.py", "_report.py", "_stream.py"}


STUB = """
from _report import Measurement, print_measurements
import labelwalk
print_measurements([
    Measurement("time, s", labelwalk.SECONDS),
    Measurement("rate", 1 / labelwalk.SECONDS, "higher"),
    Measurement("errors", 0.0),
    Measurement("control", labelwalk.SECONDS, "control"),
])
"""
STARTS_ANOTHER = """
import pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[-1]).write_text(str(child.pid))
time.sleep(600)
"""


def git(clone: Path, *arguments: str) -> str:
    config = ["user.name=a", "user.email=a@b", "commit.gpgsign=false", "core.hooksPath=/dev/null"]
    options = [option for setting in config for option in ("-c", setting)]
    command = ["git", "-C", str(clone), *options, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commit(clone: Path, seconds: float) -> None:
    (clone / "src/labelwalk/__init__.py").write_text(f"SECONDS = {seconds}\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-m", "A version")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with a package of one line and a suite of one process; two commits."""
    clone = tmp_path / "clone"
    for folder in ("src/labelwalk", "benchmarks"):
        (clone / folder).mkdir(parents=True)
    for name in ("_against.py", "_report.py"):
        shutil.copy(BENCHMARKS / name, clone / "benchmarks")
    (clone / "benchmarks/core.py").write_text(STUB)
    (clone / "pyproject.toml").write_text("[project]\nname = 'labelwalk'\n")
    (clone / ".gitignore").write_text("/build/\n__pycache__/\n")
    git(tmp_path, "init", "-q", str(clone))
    commit(clone, 4.0)
    commit(clone, 2.0)
    return clone


def against(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(clone / "benchmarks/_against.py"), "core", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def cells(table: str) -> dict[str, list[str]]:
    rows = [line.strip("| ").split("|") for line in table.splitlines() if line.startswith("| ")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


@pytest.mark.slow
@pytest.mark.shell
class TestAgainst:
    def test_the_working_tree_is_measured_against_a_commit(self, clone: Path) -> None:
        (clone / "src/labelwalk/__init__.py").write_text("SECONDS = 1.0\n")  # not committed
        outcome = against(clone, "--against", "HEAD~1", "--rounds=3", f"--write={clone}/table.md")
        assert outcome.returncode == 0, outcome.stderr
        rows = cells(outcome.stdout)
        assert rows["time, s"] == ["4", "1", "0.250 (0.250–0.250)", "± 0.0%", "better"]
        assert rows["rate"] == ["0.25", "1", "4.000 (4.000–4.000)", "± 0.0%", "better"]
        assert rows["errors"] == ["0", "0", "", "", "same"]
        assert rows["control"][-1] == "disturbed"
        assert cells((clone / "table.md").read_text()) == rows
        counted = [line for line in outcome.stderr.splitlines() if line.startswith("round")]
        assert ["old" in line for line in counted] == [True, False] * 3

    def test_nothing_but_ignored_files_is_left(self, clone: Path) -> None:
        assert against(clone, "--against=HEAD", "--rounds=1").returncode == 0
        assert git(clone, "status", "--porcelain") == ""
        assert len(git(clone, "worktree", "list").splitlines()) == 1
        (kept,) = (clone / "build/bench").iterdir()
        assert [path.name for path in kept.iterdir()] == ["tree"]

    def test_the_same_package_is_the_same(self, clone: Path) -> None:
        rows = cells(against(clone, "--against=HEAD", "--rounds=1").stdout)
        assert {row[-1] for name, row in rows.items() if name in ("time, s", "errors")} == {"same"}

    @pytest.mark.parametrize("revision", ["nonsense", "-x", "HEAD~5", "", "HEAD:src", "0" * 40])
    def test_an_unknown_commit(self, clone: Path, revision: str) -> None:
        outcome = against(clone, f"--against={revision}")
        assert outcome.returncode == 1
        assert f"--against {revision}: this clone has no such commit" in outcome.stderr
        assert "git fetch" in outcome.stderr
        assert not (clone / "build").exists()

    def test_a_shallow_clone(self, clone: Path, tmp_path: Path) -> None:
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{clone}", str(tmp_path / "shallow"))
        first = git(clone, "rev-parse", "HEAD~1").strip()
        outcome = against(tmp_path / "shallow", "--against", first)
        assert outcome.returncode == 1
        assert "git fetch --unshallow" in outcome.stderr

    def test_files_without_a_repository(self, clone: Path) -> None:
        shutil.rmtree(clone / ".git")
        assert "Clone it with git" in against(clone, "--against=HEAD").stderr

    def test_another_package_is_not_measured_in_its_place(self, clone: Path) -> None:
        git(clone, "rm", "-rq", "src")
        git(clone, "commit", "-m", "No package")
        git(clone, "revert", "--no-edit", "HEAD")
        suite = STUB.replace("import labelwalk\n", "").replace("labelwalk.SECONDS", "1.0")
        (clone / "benchmarks/core.py").write_text(suite)
        outcome = against(clone, "--against=HEAD~1", "--rounds=1")
        assert outcome.returncode == 1
        assert "imported labelwalk from" in outcome.stderr

    def test_a_suite_that_fails(self, clone: Path) -> None:
        (clone / "src/labelwalk/__init__.py").write_text("raise RuntimeError('broken')\n")
        outcome = against(clone, "--against=HEAD")
        assert outcome.returncode == 1
        assert "new, the working tree failed" in outcome.stderr
        assert "broken" in outcome.stderr

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_an_interrupt_ends_all_processes(self, clone: Path, number: int) -> None:
        (clone / "benchmarks/core.py").write_text(STARTS_ANOTHER)
        told = clone / "build/child"
        script = str(clone / "benchmarks/_against.py")
        process = subprocess.Popen(
            [sys.executable, script, "core", "--against=HEAD", str(told)], stderr=subprocess.PIPE
        )
        wait_until(lambda: told.exists() and told.read_text())
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == 130
        wait_until(lambda: not is_running(int(told.read_text())))
        assert [path for path in (clone / "build/bench").iterdir() if "tmp" in path.name] == []


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class TestDependencies:
    EXTRAS = """
    [project.optional-dependencies]
    plot = ["matplotlib>=3.9"]
    bench = ["labelwalk[plot, serve]"]
    serve = ["uvicorn"]
    """

    def of(self, folder: Path, project: str) -> set[str]:
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").write_text(textwrap.dedent(project + self.EXTRAS))
        return dependencies(folder)

    def test_extras_are_followed(self, tmp_path: Path) -> None:
        needed = self.of(tmp_path, "[project]\ndependencies = ['numpy']\n")
        assert needed == {"python", "numpy", "matplotlib>=3.9", "uvicorn"}

    def test_what_is_only_for_development_does_not_matter(self, tmp_path: Path) -> None:
        project = "[project]\nversion = '{}'\n"
        (tmp_path / "a").mkdir()
        one = self.of(tmp_path / "a", project.format(1))
        self.EXTRAS += "dev = ['pytest']\n"
        assert self.of(tmp_path / "b", project.format(2)) == one

    @pytest.mark.parametrize("line", ["requires-python = '>=3.12'", "dependencies = ['rich']"])
    def test_what_differs_matters(self, tmp_path: Path, line: str) -> None:
        one = self.of(tmp_path, "[project]\n")
        assert self.of(tmp_path, f"[project]\n{line}\n") != one


def verdicts(effect: float, noise: float, drift: float, n: int = 400) -> list[str]:
    random = np.random.default_rng(0)
    found = []
    for _ in range(n):
        logs = noise * random.normal(size=(5, 2)) + drift * np.arange(10).reshape(5, 2)
        old, new = np.exp(logs + np.log([1.0, effect])).T.tolist()
        found.append(compare("a", old, new, "lower").verdict)
    return found


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.3])
def test_noise_is_seldom_taken_for_a_difference(noise: float) -> None:
    assert np.mean([v == "within noise" for v in verdicts(1.0, noise, drift=0.0)]) > 0.95


@pytest.mark.parametrize(("effect", "verdict"), [(1.3, "worse"), (0.7, "better")])
def test_a_difference_is_told(effect: float, verdict: str) -> None:
    assert np.mean([v == verdict for v in verdicts(effect, 0.03, drift=0.005)]) > 0.95


def test_one_round_does_not_know_its_noise() -> None:
    assert compare("a", [1.0], [2.0], "lower").verdict == "noise unknown"
