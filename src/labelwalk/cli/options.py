"""Settings as options: those of the configuration, the same for every command that takes them."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from labelwalk.cli.failures import WRONG_USAGE, fail, told
from labelwalk.configuration import Configuration, gathered, panel_of
from labelwalk.configuration.model import LEARNER, REMOVED_SETTINGS

Command = Callable[..., None]


def configured(*panels: str) -> Callable[[Command], Command]:
    """Give a command the settings of some panels as options, put together in `configuration`."""
    fields = {
        name: field
        for name, field in Configuration.model_fields.items()
        if panel_of(field) in panels
    }

    def with_options(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name in REMOVED_SETTINGS:
                if given.pop(name, None) is not None:
                    option = f"--{name.replace('_', '-')}"
                    fail(f"{option} was removed. {REMOVED_SETTINGS[name]}", WRONG_USAGE)
            options = {name: given.pop(name) for name in fields}
            path = given.pop("config")
            chosen = {name: value for name, value in options.items() if value is not None}
            with told():
                configuration = gathered(chosen, path, os.environ)
                command(configuration=configuration, **given)

        parameters = [
            parameter
            for name, parameter in inspect.signature(command, eval_str=True).parameters.items()
            if name != "configuration"
        ]
        parameters += [_option(name, field) for name, field in fields.items()]
        parameters.append(_parameter("config", CONFIG))
        if LEARNER in panels:
            parameters += [_parameter(name, REMOVED) for name in REMOVED_SETTINGS]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    return with_options


CONFIG = Annotated[
    str | None,
    typer.Option(
        help="A TOML file with settings.",
        show_default="labelwalk.toml, if it is there",
        rich_help_panel="Settings",
    ),
]


REMOVED = Annotated[str | None, typer.Option(hidden=True)]


def _option(name: str, field: Any) -> inspect.Parameter:
    default = field.default
    shown = "none" if default is None else "" if default == [] else str(default).lower()
    annotation = Annotated[
        str | None,
        typer.Option(
            help=field.description,
            metavar=_metavar(field.annotation),
            show_default=False if shown == "" else shown,
            rich_help_panel=panel_of(field),
        ),
    ]
    return _parameter(name, annotation)


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


def _metavar(annotation: Any) -> str:
    """Return what may be given, in short."""
    if get_origin(annotation) is dict:
        return "NAME=SHARE,..."
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    if get_args(annotation) and annotation != list[str]:
        return "|".join(_metavar(part) for part in get_args(annotation) if part is not type(None))
    names = {int: "N", float: "NUMBER", bool: "true|false", str: "TEXT"}
    return names.get(annotation, "TEXT")
