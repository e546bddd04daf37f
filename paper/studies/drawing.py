"""Pictures out of findings, as PNG and SVG. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from paper.studies.findings import Panel, Picture

WIDTH, HEIGHT = 4.6, 3.4  # inches of one panel
MOST_TICKS = 8


def draw(picture: Picture, folder: Path) -> Path:
    """Draw a picture as FOLDER/NAME.png and .svg; return the path of the SVG."""
    columns = max(len(row) for row in picture.rows)
    size = (WIDTH * columns, HEIGHT * len(picture.rows))
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    grid = figure.subplots(len(picture.rows), columns, squeeze=False)
    for axes_of_row, row in zip(grid, picture.rows, strict=True):
        for axes in axes_of_row[len(row) :]:
            axes.set_axis_off()
        for axes, panel in zip(axes_of_row, row, strict=False):
            _draw_panel(axes, panel)
    folder.mkdir(parents=True, exist_ok=True)
    # the same drawing gives the same bytes
    with mpl.rc_context({"svg.hashsalt": picture.name, "svg.fonttype": "none"}):
        figure.savefig(folder / f"{picture.name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{picture.name}.png", metadata={"Software": None})
    return folder / f"{picture.name}.svg"


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for line in panel.lines:
        axes.plot(line.x, line.y, line.style, color=line.colour, label=line.name, markersize=4)
    axes.set(title=panel.title, xlabel=panel.across, ylabel=panel.up)
    if panel.log_across:
        axes.set_xscale("log")
        places = sorted({x for line in panel.lines for x in line.x})
        if len(places) <= MOST_TICKS:
            axes.set_xticks(places, [f"{x:g}" for x in places])
            axes.minorticks_off()
    if panel.log_up:
        axes.set_yscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92")
    if len(panel.lines) > 1:
        axes.legend(fontsize=8, frameon=False)
