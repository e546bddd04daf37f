"""`labelwalk retract`: what was taught, taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.failures import told
from labelwalk.cli.files import say, say_where


def retract(
    model: read.Model,
    example: Annotated[
        list[int] | None,
        typer.Option(help="The number of an example that was taught; may be given again."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="A class: all its labels are taken back.")
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Strike out the class too, and what it stands for.")
    ] = False,
    quiet: read.Quiet = False,
) -> None:
    """Take back labels that were wrong: of examples, or of a whole class.

    Numbers are those that `label --example-ids` wrote, or `ask` gave.

    \b
    Examples:
      labelwalk retract learner.lw --example 1380
      labelwalk retract learner.lw --label leek --forget
    """  # noqa: D301
    with told():
        from labelwalk.io.rows import to_class_names
        from labelwalk.learner import load

        examples = example or []
        if bool(examples) == (label is not None) or (forget and label is None):
            raise ValueError("give either --example, or --label with or without --forget.")
        console = Console(stderr=True, highlight=False, quiet=quiet)
        learner = load(model)
        for number in examples:
            learner.retract(number)
        if label is not None:
            name = to_class_names([label], learner.classes)[0]
            if forget:
                learner.forget(name)
            else:
                learner.retract(label=name)
        learner.save(model)
        say(console, f"Taken back: {label or ', '.join(map(str, examples))}.")
        say_where(console, "Learner", Path(model))
