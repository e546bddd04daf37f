"""Errors of the library as messages and exit codes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import typer

FAILED, WRONG_USAGE, INVALID_INPUT = 1, 2, 3
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
EXIT_CODES = (
    "Exit codes: 0 done, 1 a file, broker or package cannot be used, 2 wrong usage or settings, "
    "3 input or model cannot be read, 130 interrupted, 141 the reader of the output is gone, "
    "143 terminated."
)
EXTRA_OF_PACKAGE = {
    "confluent_kafka": "kafka",
    "cryptography": "encrypted",
    "PIL": "images",
    "cv2": "faces",
    "dlib": "dlib",
    "face_recognition_models": "dlib",
    "matplotlib": "plot",
    "ray": "cluster",
    "fastapi": "serve",
    "uvicorn": "serve",
}


@contextmanager
def exit_on_error() -> Iterator[None]:
    """Convert errors of the library to a message and an exit code."""
    from labelwalk.io import InputError
    from labelwalk.storage.model_file import ModelFileError

    try:
        yield
    except BrokenPipeError:
        # Python would write to standard output again when it exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(BROKEN_PIPE) from None
    except KeyboardInterrupt:
        fail("Interrupted.", INTERRUPTED)
    except ModuleNotFoundError as error:
        extra = EXTRA_OF_PACKAGE.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        fail(f"{error.name} is missing: pip install 'labelwalk[{extra}]'", FAILED)
    except InputError as error:
        fail(str(error), INVALID_INPUT)
    except ModelFileError as error:
        fail(str(error), FAILED if isinstance(error.__cause__, OSError) else INVALID_INPUT)
    except ValueError as error:
        fail(str(error), WRONG_USAGE)
    except OSError as error:
        fail(str(error), FAILED)


@contextmanager
def exit_if_not_writable(path: Path) -> Iterator[None]:
    """End the command if the block cannot write a file."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        fail(f"{path} cannot be written ({reason}). Choose another path.", FAILED)


def fail(message: str, code: int) -> NoReturn:
    """Print a message and end the command."""
    typer.echo(message, err=True)
    raise typer.Exit(code)
