"""Paths that cannot serve together, or not as they are wanted."""

from __future__ import annotations

import os


class PathError(ValueError):
    """A path that cannot serve what it is given for."""


def check_distinct(**paths: str | None) -> None:
    """Refuse a file that is to serve two ends: writing the one would destroy the other.

    Raises
    ------
    PathError

    Examples
    --------
    >>> check_distinct(input="a.csv", output="./a.csv")
    Traceback (most recent call last):
    labelwalk.io.paths.PathError: input and output are the same, ./a.csv. ...
    """
    known: dict[object, str] = {}
    for role, path in paths.items():
        if path is None or path == "-" or path.startswith("/dev/"):
            continue
        place = path if path.startswith("kafka://") else _place(path)
        if place in known:
            raise PathError(f"{known[place]} and {role} are the same, {path}. Give another path.")
        known[place] = role


def check_regular(output: str | None) -> None:
    """Refuse an output that cannot be cut back, which a checkpoint needs.

    Raises
    ------
    PathError
    """
    if output == "-" or (output and os.path.exists(output) and not os.path.isfile(output)):
        raise PathError(
            "--checkpoint needs an output that can be cut back after an accident: give -o FILE."
        )


def check_replaceable(output: str) -> None:
    """Refuse a path that is no file: one that is made at the end takes the place of what is there.

    Raises
    ------
    PathError
    """
    if os.path.exists(output) and not os.path.isfile(output):
        raise PathError(f"{output} is not a file, and would be replaced by one. Give another path.")


def _place(path: str) -> object:
    """Return what two names of one file have in common, hard links included."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return found.st_dev, found.st_ino
