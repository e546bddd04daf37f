"""What benchmarks have in common: a table of figures beside what was asked, printed and written."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """One figure, what was asked of it, and whether it was reached."""

    what: str
    figure: str
    asked: str
    reached: bool


class Measurement(NamedTuple):
    """One number of the package, for comparing it with that of another version."""

    metric: str
    value: float
    better: str = "lower"  # or "higher", or "control": the package has no part in it


def print_measurements(measurements: Iterable[Measurement]) -> None:
    """Print a JSON line for the package that is measured, and one for each measurement."""
    package = importlib.util.find_spec("labelwalk")
    print(json.dumps({"package": package and package.origin}), flush=True)
    for measurement in measurements:
        print(json.dumps(measurement._asdict()), flush=True)


def parse(doc: str, *, data: bool, needed: bool = True) -> argparse.Namespace:
    """Read --write, and --data where a benchmark needs, or can use, the folder of NPZ files."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    if data:
        parser.add_argument("--data", type=Path, default=os.environ.get("LABELWALK_DATA"))
    arguments = parser.parse_args()
    missing = data and arguments.data is None
    if missing and not needed:
        return arguments
    if missing or (data and not Path(arguments.data).is_dir()):
        parser.error("--data FOLDER or LABELWALK_DATA must name the folder with the NPZ files")
    return arguments


def report(title: str, doc: str, lines: Iterable[Line], write: Path | None) -> int:
    """Print figures as they come, write them down, and return how many were missed, at most 1."""
    table = ["| | figure | asked |", "|---|---|---|"]
    missed = 0
    for line in lines:
        missed += not line.reached
        table.append(f"| {line.what} | {line.figure} | {line.asked}{_mark(line)} |")
        print(table[-1], flush=True)
    if write:
        write.write_text("\n".join([f"# {title}", "", doc.strip(), "", *table]) + "\n")
    return min(missed, 1)


def _mark(line: Line) -> str:
    return "" if line.reached else " (missed)"
