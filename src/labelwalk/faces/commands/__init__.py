"""`labelwalk faces`: who is in front of a camera; one file a command."""

from __future__ import annotations

import typer

from labelwalk.cli.failures import EXIT_CODES
from labelwalk.faces.commands import enroll, evaluate, forget, name, people, watch

app = typer.Typer(name="faces", no_args_is_help=True)


@app.callback(epilog=EXIT_CODES)
def faces() -> None:
    """Recognise faces in videos and cameras, from a few labelled ones; strangers stay unknown.

    Use it on people who have agreed, and not to let anybody in: see docs/guide/faces.md.

    \b
    Examples:
      labelwalk faces watch demo --people people --output seen.mp4
      labelwalk faces name people '#1' Ada
      labelwalk faces enroll people Ben ben-1.jpg ben-2.jpg
      labelwalk faces watch 0 --people people
    """  # noqa: D301


for command in (
    watch.watch,
    enroll.enroll,
    name.name,
    people.people,
    forget.forget,
    evaluate.evaluate,
):
    app.command(epilog=EXIT_CODES)(command)
