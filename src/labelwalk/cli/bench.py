"""`labelwalk bench`: how fast the learner is on this machine."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from labelwalk.cli.failures import told


def bench(
    n_centroids: Annotated[
        list[int] | None,
        typer.Option(min=1, help="How many centroids; may be repeated.", show_default="200, 500"),
    ] = None,
    n_features: Annotated[int, typer.Option(min=1, help="Numbers of an example.")] = 16,
    n_examples: Annotated[int, typer.Option(min=10, help="How many examples.")] = 20_000,
) -> None:
    """Time learning and answering here, beside one bare pass of NumPy over as many points.

    \b
    Examples:
      labelwalk bench
      labelwalk bench --n-centroids 1000 --n-features 128
    """  # noqa: D301
    with told():
        from labelwalk.speed import measure

        console = Console(highlight=False)
        table = Table(box=box.SIMPLE)
        for head in ("centroids", "observe", "predict", "bare NumPy pass", "observe / bare"):
            table.add_column(head, justify="right")
        with console.status("measuring (the first run compiles) ..."):
            for k in n_centroids or (200, 500):
                found = measure(k, n_features, n_examples)
                table.add_row(
                    str(k),
                    f"{found.observe:.1f} µs",
                    f"{found.predict:.1f} µs",
                    f"{found.bare:.1f} µs",
                    f"{found.observe / found.bare:.1f}",
                )
        console.print(table)
