"""Settings from options, a TOML file and the environment, in that order."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from labelwalk.configuration.model import REMOVED_SETTINGS, Configuration, ConfigurationError

FILE = "labelwalk.toml"
PREFIX = "LABELWALK_"


def gathered(
    options: Mapping[str, Any], path: str | None, environment: Mapping[str, str]
) -> Configuration:
    """Put settings together: options win over the file, and that over the environment.

    Parameters
    ----------
    options : mapping
        What was given on the command line.
    path : str or None
        A TOML file; None: `labelwalk.toml`, if it is there.
    environment : mapping
        Where LABELWALK_SINK sets the sink, and so on.

    Examples
    --------
    >>> found = gathered(
    ...     {"sink": "0.1"}, None, {"LABELWALK_SINK": "0.2", "LABELWALK_REMEMBER": "9"}
    ... )
    >>> found.sink, found.remember
    (0.1, 9)
    """
    called = {name: PREFIX + name.upper() for name in Configuration.model_fields}
    surrounding = {name: environment[v] for name, v in called.items() if v in environment}
    written, file = _from_file(path)
    origins = {
        **{name: f"the environment ({called[name]})" for name in surrounding},
        **dict.fromkeys(written, file),
        **{name: f"--{name.replace('_', '-')}" for name in options},
    }
    _check_spelling(environment, called)
    _check_removed(environment, written | dict(options), file)
    try:
        found = Configuration(**(surrounding | written | dict(options)))
        found.remember_origins(origins)
        return found
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise ConfigurationError(_complaint(name, origins[name], first)) from None


def _from_file(path: str | None) -> tuple[dict[str, Any], str]:
    chosen = path or FILE
    if path is None and not Path(FILE).is_file():
        return {}, chosen
    try:
        return tomllib.loads(Path(chosen).read_text("utf-8")), chosen
    except OSError as error:
        raise ConfigurationError(
            f"{chosen} cannot be read ({error.strerror}). Check --config."
        ) from error
    except ValueError as error:
        raise ConfigurationError(f"{chosen} is not TOML: {error}. Repair it.") from error


def _check_spelling(environment: Mapping[str, str], called: Mapping[str, str]) -> None:
    """Refuse a variable that is nearly one of ours: it would be ignored without a word."""
    for name in environment:
        if name.startswith(PREFIX) and name not in called.values():
            close = get_close_matches(name, called.values(), 1, cutoff=0.9)
            if close:
                raise ConfigurationError(f"{name} in the environment: did you mean {close[0]}?")


def _check_removed(environment: Mapping[str, str], chosen: Mapping[str, Any], file: str) -> None:
    for name, replacement in REMOVED_SETTINGS.items():
        variable = PREFIX + name.upper()
        if name in chosen or variable in environment:
            origin = f"{name} in {file}" if name in chosen else f"{variable} in the environment"
            raise ConfigurationError(f"{origin} was removed. {replacement}")


def _complaint(name: str, origin: str, error: Any) -> str:
    if error["type"] == "extra_forbidden":
        close = get_close_matches(name, list(Configuration.model_fields), 1)
        hint = f"Did you mean {close[0]}?" if close else "`labelwalk label --help` lists them."
        return f"{name} in {origin} is no setting. {hint}"
    return f"{name}={error['input']!r} from {origin}: {error['msg'].lower()}."
