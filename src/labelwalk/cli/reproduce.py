"""`labelwalk reproduce`: the figures of the paper, and more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from labelwalk.cli.files import say_where

if TYPE_CHECKING:
    from labelwalk.reproduce.findings import Claim

OUT = Path("labelwalk-evidence")
LINE_EVERY = 10  # jobs, where no terminal keeps a line alive
COLOURS = {"holds": "green", "holds in part": "yellow", "does not hold": "red"}


class Name(StrEnum):
    """What can be reproduced."""

    fig2 = "fig2"
    fig3 = "fig3"
    fig5a = "fig5a"
    fig5b = "fig5b"
    bounds = "bounds"
    budget = "budget"
    everywhere = "everywhere"
    all = "all"


def reproduce(
    name: Annotated[Name, typer.Argument(help="A figure of the paper, or more; or all of them.")],
    data: Annotated[
        Path | None,
        typer.Option(help="The folder of the data sets.", show_default="LABELWALK_DATA"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer problems and examples: some minutes.")
    ] = False,
    out: Annotated[Path, typer.Option(help="A folder for results, figures and report.")] = OUT,
    workers: Annotated[int, typer.Option(min=1, help="How many processes.")] = 2,
) -> None:
    """Rerun the figures of the paper, and say of each claim whether it holds.

    Results that are there already are kept, so that a run can be interrupted and goes on when it is
    started again. Data sets that cannot be had are replaced by those that can.

    \b
    fig2        errors and accuracy of 200 centroids over time
    fig3        the same with more and more centroids
    fig5a       faces: one man in three places, among strangers
    fig5b       faces: eight people
    bounds      both sides of every statement of section 4
    budget      quantization against Nyström at equal time, and what speed costs
    everywhere  every method on every data set

    \b
    Examples:
      labelwalk reproduce all --quick
      labelwalk reproduce fig3 --data ~/data --out evidence
    """  # noqa: D301
    console = Console(highlight=False)
    if find_spec("matplotlib") is None:
        typer.echo("matplotlib is missing: pip install 'labelwalk[reproduce]'", err=True)
        raise typer.Exit(1)
    from labelwalk import reproduce as studies
    from labelwalk.datasets import DataMissingError

    try:
        with _live_line(console) as watch:
            found = studies.reproduce(
                name, out, data=data, quick=quick, workers=workers, watch=watch
            )
    except (DataMissingError, ValueError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    except OSError as error:
        typer.echo(f"{out} cannot be written ({error}); choose another folder.", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. What is done is in {out}; the same command goes on.", err=True)
        raise typer.Exit(130) from None
    console.print(_table(found.claims))
    for why in dict.fromkeys(found.missing.values()):
        console.print(f"Missing: {why}", markup=False, soft_wrap=True)
    say_where(console, "Report", found.report)


@contextmanager
def _live_line(console: Console) -> Iterator[Callable[[int, int, str], None]]:
    """Yield what shows how far it has come; without a terminal, it prints a line now and then."""
    if not console.is_terminal:
        console.print("starting (the first run compiles) ...")
        yield lambda done, total, key: _print_rarely(console, done, total, key)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[key]}"),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=None, key="starting (the first run compiles) ...")
        yield lambda done, total, key: bar.update(task, completed=done, total=total, key=key)


def _print_rarely(console: Console, done: int, total: int, key: str) -> None:
    if done % LINE_EVERY == 0 or done == total:
        console.print(f"{done}/{total} {key}", markup=False, soft_wrap=True)


def _table(claims: list[Claim]) -> Table:
    table = Table(box=box.SIMPLE)
    for head in ("what was claimed", "what was measured here", "verdict"):
        table.add_column(head, overflow="fold")
    for claim in claims:
        colour = COLOURS.get(claim.verdict, "default")
        verdict = f"[{colour}]{claim.verdict}"
        table.add_row(escape(claim.paper), escape(claim.ours), verdict)
    return table
