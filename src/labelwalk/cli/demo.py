"""`labelwalk demo`: handwritten digits as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from labelwalk.cli.errors import FAILED, exit_if_not_writable
from labelwalk.cli.terminal import Status, echo, show_bar

if TYPE_CHECKING:
    from labelwalk.demo import DemoProgress, DemoResult

DEFAULT_PICTURE = Path("labelwalk-demo.png")
PRINT_EVERY_ROWS = 500  # without a terminal


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the order of the digits.")] = 0,
    n_centroids: Annotated[
        int, typer.Option(min=1, help="Maximum number of unlabelled vertices.")
    ] = 500,
    labels_per_class: Annotated[
        int, typer.Option(min=1, max=100, help="Number of labels per digit.")
    ] = 4,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of digits.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="File for a plot of accuracy over time.", show_default=str(DEFAULT_PICTURE)
        ),
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Do not draw a plot.")] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write the results to this JSON file.")
    ] = None,
) -> None:
    """Show the learner on handwritten digits: a few labels, then 1700 digits answered one by one.

    \b
    Examples:
      labelwalk demo
      labelwalk demo --labels-per-class 1 --seed 3 --picture one-label.png
    """  # noqa: D301
    from labelwalk.demo import run_demo, warm_up

    console, compiling = Console(highlight=False), "compiling (first run only) ..."
    if not console.is_terminal:
        console.print(compiling)
    with console.status(compiling):
        warm_up()
    with _show_progress(console) as watch:
        result = run_demo(
            seed,
            labels_per_class=labels_per_class,
            n_centroids=n_centroids,
            limit=limit,
            watch=watch,
        )
    console.print(_format_table(result))
    console.print(_summarize(result))
    if json_path is not None:
        with exit_if_not_writable(json_path):
            json_path.write_text(json.dumps(result.numbers(), indent=2) + "\n", "utf-8")
        echo(console, f"Results: {json_path}")
    if not no_picture:
        _save_picture(console, result, picture)


@contextmanager
def _show_progress(console: Console) -> Iterator[Callable[[DemoProgress], None]]:
    """Yield a function that updates a line of a terminal, or prints a few lines to a file."""

    def print_some(progress: DemoProgress) -> None:
        if progress.n_done % PRINT_EVERY_ROWS == 0 or progress.n_done == progress.n_total:
            console.print(_format_progress(progress))

    if not console.is_terminal:
        yield print_some
        return
    with show_bar(console) as show:
        yield lambda progress: show(
            Status(progress.n_done, progress.n_done / progress.n_total, _format_progress(progress))
        )


def _format_progress(progress: DemoProgress) -> str:
    n_done, n_total, seconds, accuracy = progress
    return f"{n_done}/{n_total}  {n_done / seconds:,.0f} examples/s  {accuracy:.1%} correct"


def _format_table(result: DemoResult) -> Table:
    labelled, unlabelled = result.n_labelled_vertices, result.n_unlabelled_vertices
    rows = {
        "correct, strictly online\n[dim](an abstention is not correct)": f"{result.accuracy:.1%}",
        f"nearest of the same {result.n_labels} labels (1-NN)": f"{result.nearest_accuracy:.1%}",
        "answered": f"{result.answered:.1%}",
        "outliers": f"{result.outliers:.1%}",
        "answers proven equal to the exact solution": f"{result.certain:.1%}",
        "largest proven error bound": f"{result.largest_bound:.4f}",
        "examples per second": f"{result.examples_per_second:,.0f}",
        "vertices, labelled + unlabelled": f"{labelled} + {unlabelled}",
        "radius": f"{result.radius:.2f}",
        "distortion": f"{result.distortion:.2f}",
        "memory of the learner": f"{result.nbytes / 1e6:.1f} MB",
    }
    table = Table(box=box.SIMPLE, show_header=False)
    table.add_column()
    table.add_column(justify="right", style="bold")
    for row in rows.items():
        table.add_row(*row)
    return table


def _summarize(result: DemoResult) -> str:
    n_answered = round(result.answered * result.n_examples)
    return (
        f"With {result.n_labels} labels the learner answered {n_answered} of {result.n_examples} "
        f"digits as they arrived, and {result.accuracy:.1%} of all correctly; the nearest label "
        f"reaches {result.nearest_accuracy:.1%}. It proved that {result.certain:.1%} of its "
        "answers are those of the exact solution on its graph, which never has more than "
        f"{result.n_centroids} unlabelled vertices."
    )


def _save_picture(console: Console, result: DemoResult, path: Path | None) -> None:
    try:
        from labelwalk.plotting import draw_comparison
    except ImportError:
        console.print("The plot requires matplotlib: pip install matplotlib", markup=False)
        raise typer.Exit(0 if path is None else FAILED) from None
    path = path or DEFAULT_PICTURE
    title = f"{result.n_labels} labels, then {result.n_examples} digits without a label"
    correct = {"labelwalk": result.correct, "nearest label": result.nearest_correct}
    with exit_if_not_writable(path):
        draw_comparison(correct, title).savefig(path)
    echo(console, f"Accuracy over time: {path}")
