"""Standard input and output: one buffer each, so that a look ahead costs nothing."""

from __future__ import annotations

import io
import sys
from functools import cache

SIZE = 1 << 20


@cache
def standard_input() -> io.BufferedReader:
    """Return standard input.

    Raises
    ------
    OSError
        It is closed.
    """
    if sys.stdin is None:
        raise OSError("standard input is closed. Give a path.")
    return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), SIZE)


@cache
def standard_output() -> io.BufferedWriter:
    """Return standard output, buffered whatever Python was told: a raw one may write in part.

    Raises
    ------
    OSError
        It is closed.
    """
    if sys.stdout is None:
        raise OSError("standard output is closed. Give a path by -o.")
    return io.BufferedWriter(io.FileIO(sys.stdout.fileno(), "w", closefd=False), SIZE)


@cache
def guessed_format() -> str:
    """Return the format of standard input by its first bytes: CSV where they tell nothing."""
    start = standard_input().peek(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"\xff\xff\xff\xff", b"ARROW1")):
        return "arrow"
    if start.startswith(b"PAR1"):
        return "parquet"
    return "ndjson" if start.startswith(b"{") else "csv"
