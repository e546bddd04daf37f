"""The files of a run: CSV tables, drawings as PNG and SVG, and one HTML report."""

from __future__ import annotations

import base64
import csv
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from paper.findings import Columns, Findings, Panel, Picture
from paper.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_INCHES = (4.6, 3.4)
MAX_TICKS = 8
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8888; margin-top: 2rem; }
figure { margin: 1rem 0; background: white; }
figure img { max-width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0;
  border-bottom: 1px solid #8884; }
td:last-child { white-space: nowrap; font-weight: 600; }
.holds { color: #0a7d33; } .part { color: #a86400; } .fails { color: #c0262d; }
@media (prefers-color-scheme: dark) {
  .holds { color: #5fd38a; } .part { color: #f0b35a; } .fails { color: #ff8a8a; } }
@media (max-width: 40rem) { table, tbody, tr, td, th { display: block; } }
"""
CSS_CLASSES = {"holds": "holds", "holds in part": "part", "does not hold": "fails"}


def write_report(
    path: Path, findings: Mapping[Study, Findings], missing: Mapping[str, str], about: str
) -> None:
    """Write the HTML page, and in folders beside it the tables and figures.

    It names the data sets that are missing, and says in a sentence how the findings were made.
    """
    for outcome in findings.values():
        for name, columns in outcome.tables.items():
            write_table(path.parent / "tables" / f"{name}.csv", columns)
    sections = "".join(
        _format_section(study, outcome, path.parent) for study, outcome in findings.items()
    )
    items = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in missing.items())
    absent = f"<p>Not available, so that others stand in:</p><ul>{items}</ul>" if items else ""
    page = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>labelwalk: the evidence</title><style>{STYLE}</style></head><body>"
        "<h1>Online semi-supervised learning on quantized graphs, rerun</h1>"
        f"<p>{escape(about)}</p>{absent}{sections}</body></html>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, "utf-8")


def write_table(path: Path, columns: Columns) -> None:
    """Write columns as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _format_section(study: Study, outcome: Findings, folder: Path) -> str:
    figures = ""
    for picture in outcome.pictures:
        # as an image: in one page, the names inside two drawings would clash
        data = base64.b64encode(draw(picture, folder / "figures").read_bytes()).decode()
        image = f"<img src='data:image/svg+xml;base64,{data}' alt='{escape(picture.name)}'>"
        figures += f"<figure>{image}</figure>"
    notes = "".join(f"<p>{escape(note)}</p>" for note in outcome.notes)
    tables = ", ".join(f"<a href='tables/{name}.csv'>{name}.csv</a>" for name in outcome.tables)
    rows = "".join(
        f"<tr><td>{escape(claim.paper)}</td><td>{escape(claim.ours)}</td>"
        f"<td class='{CSS_CLASSES.get(claim.verdict, '')}'>{claim.verdict}</td></tr>"
        for claim in outcome.claims
    )
    head = "<tr><th>claim</th><th>measurement</th><th>verdict</th></tr>"
    claims = f"<table>{head}{rows}</table>" if rows else ""
    return (
        f"<section id='{study.name}'><h2>{escape(study.title)}</h2>{notes}"
        f"{claims}{figures}<p>Numbers: {tables}</p></section>"
    )


def draw(picture: Picture, folder: Path) -> Path:
    """Draw a picture as FOLDER/NAME.png and .svg; return the path of the SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    n_columns = max(len(row) for row in picture.rows)
    width, height = PANEL_INCHES
    size = (width * n_columns, height * len(picture.rows))
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    grid = figure.subplots(len(picture.rows), n_columns, squeeze=False)
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
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.log_x:
        axes.set_xscale("log")
        ticks = sorted({x for line in panel.lines for x in line.x})
        if len(ticks) <= MAX_TICKS:
            axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
            axes.minorticks_off()
    if panel.log_y:
        axes.set_yscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92")
    if len(panel.lines) > 1:
        axes.legend(fontsize=8, frameon=False)
