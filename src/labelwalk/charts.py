"""Pictures of a learner and of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labelwalk.arrays import Bools, Floats
from labelwalk.evaluation import cumulative_accuracy, windowed_accuracy

if TYPE_CHECKING:
    from labelwalk.learner import OnlineLearner

WINDOW = 200
# told apart by colour-blind people too (Okabe and Ito 2008)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
SHAPES = ("o", "s", "^", "D", "v")  # another one where the colours begin again
NO_CLASS = "0.75"
LARGEST = 400.0  # points squared, of the heaviest vertex


def centroids(learner: OnlineLearner) -> Figure:
    """Draw the vertices in their two widest directions: area is count, colour the likeliest class.

    Parameters
    ----------
    learner : OnlineLearner
        Of at least one example.
    """
    if learner.n_vertices == 0:
        raise ValueError("the learner has seen nothing yet. Let it observe some examples first.")
    table = learner.vertices
    x, y = _flattened(learner.scaled(table.means)).T
    labelled = np.array([label is not None for label in table.label])
    figure, axes = _blank()
    sizes = LARGEST * table.count / max(1, table.count.max()) + 8.0
    said = table.probabilities.argmax(axis=1) if len(learner.classes) else np.zeros(len(table), int)
    reached = table.probabilities.sum(axis=1) > 0.0 if len(learner.classes) else labelled
    for code, name in enumerate(learner.classes):
        some = reached & (said == code)
        look: dict[str, Any] = {"color": COLOURS[code % len(COLOURS)], "alpha": 0.6, "lw": 0}
        look["marker"] = SHAPES[code // len(COLOURS) % len(SHAPES)]
        axes.scatter(x[some], y[some], sizes[some], **look)
        axes.scatter([], [], 40.0, **look, label=str(name))
    axes.scatter(x[~reached], y[~reached], sizes[~reached], color=NO_CLASS, alpha=0.6, lw=0)
    axes.scatter(x[labelled], y[labelled], 60.0, facecolors="none", edgecolors="black", lw=1.2)
    axes.set_title(
        f"{len(table)} vertices for {learner.n_seen:,} examples, {labelled.sum()} of them labelled",
        loc="left",
    )
    axes.set(xlabel="widest direction", ylabel="next widest", aspect="equal")
    if 0 < len(learner.classes) <= 40:
        figure.legend(
            frameon=False, loc="outside right upper", ncols=1 + len(learner.classes) // 21
        )
    return figure


def accuracy(right: Bools) -> Figure:
    """Draw the share of rows named rightly so far, and of the last 200."""
    figure, axes = _blank()
    passed = np.arange(1, len(right) + 1)
    axes.plot(passed, cumulative_accuracy(right), color=COLOURS[0], lw=2.5, label="all so far")
    axes.plot(
        passed,
        windowed_accuracy(right, WINDOW),
        color=COLOURS[0],
        lw=1,
        alpha=0.5,
        label=f"the last {WINDOW}",
    )
    axes.set_title(f"{right.mean():.1%} of {len(right):,} rows named rightly", loc="left")
    axes.set(xlabel="rows passed", ylabel="named rightly", xlim=(0, len(right)))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.legend(frameon=False)
    return figure


def precision_recall(precision: Floats, recall: Floats) -> Figure:
    """Draw precision against recall as answers of little confidence are withheld."""
    figure, axes = _blank()
    axes.plot(recall, precision, color=COLOURS[0], lw=2)
    axes.set_title("What is given up for being right more often", loc="left")
    axes.set(
        xlabel="recall: rightly named of all", ylabel="precision: rightly named of those named"
    )
    axes.set(xlim=(0, 1), ylim=(min(0.5, float(precision.min(initial=1.0))), 1.005))
    return figure


def _flattened(points: Floats) -> Floats:
    """Return points in their two principal directions; the signs do not depend on the library."""
    centred = points - points.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    two = directions[:2]
    two = two * np.sign(two[np.arange(len(two)), np.abs(two).argmax(axis=1)])[:, None]
    flat: Floats = np.zeros((len(points), 2))
    flat[:, : len(two)] = centred @ two.T
    return flat


def _blank() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    return figure, axes
