"""Options that several commands share, and arguments of commands that are made from options."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin

import typer
from rich.console import Console

from labelwalk.cli.config import CONFIG_FILE, PANELS, REMOVED_SETTINGS, load_configuration

if TYPE_CHECKING:
    from labelwalk.io import ReadOptions

FILES_PANEL = "Input and output"
PASSPHRASE_VARIABLE = "LABELWALK_PASSPHRASE"
METAVARS = {int: "N", float: "NUMBER", bool: "true|false", str: "TEXT"}

Command = Callable[..., None]
Reading: TypeAlias = "ReadOptions"

file_option = partial(typer.Option, rich_help_panel=FILES_PANEL)

Model = Annotated[str, typer.Argument(help="Model file.")]
Input = Annotated[
    str,
    typer.Argument(
        help="Input: a file, a folder of images, kafka://host:port/topic, or - for stdin."
    ),
]
Format = Annotated[
    str | None,
    file_option(
        help="Input format: csv, tsv, ndjson, parquet, arrow, arrows, npz, npy, images or kafka.",
        show_default="by file name, or by the first bytes of stdin",
    ),
]
Delimiter = Annotated[
    str | None, file_option(help="Field delimiter; 'tab' is accepted.", show_default=",")
]
NoHeader = Annotated[
    bool, file_option("--no-header", help="The file has no header; name its columns 1, 2, ...")
]
Embed = Annotated[
    str | None,
    file_option(
        help="Function that embeds an image as a vector: package.module:function.",
        show_default="a small grey thumbnail",
    ),
]
Output = Annotated[
    str,
    file_option("--output", "-o", help="Output: a file, kafka://host:port/topic, or - for stdout."),
]
To = Annotated[
    str | None,
    file_option(
        help="Output format: csv, tsv, ndjson, parquet, arrows (Arrow stream) or kafka.",
        show_default="by file name, or that of the input",
    ),
]
Prefix = Annotated[
    str | None,
    file_option(
        help="Prefix of the added columns.",
        show_default="none, or predicted_ if the input has such columns",
    ),
]
Rejects = Annotated[
    str | None,
    file_option(
        help="File for rejected rows.",
        show_default="OUTPUT.rejects.ndjson, or labelwalk.rejects.ndjson",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print progress or a summary.")]
PassphraseFile = Annotated[
    str | None,
    typer.Option(
        help="File with the passphrase of an encrypted folder.", show_default=PASSPHRASE_VARIABLE
    ),
]
ConfigFile = Annotated[
    str | None,
    typer.Option(
        help="TOML file with settings.",
        show_default=f"{CONFIG_FILE}, if it exists",
        rich_help_panel="Settings",
    ),
]
HiddenOption = Annotated[str | None, typer.Option(hidden=True)]


def make_reading(
    format: Format = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    embed: Embed = None,
) -> Reading:
    """Return how to read the input."""
    from labelwalk.io import ReadOptions

    return ReadOptions(format, delimiter, not no_header, embed=embed)


def make_console(quiet: Quiet = False) -> Console:
    """Return the console for messages."""
    return Console(stderr=True, highlight=False, quiet=quiet)


def _declare_settings(panels: Sequence[str]) -> Callable[..., object]:
    """Return a function that makes a configuration from the settings of some panels."""

    def make_configuration(config: str | None, **settings: str | None) -> object:
        explicit = {name: value for name, value in settings.items() if value is not None}
        return load_configuration(explicit, config, os.environ)

    annotations: dict[str, Any] = {
        name: _describe(field, panel)
        for panel in panels
        for name, field in PANELS[panel].model_fields.items()
    }
    annotations["config"] = ConfigFile
    annotations |= dict.fromkeys(REMOVED_SETTINGS if "Learner" in panels else (), HiddenOption)
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in annotations.items()
    ]
    vars(make_configuration)["__signature__"] = inspect.Signature(parameters)
    return make_configuration


def with_options(*panels: str) -> Callable[[Command], Command]:
    """Make the arguments `reading`, `console` and `configuration` of a command from options.

    The configuration contains only the settings of the given panels.
    """
    makers: dict[str, Callable[..., object]] = {
        "reading": make_reading,
        "console": make_console,
        "configuration": _declare_settings(panels),
    }

    def add_options(command: Command) -> Command:
        parameters = inspect.signature(command, eval_str=True).parameters
        options_of = {
            name: inspect.signature(maker, eval_str=True).parameters
            for name, maker in makers.items()
            if name in parameters
        }

        @wraps(command)
        def run(**arguments: Any) -> None:
            for name, parts in options_of.items():
                values = {part: arguments.pop(part) for part in parts}
                arguments[name] = makers[name](**values)
            command(**arguments)

        options = [
            option.replace(kind=option.KEYWORD_ONLY)
            for name, parameter in parameters.items()
            for option in options_of.get(name, {name: parameter}).values()
        ]
        vars(run)["__signature__"] = inspect.Signature(options)
        run.__annotations__ = {option.name: option.annotation for option in options}
        return run

    return add_options


def _describe(field: Any, panel: str) -> Any:
    """Return a setting as an option, whose value is text: the configuration checks it."""
    default = field.default
    is_explained = default == [] or "Default: " in field.description
    shown = "" if is_explained else "none" if default is None else str(default).lower()
    option = typer.Option(
        help=field.description,
        metavar=_find_metavar(field.annotation),
        show_default=shown or False,
        rich_help_panel=panel,
    )
    return Annotated[str | None, option]


def _find_metavar(annotation: Any) -> str:
    """Return the placeholder of an option with a type."""
    if get_origin(annotation) is dict:
        return "NAME=SHARE,..."
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    if get_args(annotation) and annotation != list[str]:
        parts = (part for part in get_args(annotation) if part is not type(None))
        return "|".join(map(_find_metavar, parts))
    return METAVARS.get(annotation, "TEXT")


def read_passphrase(path: str | None) -> str | None:
    """Return the passphrase from a file or the environment; None if neither is given.

    A line break at the end of the file is ignored.
    """
    if path is None:
        passphrase, where = os.environ.get(PASSPHRASE_VARIABLE), PASSPHRASE_VARIABLE
    else:
        where = f"--passphrase-file {path}"
        try:
            with open(path, encoding="utf-8", newline="") as file:
                passphrase = file.read().removesuffix("\n").removesuffix("\r")
        except OSError as error:
            raise OSError(f"{where} cannot be read ({error.strerror or error}).") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"{where} is not UTF-8 text.") from error
    if passphrase == "":
        raise ValueError(f"{where} is empty. Write a passphrase to it, or omit the option.")
    return passphrase
