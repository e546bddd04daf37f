"""Accuracy of the default profile on real streams, strictly online, four labels per class.

Each example is answered at its own step, and no label comes after the start. Shuffled data: mean of
five seeds. None counts as an error. The last column states the role of each stream in choosing the
profile; see docs/decisions/default-profile.md. A row misses its target if it is below the required
accuracy, or more than one point below the nearest label.

    python benchmarks/accuracy.py --data FOLDER [--write docs/results/accuracy.md]
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import _data
import numpy as np
from _report import MISSED, parse_with_data, print_table

from labelwalk import OnlineLearner
from labelwalk.evaluation import calibration_error
from paper.baselines.nearest import NearestLabel
from paper.evaluation import evaluate

CHOSEN_ON, LOOKED_AT, UNSEEN = "chosen on", "looked at", "unseen"
HEAD = "| data | k | required | accuracy | precision | nearest label | calibration error | role |"


class Row(NamedTuple):
    name: str
    load: _data.Loader
    k: int
    seeds: int
    prior: str | None
    goal: float  # accuracy to reach; 0: only that of the nearest label, less a point
    role: str  # what part it had in choosing the default profile


ROWS = [
    Row("optdigits, shuffled, prior uniform", _data.optdigits, 500, 5, "uniform", 0.945, CHOSEN_ON),
    Row("optdigits, shuffled, prior uniform", _data.optdigits, 200, 5, "uniform", 0.92, CHOSEN_ON),
    Row("optdigits, shuffled", _data.optdigits, 500, 5, None, 0.92, CHOSEN_ON),
    Row("letter, 6000 shuffled", _data.letter, 500, 5, None, 0.45, CHOSEN_ON),
    Row(
        "keystroke, natural order, prior uniform",
        _data.keystroke,
        200,
        1,
        "uniform",
        0.50,
        CHOSEN_ON,
    ),
    Row("faces, 8 people interleaved", _data.faces, 300, 1, None, 0.99, LOOKED_AT),
    Row("outdoor objects, natural order", _data.outdoor, 500, 1, None, 0.49, LOOKED_AT),
    Row("elec2, first 10 000", _data.elec2, 500, 1, None, 0.55, LOOKED_AT),
    Row("faces as 16 × 16 pixels", _data.face_pixels, 300, 1, None, 0.0, UNSEEN),
    Row("outdoor objects, shuffled", _data.outdoor_shuffled, 500, 5, None, 0.0, UNSEEN),
    Row("keystroke, shuffled", _data.keystroke_shuffled, 200, 5, None, 0.0, UNSEEN),
    Row("elec2, second 10 000", _data.elec2_later, 500, 1, None, 0.0, UNSEEN),
]


class Figures(NamedTuple):
    accuracy: float
    precision: float
    nearest: float  # accuracy of the nearest label
    calibration: float  # expected calibration error, ten bins


def measure(row: Row, folder: Path, seed: int) -> Figures:
    stream = row.load(folder, seed).whole
    result = evaluate(OnlineLearner(row.k, prior=row.prior), stream)  # type: ignore[arg-type]
    return Figures(
        accuracy=result.accuracy,
        precision=result.precision,
        nearest=evaluate(NearestLabel(), stream).accuracy,
        calibration=calibration_error(result.confidence, result.correct & result.answered),
    )


def table(folder: Path) -> Iterator[str]:
    for row in ROWS:
        mean = Figures(*np.mean([measure(row, folder, s) for s in range(row.seeds)], axis=0))
        reached = mean.accuracy >= row.goal and mean.accuracy >= mean.nearest - 0.01
        figures = " | ".join(f"{value:.4f}" for value in mean)
        mark = "" if reached else MISSED
        yield f"| {row.name} | {row.k} | {row.goal or '-'}{mark} | {figures} | {row.role} |"


if __name__ == "__main__":
    arguments = parse_with_data(__doc__)
    rows, title = table(arguments.data), "Accuracy of the default profile"
    sys.exit(print_table(title, __doc__, HEAD, rows, arguments.write))
