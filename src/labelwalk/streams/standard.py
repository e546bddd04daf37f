"""Standard input: read by all from one buffer, so that a look at its beginning costs nothing."""

from __future__ import annotations

import io
import sys
from functools import cache

SIZE = 1 << 20


@cache
def standard_input() -> io.BufferedReader:
    """Return standard input."""
    return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), SIZE)


@cache
def guessed_format() -> str:
    """Return the format of standard input by its first bytes: Arrow, NDJSON, or else CSV."""
    start = standard_input().peek(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"\xff\xff\xff\xff", b"ARROW1")):
        return "arrow"
    return "ndjson" if start.startswith(b"{") else "csv"
