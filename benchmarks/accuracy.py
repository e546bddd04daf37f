"""Accuracy of the default profile on real streams, strictly online, four labels per class.

Each example is answered at its own step, and no label comes after the start. Shuffled data: mean of
five seeds. None counts as an error. The last column states the role of each stream in choosing the
profile; see docs/decisions/default-profile.md. A row misses its target if it is below the required
accuracy, or more than one point below the nearest label.

    python benchmarks/accuracy.py --data FOLDER [--write docs/results/accuracy.md]
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _data import (
    Loader,
    elec2,
    elec2_later,
    face_pixels,
    faces,
    keystroke,
    keystroke_shuffled,
    letter,
    optdigits,
    outdoor,
    outdoor_shuffled,
)

from labelwalk import OnlineLearner
from labelwalk.evaluation import calibration_error
from paper.baselines.nearest import NearestLabel
from paper.evaluation import evaluate

CHOSEN_ON, LOOKED_AT, UNSEEN = "chosen on", "looked at", "unseen"


class Row(NamedTuple):
    name: str
    load: Loader
    k: int
    seeds: int
    prior: str | None
    goal: float  # accuracy to reach; 0: only that of the nearest label, less a point
    role: str  # what part it had in choosing the default profile


ROWS = [
    Row("optdigits, shuffled, prior uniform", optdigits, 500, 5, "uniform", 0.945, CHOSEN_ON),
    Row("optdigits, shuffled, prior uniform", optdigits, 200, 5, "uniform", 0.92, CHOSEN_ON),
    Row("optdigits, shuffled", optdigits, 500, 5, None, 0.92, CHOSEN_ON),
    Row("letter, 6000 shuffled", letter, 500, 5, None, 0.45, CHOSEN_ON),
    Row("keystroke, natural order, prior uniform", keystroke, 200, 1, "uniform", 0.50, CHOSEN_ON),
    Row("faces, 8 people interleaved", faces, 300, 1, None, 0.99, LOOKED_AT),
    Row("outdoor objects, natural order", outdoor, 500, 1, None, 0.49, LOOKED_AT),
    Row("elec2, first 10 000", elec2, 500, 1, None, 0.55, LOOKED_AT),
    Row("faces as 16 × 16 pixels", face_pixels, 300, 1, None, 0.0, UNSEEN),
    Row("outdoor objects, shuffled", outdoor_shuffled, 500, 5, None, 0.0, UNSEEN),
    Row("keystroke, shuffled", keystroke_shuffled, 200, 5, None, 0.0, UNSEEN),
    Row("elec2, second 10 000", elec2_later, 500, 1, None, 0.0, UNSEEN),
]


class Figures(NamedTuple):
    accuracy: float
    precision: float
    nearest: float  # accuracy of the nearest label
    calibration: float  # expected calibration error, ten bins


def measured(row: Row, folder: Path, seed: int) -> Figures:
    stream = row.load(folder, seed).whole
    result = evaluate(OnlineLearner(row.k, prior=row.prior), stream)  # type: ignore[arg-type]
    return Figures(
        accuracy=result.accuracy,
        precision=result.precision,
        nearest=evaluate(NearestLabel(), stream).accuracy,
        calibration=calibration_error(result.confidence, result.correct & result.answered),
    )


def table(folder: Path) -> tuple[list[str], bool]:
    lines = [
        "| data | k | asked | accuracy | precision | nearest label | calibration error | role |",
        "|---|---|---|---|---|---|---|---|",
    ]
    all_reached = True
    for row in ROWS:
        mean = Figures(*np.mean([measured(row, folder, s) for s in range(row.seeds)], axis=0))
        reached = mean.accuracy >= row.goal and mean.accuracy >= mean.nearest - 0.01
        all_reached = all_reached and reached
        figures = " | ".join(f"{value:.4f}" for value in mean)
        mark = "" if reached else " (missed)"
        lines.append(f"| {row.name} | {row.k} | {row.goal or '-'}{mark} | {figures} | {row.role} |")
        print(lines[-1], flush=True)
    return lines, all_reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("LABELWALK_DATA"))
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    arguments = parser.parse_args()
    if arguments.data is None or not arguments.data.is_dir():
        parser.error("--data FOLDER or LABELWALK_DATA must name the folder with the NPZ files")
    lines, all_reached = table(arguments.data)
    if arguments.write:
        heading = ["# Accuracy of the default profile", "", f"{__doc__}".strip(), ""]
        arguments.write.write_text("\n".join([*heading, *lines]) + "\n")
    return 0 if all_reached else 1


if __name__ == "__main__":
    sys.exit(main())
