"""The passphrase of an encrypted folder, from a file or the environment, for every command."""

from __future__ import annotations

import os
from typing import Annotated

import typer

VARIABLE = "LABELWALK_PASSPHRASE"
PassphraseFile = Annotated[
    str | None,
    typer.Option(
        "--passphrase-file",
        help="A file with the passphrase of an encrypted folder.",
        show_default=VARIABLE,
    ),
]


def passphrase_from(path: str | None) -> str | None:
    """Return the passphrase in a file, or else in the environment; None where there is neither.

    One end of line at the end of the file is not part of it.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        The passphrase is empty, or no text.
    """
    if path is None:
        found, where = os.environ.get(VARIABLE), VARIABLE
    else:
        found, where = _content(path), f"--passphrase-file {path}"
    if found == "":
        raise ValueError(f"{where} is empty. Write a passphrase into it, or leave it out.")
    return found


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read().removesuffix("\n").removesuffix("\r")
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"--passphrase-file {path} cannot be read ({reason}).") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"--passphrase-file {path} is not text in UTF-8.") from error
