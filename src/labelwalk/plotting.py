"""Plots of a learner and of its answers, which are read from files, with matplotlib."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from labelwalk.arrays import Bools, Floats
from labelwalk.evaluation import cumulative_accuracy, windowed_accuracy
from labelwalk.io import ColumnError, InputError, ReadOptions
from labelwalk.io.examples import DEFAULT_LABEL_COLUMN
from labelwalk.io.formats import read_batches
from labelwalk.io.rows import as_label_text
from labelwalk.io.task import PREDICTED_PREFIX
from labelwalk.learner import OnlineLearner

WINDOW_ROWS = 200  # of the accuracy of the last rows
MIN_ROWS = 50  # before a line of cumulative accuracy begins
# distinguishable with colour blindness (Okabe and Ito 2008)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v")  # the next one after all colours are used
UNLABELLED_GREY = "0.75"
MAX_AREA_POINTS2 = 400.0  # of the vertex with most examples
MAX_LEGEND_CLASSES = 40


def draw_centroids(learner: OnlineLearner) -> Figure:
    """Draw the vertices in their first two principal directions.

    The area shows the number of examples, the colour the most probable class, a black ring a label.

    Parameters
    ----------
    learner : OnlineLearner
        A learner that has seen at least one example.
    """
    if learner.n_vertices == 0:
        raise ValueError("the learner has no vertices to plot. Let it observe examples first.")
    table = learner.vertices
    x, y = _project(learner.scaled(table.means)).T
    labelled = np.array([label is not None for label in table.label])
    sizes = MAX_AREA_POINTS2 * table.count / max(1, table.count.max()) + 8.0
    best, has_class = np.zeros(len(table), np.int64), labelled
    if learner.classes:
        best = table.probabilities.argmax(axis=1)
        has_class = table.probabilities.sum(axis=1) > 0.0
    figure, axes = _create_figure()
    for code, name in enumerate(learner.classes):
        rows = has_class & (best == code)
        style: dict[str, Any] = {"color": COLOURS[code % len(COLOURS)], "alpha": 0.6, "lw": 0}
        style["marker"] = MARKERS[code // len(COLOURS) % len(MARKERS)]
        axes.scatter(x[rows], y[rows], sizes[rows], **style)
        axes.scatter([], [], 40.0, **style, label=str(name))
    rest = ~has_class
    axes.scatter(x[rest], y[rest], sizes[rest], color=UNLABELLED_GREY, alpha=0.6, lw=0)
    axes.scatter(x[labelled], y[labelled], 60.0, facecolors="none", edgecolors="black", lw=1.2)
    axes.set_title(
        f"{len(table)} vertices for {learner.n_seen:,} examples, {labelled.sum()} of them labelled",
        loc="left",
    )
    axes.set(xlabel="first direction", ylabel="second direction", aspect="equal")
    if 0 < len(learner.classes) <= MAX_LEGEND_CLASSES:
        n_columns = 1 + len(learner.classes) // 21
        figure.legend(frameon=False, loc="outside right upper", ncols=n_columns)
    return figure


def draw_accuracy(correct: Bools) -> Figure:
    """Draw the share of correct rows so far, and of the last 200."""
    figure, axes = _create_figure()
    step, colour = np.arange(1, len(correct) + 1), COLOURS[0]
    recent = windowed_accuracy(correct, WINDOW_ROWS)
    axes.plot(step, cumulative_accuracy(correct), c=colour, lw=2.5, label="all so far")
    axes.plot(step, recent, c=colour, lw=1, alpha=0.5, label=f"the last {WINDOW_ROWS}")
    axes.set_title(f"{correct.mean():.1%} of {len(correct):,} rows are correct", loc="left")
    axes.set(xlabel="rows", ylabel="accuracy", xlim=(0, len(correct)))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.legend(frameon=False)
    return figure


def draw_precision_recall(precision: Floats, recall: Floats) -> Figure:
    """Draw precision against recall as the required confidence changes."""
    figure, axes = _create_figure()
    axes.plot(recall, precision, color=COLOURS[0], lw=2)
    axes.set_title("Precision against recall, over the required confidence", loc="left")
    axes.set(xlabel="recall: correct answers of all rows")
    axes.set(ylabel="precision: correct answers of all answers")
    axes.set(xlim=(0, 1), ylim=(min(0.5, float(precision.min(initial=1.0))), 1.005))
    return figure


def draw_comparison(correct: Mapping[str, Bools], title: str) -> Figure:
    """Draw the accuracy of two methods over time: so far (thick), last 200 rows (thin).

    Parameters
    ----------
    correct : mapping of two names to arrays of bool
        Whether each answer of a method is correct; the first one is drawn on top.
    title : str
    """
    figure, axes = _create_figure(9)
    for i, (flags, style) in reversed(
        list(enumerate(zip(correct.values(), ("-", "--"), strict=True)))
    ):
        step, start = np.arange(1, len(flags) + 1), min(len(flags), MIN_ROWS) - 1
        recent = windowed_accuracy(flags, WINDOW_ROWS)
        axes.plot(step[start:], cumulative_accuracy(flags)[start:], style, c=COLOURS[i], lw=2.5)
        full = slice(WINDOW_ROWS - 1, None)
        axes.plot(step[full], recent[full], style, c=COLOURS[i], lw=1, alpha=0.6)
    n = max(map(len, correct.values()))
    for i, (name, y) in enumerate(_spread_names(axes, correct).items()):
        text = f"  {name}\n  {correct[name].mean():.1%}"
        label = axes.annotate(text, (n, y), annotation_clip=False, va="center", weight="bold")
        label.set_color(COLOURS[i])
    axes.set_title(title, loc="left", fontsize=14, pad=24)
    note = f"thick: all so far     thin: the last {WINDOW_ROWS}"
    axes.text(0, 1.03, note, transform=axes.transAxes, color="0.35")
    axes.set(xlabel="examples, each answered at its own step", ylabel="accuracy", xlim=(0, n))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return figure


def _spread_names(axes: Axes, correct: Mapping[str, Bools]) -> dict[str, float]:
    """Return the height of each name at the end of its line, moved apart if they are close."""
    (name, other), (share, other_share) = correct, [flags.mean() for flags in correct.values()]
    low, high = axes.get_ylim()
    move = max(0.0, 0.1 * (high - low) - abs(share - other_share)) / 2
    move = move if share >= other_share else -move
    return {name: float(share + move), other: float(other_share - move)}


def _project(points: Floats) -> Floats:
    """Return the first two principal components; their signs do not depend on the library."""
    centred = points - points.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    components: Floats = np.zeros((len(points), 2))
    components[:, : len(directions)] = centred @ (directions * np.sign(largest)[:, None]).T
    return components


def _create_figure(width_inches: float = 8) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width_inches, 5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    return figure, axes


class ScoredRows(NamedTuple):
    """Rows with a known truth: whether they were named, named correctly, and the confidence."""

    is_named: Bools
    is_right: Bools
    confidence: Floats


def read_scored_output(
    path: str, truth_column: str, label_column: str | None, prefix: str | None, options: ReadOptions
) -> ScoredRows:
    """Read the rows of an output that have a truth and had no label.

    By default, the label column is "label" if the added columns have other names, and the prefix is
    that which a run chooses.
    """
    scored = []
    for batch in read_batches(path, options):
        names = batch.rows.names
        start = prefix
        if start is None:
            start = PREDICTED_PREFIX if f"{PREDICTED_PREFIX}label" in names else ""
        has_default = bool(start) and DEFAULT_LABEL_COLUMN in names
        taught_column = label_column or (DEFAULT_LABEL_COLUMN if has_default else truth_column)
        columns = (truth_column, f"{start}label", f"{start}confidence", taught_column)
        for name in columns:
            if name not in names:
                raise ColumnError(f"{path} has no column {name!r}. The columns are {names}.")
        for row in zip(*map(batch.rows.values, columns), strict=True):
            truth, label, taught = (as_label_text(row[i]) for i in (0, 1, 3))
            if truth is not None and (taught is None or taught_column == truth_column):
                scored.append((label is not None, label == truth, float(row[2] or 0.0)))
    if not scored:
        raise InputError(f"{path} has no row with a value in {truth_column!r}.")
    return ScoredRows(*map(np.array, zip(*scored, strict=True)))


def compute_precision_and_recall(rows: ScoredRows) -> tuple[Floats, Floats]:
    """Return precision and recall as the threshold of confidence falls.

    Examples
    --------
    >>> import numpy as np
    >>> rows = ScoredRows(np.array([True, True]), np.array([True, False]), np.array([0.9, 0.4]))
    >>> precision, recall = compute_precision_and_recall(rows)
    >>> precision.tolist(), recall.tolist()
    ([1.0, 0.5], [0.5, 0.5])
    """
    order = np.argsort(-rows.confidence, kind="stable")
    order = order[rows.is_named[order]]
    n_right = np.cumsum(rows.is_right[order])
    return n_right / np.arange(1, len(order) + 1), n_right / len(rows.is_right)
