"""Options that several commands share, and settings as options."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from labelwalk.cli.config import (
    CONFIG_FILE,
    LEARNER_PANEL,
    REMOVED_SETTINGS,
    find_panel,
    list_settings,
    load_configuration,
)
from labelwalk.cli.errors import exit_on_error

FILES_PANEL = "Input and output"
PASSPHRASE_VARIABLE = "LABELWALK_PASSPHRASE"
METAVARS = {int: "N", float: "NUMBER", bool: "true|false", str: "TEXT"}

Command = Callable[..., None]

Model = Annotated[str, typer.Argument(help="Model file.")]
Input = Annotated[
    str,
    typer.Argument(
        help="Input: a file, a folder of images, kafka://host:port/topic, or - for stdin."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Input format: csv, tsv, ndjson, parquet, arrow, arrows, npz, npy, images or kafka.",
        show_default="by file name, or by the first bytes of stdin",
        rich_help_panel=FILES_PANEL,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Field delimiter; 'tab' is accepted.", show_default=",", rich_help_panel=FILES_PANEL
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The file has no header; name its columns 1, 2, ...",
        rich_help_panel=FILES_PANEL,
    ),
]
Embed = Annotated[
    str | None,
    typer.Option(
        help="Function that embeds an image as a vector: package.module:function.",
        show_default="a small grey thumbnail",
        rich_help_panel=FILES_PANEL,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="Output: a file, kafka://host:port/topic, or - for stdout.",
        rich_help_panel=FILES_PANEL,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        help="Output format: csv, tsv, ndjson, parquet, arrows (Arrow stream) or kafka.",
        show_default="by file name, or that of the input",
        rich_help_panel=FILES_PANEL,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        help="Prefix of the added columns.",
        show_default="none, or predicted_ if the input has such columns",
        rich_help_panel=FILES_PANEL,
    ),
]
Rejects = Annotated[
    str | None,
    typer.Option(
        help="File for rejected rows.",
        show_default="OUTPUT.rejects.ndjson, or labelwalk.rejects.ndjson",
        rich_help_panel=FILES_PANEL,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not print progress or a summary.")]
PassphraseFile = Annotated[
    str | None,
    typer.Option(
        "--passphrase-file",
        help="File with the passphrase of an encrypted folder.",
        show_default=PASSPHRASE_VARIABLE,
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


def with_config_options(*panels: str) -> Callable[[Command], Command]:
    """Add the settings of some panels as options; the command receives `configuration`."""
    fields = list_settings(*panels)
    removed = REMOVED_SETTINGS if LEARNER_PANEL in panels else ()

    def add_options(command: Command) -> Command:
        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            path = arguments.pop("config")
            values = {name: arguments.pop(name) for name in (*fields, *removed)}
            explicit = {name: value for name, value in values.items() if value is not None}
            with exit_on_error():
                command(configuration=load_configuration(explicit, path, os.environ), **arguments)

        signature = inspect.signature(command, eval_str=True)
        parameters = [p for name, p in signature.parameters.items() if name != "configuration"]
        parameters += [_make_parameter(name, _describe(field)) for name, field in fields.items()]
        parameters.append(_make_parameter("config", ConfigFile))
        parameters += [_make_parameter(name, HiddenOption) for name in removed]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return add_options


def _make_parameter(name: str, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


def _describe(field: Any) -> Any:
    """Return a setting as an option, whose value is text: the configuration checks it."""
    default = field.default
    shown = "none" if default is None else "" if default == [] else str(default).lower()
    option = typer.Option(
        help=field.description,
        metavar=_find_metavar(field.annotation),
        show_default=shown or False,
        rich_help_panel=find_panel(field),
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
    """Return the passphrase in a file, or else in the environment; None without either.

    A line break at the end of the file is not part of it.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        The passphrase is empty, or not UTF-8 text.
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
