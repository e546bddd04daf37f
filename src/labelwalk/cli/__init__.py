"""The command line: one file a command, each a call of the library; some have a folder."""

from __future__ import annotations

import atexit
import gc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from labelwalk._extensions import load_extension
from labelwalk.cli import (
    ask,
    demo,
    explain,
    inspect,
    label,
    merge,
    plot,
    predict,
    restore,
    retract,
    scale,
    serve,
    teach,
)
from labelwalk.cli.failures import EXIT_CODES, WRONG_USAGE, fail
from labelwalk.release import release

REMOVED_COMMANDS = {
    "bench": "Run scripts/bench of the repository, see docs/guide/speed.md.",
    "config": "Write settings into labelwalk.toml; `labelwalk label --help` lists them.",
    "reproduce": "Run `python -m paper` in a clone, see docs/guide/reproducing.md.",
}
EXTENSION_COMMANDS = ("faces",)


class CommandGroup(TyperGroup):
    """The commands; a removed one says what to use instead, an extension is imported when used."""

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """Return a command by name."""
        if cmd_name in REMOVED_COMMANDS:
            fail(f"`{cmd_name}` was removed. {REMOVED_COMMANDS[cmd_name]}", WRONG_USAGE)
        if cmd_name in EXTENSION_COMMANDS:
            return typer.main.get_group(load_extension(f"command {cmd_name}"))
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the names of all commands, those of extensions last."""
        return [*super().list_commands(ctx), *EXTENSION_COMMANDS]


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line."""
    atexit.register(gc.freeze)  # the last collection would walk through every module, for nothing
    app(prog_name="labelwalk")


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"labelwalk {release()}")
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
      labelwalk label stream.csv --label-column y -o labelled.csv --model learner.lw
    """  # noqa: D301


for command in (
    label.label,
    teach.teach,
    retract.retract,
    predict.predict,
    inspect.inspect,
    ask.ask,
    explain.explain,
    merge.merge,
    plot.plot,
    serve.serve,
    restore.restore,
    demo.demo,
):
    app.command(epilog=EXIT_CODES)(command)
app.add_typer(scale.app, name="scale")
