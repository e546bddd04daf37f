"""`labelwalk demo`: handwritten digits as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from labelwalk.cli.files import say_where, writing

if TYPE_CHECKING:
    from labelwalk.demo import DemoResult, SoFar

PICTURE = Path("labelwalk-demo.png")
LINE_EVERY = 500  # examples, where no terminal keeps a line alive


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Which order the digits come in.")] = 0,
    n_centroids: Annotated[
        int, typer.Option(min=1, help="The most unlabelled vertices that are kept.")
    ] = 500,
    labels_per_class: Annotated[
        int, typer.Option(min=1, max=100, help="How many of each digit are taught.")
    ] = 4,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after so many digits.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Where to draw accuracy over time.", show_default=str(PICTURE)),
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw nothing.")] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write the numbers to this file too.")
    ] = None,
) -> None:
    """Watch the learner: a few handwritten digits are taught, then 1700 pass, each named at once.

    \b
    Examples:
      labelwalk demo
      labelwalk demo --labels-per-class 1 --seed 3 --picture one-label.png
    """  # noqa: D301
    from labelwalk.demo import run_demo

    console = Console(highlight=False)
    _compile(console)
    with _live_line(console) as watch:
        result = run_demo(
            seed,
            labels_per_class=labels_per_class,
            n_centroids=n_centroids,
            limit=limit,
            watch=watch,
        )
    console.print(_table(result))
    console.print(_story(result))
    if json_path is not None:
        _save_numbers(console, result, json_path)
    if not no_picture:
        _save_picture(console, result, picture)


def _compile(console: Console) -> None:
    from labelwalk.demo import warm_up

    words = "compiling (first run only) ..."
    if not console.is_terminal:
        console.print(words)
    with console.status(words):
        warm_up()


@contextmanager
def _live_line(console: Console) -> Iterator[Callable[[SoFar], None]]:
    """Yield what keeps one line up to date; without a terminal, it prints a line now and then."""
    if not console.is_terminal:
        yield partial(_print_rarely, console)
        return
    line = BarColumn(None, complete_style="cyan", finished_style="cyan")
    bar = Progress(line, TextColumn("{task.description}"), console=console, expand=True)
    task = bar.add_task("reading the digits ...")
    with bar:
        yield lambda now: bar.update(
            task, total=now.total, completed=now.done, description=_line(now)
        )


def _print_rarely(console: Console, now: SoFar) -> None:
    if now.done % LINE_EVERY == 0 or now.done == now.total:
        console.print(_line(now))


def _line(now: SoFar) -> str:
    speed = now.done / now.seconds
    return f"{now.done}/{now.total}  {speed:,.0f} examples/s  {now.accuracy:.1%} right"


def _table(result: DemoResult) -> Table:
    labelled, unlabelled = result.n_labelled_vertices, result.n_unlabelled_vertices
    rows = {
        "right as the stream passed\n[dim](abstaining counts as wrong)": f"{result.accuracy:.1%}",
        f"nearest of the same {result.n_labels} labels (1-NN)": f"{result.nearest_accuracy:.1%}",
        "answered": f"{result.answered:.1%}",
        "outliers": f"{result.outliers:.1%}",
        "answers proven certain": f"{result.certain:.1%}",
        "largest proven error bound": f"{result.largest_bound:.4f}",
        "examples a second": f"{result.examples_per_second:,.0f}",
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


def _story(result: DemoResult) -> str:
    named = round(result.answered * result.n_examples)
    return (
        f"From {result.n_labels} labels the learner named {named} of {result.n_examples} digits as "
        f"they passed and got {result.accuracy:.1%} of all right; the nearest label alone would "
        f"have got {result.nearest_accuracy:.1%}. It proved that {result.certain:.1%} of its "
        "answers are those of the exact solution on its graph, which never has more than "
        f"{result.n_centroids} unlabelled vertices, however long the stream."
    )


def _save_numbers(console: Console, result: DemoResult, path: Path) -> None:
    with writing(path):
        path.write_text(json.dumps(result.numbers(), indent=2) + "\n", "utf-8")
    say_where(console, "The same numbers", path)


def _save_picture(console: Console, result: DemoResult, wanted: Path | None) -> None:
    try:
        from labelwalk.picture import draw
    except ImportError:
        console.print("The picture needs matplotlib: pip install matplotlib", markup=False)
        raise typer.Exit(0 if wanted is None else 1) from None
    path = wanted or PICTURE
    with writing(path):
        draw(result, path)
    say_where(console, "Accuracy over time", path)
