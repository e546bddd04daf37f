"""Accuracy over time, drawn."""

from __future__ import annotations

import os

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from labelwalk.arrays import Bools
from labelwalk.demo import DemoResult
from labelwalk.evaluation import cumulative_accuracy, windowed_accuracy

WINDOW = 200
TOO_FEW = 50  # to speak of a share
BLUE, ORANGE = "#0072B2", "#D55E00"  # told apart by colour-blind people too


def draw(result: DemoResult, path: str | os.PathLike[str]) -> None:
    """Draw how many digits were named rightly; the format follows from the name of the file."""
    figure = Figure(figsize=(9, 5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    _draw_line(axes, result.nearest_right, ORANGE, "--")
    _draw_line(axes, result.right, BLUE, "-")
    _name_lines(axes, result)
    _furnish(axes, result)
    figure.savefig(path)


def _draw_line(axes: Axes, right: Bools, colour: str, style: str) -> None:
    passed = np.arange(1, len(right) + 1)
    start = min(len(right), TOO_FEW) - 1
    so_far, recent = cumulative_accuracy(right), windowed_accuracy(right, WINDOW)
    axes.plot(passed[start:], so_far[start:], style, color=colour, linewidth=2.5)
    whole = slice(WINDOW - 1, None)
    axes.plot(passed[whole], recent[whole], style, color=colour, linewidth=1, alpha=0.6)


def _name_lines(axes: Axes, result: DemoResult) -> None:
    """Write names at the ends of the thick lines, pushed apart where those are close."""
    ours, nearest = result.accuracy, result.nearest_accuracy
    low, high = axes.get_ylim()
    push = max(0.0, 0.1 * (high - low) - abs(ours - nearest)) / 2
    up = push if ours >= nearest else -push
    for name, share, move, colour in (
        ("labelwalk", ours, up, BLUE),
        ("nearest label", nearest, -up, ORANGE),
    ):
        text = f"  {name}\n  {share:.1%}"
        place = (result.n_examples, share + move)
        axes.annotate(text, place, color=colour, va="center", weight="bold", annotation_clip=False)


def _furnish(axes: Axes, result: DemoResult) -> None:
    axes.set_title(
        f"{result.n_labels} labels, then {result.n_examples} digits that nobody labels",
        loc="left",
        fontsize=14,
        pad=24,
    )
    note = f"thick: all digits so far     thin: the last {WINDOW}"
    axes.text(0, 1.03, note, transform=axes.transAxes, color="0.35")
    axes.set(xlabel="digits passed, each answered at its own step", ylabel="named rightly")
    axes.set_xlim(0, result.n_examples)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="0.9")
