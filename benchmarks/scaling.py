"""What a scale does to accuracy, and what one wild value does to a scale.

Strictly online, four labels a class, default profile, features as they were recorded. "z-score" and
"IQR" scale by the same first 128 examples that scale="robust" measures: by mean and standard
deviation, or by median and interquartile range (mean absolute deviation where that is 0). The last
two columns put 1e9 into one of the 128 examples, in turn: the share of cases in which the spread
of a feature changes by more than 5 %. Shuffled data: the mean of five seeds.

    python benchmarks/scaling.py [--data FOLDER]
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _data import LabelledStream, draw_order, split
from _report import parse_with_data, print_table
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from labelwalk import OnlineLearner
from labelwalk.engine.scaling import WARM_UP, measured
from paper.datasets import encode_classes, load

HEAD = "| data | raw | z-score | IQR | robust | moved: IQR | moved: robust |"
SEEDS = 5
WILD_VALUE = 1e9
Array = NDArray[Any]
Measure = Callable[[Array], tuple[Array, Array]]


class Data(NamedTuple):
    name: str
    X: Array
    y: Array
    k: int
    shuffled: bool

    def streams(self) -> list[LabelledStream]:
        if not self.shuffled:
            return [split(self.X, self.y)]
        orders = [draw_order(seed, len(self.y))[:5000] for seed in range(SEEDS)]
        return [split(self.X[order], self.y[order]) for order in orders]


def z_score(rows: Array) -> tuple[Array, Array]:
    spread = rows.std(axis=0)
    return rows.mean(axis=0), np.where(spread > 0, spread, 1.0)


def interquartile(rows: Array) -> tuple[Array, Array]:
    centre = np.median(rows, axis=0)
    low, high = np.percentile(rows, [25, 75], axis=0)
    spread = np.where(high > low, high - low, np.abs(rows - centre).mean(axis=0))
    return centre, np.where(spread > 0, spread, 1.0)


def accuracy(stream: LabelledStream, k: int, measure: Measure | None, **parameters: Any) -> float:
    centre, spread = 0.0, 1.0
    if measure is not None:
        centre, spread = measure(np.r_[stream.taught, stream.rows][:WARM_UP])
    learner = OnlineLearner(k, **parameters)
    learner.teach((stream.taught - centre) / spread, stream.labels)
    verdicts = learner.observe((stream.rows - centre) / spread)
    return float((verdicts.label == stream.truth).mean())


def measure_influence(stream: LabelledStream, measure: Measure) -> float:
    """The share of features and places in which a wild value moves the spread by over 5 %."""
    rows = np.r_[stream.taught, stream.rows][:WARM_UP]
    calm = measure(rows)[1]
    changes = []
    for i in range(len(rows)):
        wild = rows.copy()
        wild[i] = WILD_VALUE
        changes.append(np.abs(measure(wild)[1] / calm - 1))
    return float((np.array(changes) > 0.05).mean())


def with_scikit_learn() -> list[Data]:
    loaders = {"wine": load_wine, "breast cancer": load_breast_cancer, "iris": load_iris}
    return [Data(name, *load(return_X_y=True), 200, True) for name, load in loaders.items()]


def in_folder(folder: Path) -> list[Data]:
    found = []
    for name, k in (("outdoor_objects/outdoor", 500), ("keystroke/keystroke", 200)):
        z = np.load(folder / f"{name}.npz")
        short = name.partition("/")[2]
        found += [
            Data(f"{short}{', shuffled' * mixed}", z["X"], encode_classes(z["y"]), k, mixed)
            for mixed in (False, True)
        ]
    for name in ("letter", "optdigits"):
        data = load(name, folder)
        found.append(Data(name, data.X, data.y, 500, True))
    return found


def table(folder: Path | None) -> Iterator[str]:
    for data in with_scikit_learn() + (in_folder(folder) if folder else []):
        rows = [
            (
                accuracy(stream, data.k, None),
                accuracy(stream, data.k, z_score),
                accuracy(stream, data.k, interquartile),
                accuracy(stream, data.k, None, scale="robust"),
                measure_influence(stream, interquartile),
                measure_influence(stream, measured),
            )
            for stream in data.streams()
        ]
        figures = " | ".join(f"{value:.3f}" for value in np.mean(rows, axis=0))
        yield f"| {data.name} | {figures} |"


if __name__ == "__main__":
    arguments = parse_with_data(__doc__, needed=False)
    sys.exit(print_table("Scaling", __doc__, HEAD, table(arguments.data), arguments.write))
