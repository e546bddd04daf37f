"""Measure the working tree against another commit: processes of both take turns.

The suites use the public API only, so the scripts of the working tree measure either package. The
other commit is exported to build/bench/, which git ignores, and kept there for the next time. It
runs in the environment of the working tree where both commits declare the same dependencies, and in
one of its own where not. The first process of each side, which may have to compile for a minute or
two, is not counted.

A ratio is new / old, the median over rounds, with the least and the most. The noise is how far the
median of so many rounds strays from 1 by itself, in 19 cases of 20, as repeats of the same side
show. A verdict other than "within noise" needs more than that, and every round on the same side of
1. Look at the controls first: the package has no part in them.

    scripts/bench core --against main
    scripts/bench core defaults --k 500 --against HEAD --rounds 9     # what is not committed yet
    scripts/bench service --seconds 5 --against main --write service.md
"""

import argparse
import contextlib
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "bench"
SUITES = ("core", "scale", "service", "streams")
THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
STOPPING_S = 10.0  # for a process to end, with those it has started, before it is killed
SURE = 0.95

Measured = dict[str, float]  # by metric


class Side(NamedTuple):
    """A package, and the Python that runs it."""

    name: str
    tree: Path
    python: Path


class Comparison(NamedTuple):
    """One metric of both sides."""

    metric: str
    old: float
    new: float
    ratio: float
    least: float
    most: float
    noise: float
    verdict: str


class BenchError(Exception):
    """What went wrong, and what to do."""


def commit_of(revision: str) -> str:
    """Return the full name of a commit."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "--end-of-options"]
    found = subprocess.run([*git, f"{revision}^{{commit}}"], capture_output=True, text=True)
    if found.returncode:
        if not (ROOT / ".git").exists():
            raise BenchError(f"{ROOT} is no clone of the repository. Clone it with git.")
        raise BenchError(
            f"--against {revision}: this clone has no such commit. Check the name, or fetch it: "
            "git fetch --tags origin (in a shallow clone: git fetch --unshallow --tags origin)."
        )
    return found.stdout.strip()


def export(commit: str) -> Path:
    """Return a folder with the files of a commit."""
    tree = CACHE / commit[:12] / "tree"
    if tree.is_dir():
        return tree
    tree.parent.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "--format=tar", commit], capture_output=True
    )
    if archive.returncode:
        raise BenchError(
            f"git cannot read all files of {commit[:12]}: {archive.stderr.decode().strip()} "
            "Fetch them: git fetch --refetch origin."
        )
    with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(Path(folder) / "tree", filter="data")
        os.rename(Path(folder) / "tree", tree)
    return tree


def dependencies(tree: Path) -> set[str]:
    """Return what a benchmark of a tree needs, from its pyproject.toml."""
    project = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    needed, waiting = {f"python{project.get('requires-python', '')}"}, ["labelwalk[bench]"]
    while waiting:
        requirement = waiting.pop()
        own = re.fullmatch(r"labelwalk\[(.+)\]", requirement)
        if own:
            for extra in own[1].split(","):
                waiting += extras.get(extra.strip(), [])
        else:
            needed.add(requirement)
    return needed | set(project.get("dependencies", []))


def python_for(tree: Path) -> Path:
    """Return a Python with the dependencies of a tree: this one where they are the same."""
    if dependencies(tree) == dependencies(ROOT):
        return Path(sys.executable)
    folder = tree.parent / "venv"
    python, ready = folder / "bin" / "python", folder / ".ready"
    if not ready.exists():
        say(f"Installing the dependencies of {tree.parent.name} (about a minute) ...")
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [str(python), "-m", "pip", "install", "-qq", f"{tree}[bench]"],
        ):
            if subprocess.run(command, stdout=sys.stderr).returncode:
                raise BenchError(f"This failed: {' '.join(command)}")
        ready.touch()
    return python


def measure(suite: str, options: Sequence[str], side: Side) -> tuple[Measured, dict[str, str]]:
    """Run a suite in a process of its own; return what it measured, and what is better."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        script = Path(__file__).with_name(f"{suite}.py")
        lines = output([str(side.python), str(script), "--measurements", *options], side, folder)
    head, *measurements = map(json.loads, lines)
    if not Path(head["package"] or "").is_relative_to(side.tree / "src"):
        raise BenchError(
            f"{side.name} imported labelwalk from {head['package']}, not from {side.tree / 'src'}."
        )
    values = {line["metric"]: float(line["value"]) for line in measurements}
    return values, {line["metric"]: line["better"] for line in measurements}


def output(command: list[str], side: Side, folder: str) -> list[str]:
    """Return the lines that a process prints; it ends when this one is interrupted."""
    environment = {name: value for name, value in os.environ.items() if "LABELWALK" not in name}
    environment |= dict.fromkeys(THREAD_VARIABLES, "1")
    environment |= {"PYTHONPATH": str(side.tree / "src"), "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        printed, errors = process.communicate()
    except BaseException:
        stop(process)
        raise
    if process.returncode:
        failed = f"{side.name} failed ({process.returncode}): {' '.join(command)}"
        raise BenchError(f"{failed}\n{errors[-3000:]}")
    return printed.splitlines()


def stop(process: subprocess.Popen[str]) -> None:
    """End a process and those it has started."""
    try:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(STOPPING_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def compare(metric: str, old: list[float], new: list[float], better: str) -> Comparison:
    """Compare one metric over rounds; `old` and `new` have one number of each."""
    before, after = median(old), median(new)
    if min(*old, *new) <= 0.0:
        nan, verdict = math.nan, "same" if old == new else "differs"
        return Comparison(metric, before, after, nan, nan, nan, nan, verdict)
    logs = [math.log(b / a) for a, b in zip(old, new, strict=True)]
    middle, noise = median(logs), noise_of(old, new)
    if old == new:
        verdict = "same"
    elif math.isnan(noise):
        verdict = "noise unknown"
    elif abs(middle) <= noise or min(logs) < 0 < max(logs):
        verdict = "within noise"
    elif better == "control":
        verdict = "disturbed"
    else:
        verdict = "better" if (middle < 0) == (better == "lower") else "worse"
    ratio, lowest, highest = (math.exp(log) for log in (middle, min(logs), max(logs)))
    return Comparison(metric, before, after, ratio, lowest, highest, math.expm1(noise), verdict)


def noise_of(old: list[float], new: list[float]) -> float:
    """Return how far the logarithm of the median ratio strays from 0 by itself.

    Successive repeats of one side differ by noise alone, also while the machine slowly changes.
    """
    from scipy.stats import t as student  # takes a second to import

    rounds = len(old)
    if rounds < 2:
        return math.nan
    steps = [math.log(b / a) for side in (old, new) for a, b in pairwise(side)]
    variance = sum(step * step for step in steps) / len(steps)  # of the ratio of two processes
    of_median = math.sqrt(math.pi / 2 * variance / rounds)
    return of_median * float(student.ppf(0.5 + SURE / 2, rounds - 1))


def table(comparisons: Sequence[Comparison]) -> str:
    """Return a Markdown table."""
    rows: list[tuple[str, ...]] = [("metric", "old", "new", "new / old", "noise", "verdict")]
    for metric, old, new, ratio, least, most, noise, verdict in comparisons:
        ratios = "" if math.isnan(ratio) else f"{ratio:.3f} ({least:.3f}–{most:.3f})"
        noises = "" if math.isnan(noise) else f"± {noise:.1%}" if noise < 1 else "> 100%"
        rows.append((metric, f"{old:.4g}", f"{new:.4g}", ratios, noises, verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join(f"| {' | '.join(map(str.ljust, row, widths))} |" for row in rows)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rounds_of(suite: str, options: list[str], sides: list[Side], n: int) -> list[Comparison]:
    """Let both sides take turns; return what they measured."""
    measured: list[list[Measured]] = [[], []]
    better: dict[str, str] = {}
    for i in range(n + 1):
        for side, its_rounds in zip(sides, measured, strict=True):
            say(f"{f'round {i} of {n}' if i else 'first process, not counted'}: {side.name} ...")
            values, directions = measure(suite, options, side)
            better |= directions
            its_rounds += [values] if i else []
    in_all = [m for m in better if all(m in values for rounds in measured for values in rounds)]
    old, new = measured
    return [compare(m, [v[m] for v in old], [v[m] for v in new], better[m]) for m in in_all]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        epilog="Other options are those of the suite.",
    )
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--against", metavar="REV", required=True, help="any git revision")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each side (5)")
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    arguments, options = parser.parse_known_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds}: give 1 or more.")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        commit = commit_of(arguments.against)
        tree = export(commit)
        sides = [
            Side(f"old, {commit[:12]}", tree, python_for(tree)),
            Side("new, the working tree", ROOT, Path(sys.executable)),
        ]
        comparisons = rounds_of(arguments.suite, options, sides, arguments.rounds)
    except BenchError as error:
        sys.exit(f"scripts/bench: {error}")
    except KeyboardInterrupt:
        say("Interrupted.")
        sys.exit(130)
    command = " ".join(["scripts/bench", *sys.argv[1:]])
    text = f"{command}\n\nold: {commit[:12]}, {arguments.rounds} rounds\n\n{table(comparisons)}"
    print(text)
    if arguments.write:
        arguments.write.write_text(f"# {arguments.suite} against {arguments.against}\n\n{text}\n")


if __name__ == "__main__":
    main()
