"""Tables of figures and of what is required of them, printed and written."""

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import NamedTuple, NoReturn

MISSED = " (missed)"


class Line(NamedTuple):
    """One figure, what is required of it, and whether it is reached."""

    what: str
    figure: str
    required: str = ""
    reached: bool = True


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


def make_parser(
    doc: str | None, *, write: bool = True, measurements: bool = False
) -> argparse.ArgumentParser:
    """Return a parser with --write, and with --measurements for a suite that can be compared."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if write:
        parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    if measurements:
        text = "print one JSON line for each measurement"
        parser.add_argument("--measurements", action="store_true", help=text)
    return parser


def parse_with_data(doc: str | None, *, needed: bool = True) -> argparse.Namespace:
    """Read --write, and with --data the folder of NPZ files that a benchmark needs, or can use."""
    parser = make_parser(doc)
    parser.add_argument("--data", type=Path, default=os.environ.get("LABELWALK_DATA"))
    arguments = parser.parse_args()
    if not (arguments.data.is_dir() if arguments.data else not needed):
        parser.error("--data FOLDER or LABELWALK_DATA must name the folder with the NPZ files")
    return arguments


def run_with_data(
    title: str, doc: str | None, lines: Callable[[Path], Iterable[Line]], *, needed: bool = True
) -> NoReturn:
    """Report the lines of a benchmark on the data folder, and exit."""
    arguments = parse_with_data(doc, needed=needed)
    sys.exit(report(title, doc, lines(arguments.data), arguments.write))


def report(title: str, doc: str | None, lines: Iterable[Line], write: Path | None) -> int:
    """Print figures as they come, write them down, and return how many were missed, at most 1."""
    rows = (
        f"| {line.what} | {line.figure} | {line.required}{'' if line.reached else MISSED} |"
        for line in lines
    )
    return print_table(title, doc, "| | figure | required |", rows, write)


def print_table(
    title: str, doc: str | None, head: str, rows: Iterable[str], write: Path | None
) -> int:
    """Print a Markdown table, row by row, and write it down; return 1 if a figure was missed."""
    table = []
    for row in chain((head, "|" + "---|" * (head.count("|") - 1)), rows):
        table.append(row)
        print(row, flush=True)
    if write:
        write.write_text("\n".join([f"# {title}", "", f"{doc}".strip(), "", *table]) + "\n")
    return int(any(MISSED in row for row in table))
