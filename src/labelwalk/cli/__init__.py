"""The command line interface; commands call the library."""

import atexit
import gc
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from labelwalk import __version__
from labelwalk._extensions import load_extension
from labelwalk.cli import demo, saved_learners, scale, serve, streams
from labelwalk.cli.errors import EXIT_CODES, WRONG_USAGE, exit_on_error, fail

REMOVED_COMMANDS = {
    "bench": "Run scripts/bench in the repository; see docs/guide/speed.md.",
    "faces evaluate": "Run `python -m paper.face_evaluation` in a clone.",
    "config": "Write settings into labelwalk.toml; `labelwalk label --help` lists them.",
    "reproduce": "Run `python -m paper` in a clone; see docs/guide/reproducing.md.",
}
EXTENSION_COMMANDS = ("faces",)


class CommandGroup(TyperGroup):
    """Group of commands. Removed ones print a replacement; extensions are imported at first use."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Reject a removed command; parse the arguments of any other."""
        for name in REMOVED_COMMANDS.keys() & {" ".join(args[:1]), " ".join(args[:2])}:
            fail(f"`{name}` was removed. {REMOVED_COMMANDS[name]}", WRONG_USAGE)
        return super().parse_args(ctx, args)

    def get_command(  # type: ignore[override]
        self, ctx: typer.Context, cmd_name: str
    ) -> TyperCommand | TyperGroup | None:
        """Return a command by name."""
        if cmd_name in EXTENSION_COMMANDS:
            return typer.main.get_group(load_extension(f"command {cmd_name}"))
        command = super().get_command(ctx, cmd_name)
        assert command is None or isinstance(command, TyperCommand | TyperGroup)
        return command

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
    atexit.register(gc.freeze)  # a last collection would have no effect
    app(prog_name="labelwalk")


def _print_version(is_given: bool) -> None:
    if is_given:
        typer.echo(f"labelwalk {__version__}")
        raise typer.Exit


@app.callback(epilog=EXIT_CODES)
def labelwalk(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Online semi-supervised learning: label each example of a stream, from a few labels.

    \b
    Examples:
      labelwalk demo
      labelwalk label stream.csv --label-column y -o labelled.csv --model learner.lw
    """  # noqa: D301


for command in (
    streams.label,
    streams.teach,
    saved_learners.retract,
    streams.predict,
    saved_learners.inspect,
    saved_learners.ask,
    saved_learners.explain,
    saved_learners.merge,
    saved_learners.plot,
    serve.serve,
    serve.restore,
    demo.demo,
):
    app.command(epilog=EXIT_CODES)(exit_on_error()(command))
app.add_typer(scale.app, name="scale")
