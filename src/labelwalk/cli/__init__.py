"""The command line: one file a command, each a call of the library."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from labelwalk.cli import demo, reproduce

EXIT_CODES = (
    "Exit codes: 0 done, 1 a file could not be written or a package is missing, 2 wrong usage, "
    "130 interrupted."
)

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)


def main() -> None:
    """Run the command line."""
    app(prog_name="labelwalk")


def _say_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"labelwalk {metadata.version('labelwalk')}")
        except metadata.PackageNotFoundError:
            typer.echo("labelwalk, run from its sources")
        raise typer.Exit


@app.callback(epilog=EXIT_CODES)
def labelwalk(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A few labels, an endless stream: name each example as it passes.

    \b
    Examples:
      labelwalk demo
      labelwalk reproduce all --quick
    """  # noqa: D301


for command in (demo.demo, reproduce.reproduce):
    app.command(epilog=EXIT_CODES)(command)
