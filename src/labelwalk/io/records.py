r"""Where records of delimited text end: at line breaks that no quotes enclose.

A quote opens only at the beginning of a field; \n, \r\n and \r all end a record. Arrow's reader has
the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Record(NamedTuple):
    """A record that is not empty, without its line break.

    Attributes
    ----------
    text : bytes
    line : int
        How many lines come before it.
    end, lines_end : int
        How many bytes and lines there are up to its end, line break included.
    """

    text: bytes
    line: int
    end: int
    lines_end: int


def whole(text: bytes, delimiter: bytes, *, last: bool = False) -> int:
    r"""Return how many bytes of the text are whole records.

    Parameters
    ----------
    text : bytes
        It begins where a record begins.
    delimiter : bytes
    last : bool
        Whether nothing comes after it; else a \r at its end may be half of a line break.

    Examples
    --------
    >>> whole(b'a,"b\nc"\nd,"e\n', b",")
    8
    """
    if b'"' not in text and b"\r" not in text:
        return text.rfind(b"\n") + 1
    end = 0
    for token in _tokens(delimiter).finditer(text):
        found = token.group()
        if found[-1:] in b"\r\n" and not found.startswith(b'"'):
            end = token.end()
    if text.endswith(b"\r") and end == len(text) and not last:
        return whole(text[:-1], delimiter, last=True)
    return end


def records(text: bytes, delimiter: bytes) -> Iterator[Record]:
    r"""Yield the records of a text that are not empty.

    Examples
    --------
    >>> [(one.text, one.line) for one in records(b'a,"b\nc"\n\nd,5" pipe\n', b",")]
    [(b'a,"b\nc"', 0), (b'd,5" pipe', 3)]
    """
    start = line = begun = 0
    for token in _tokens(delimiter).finditer(text):
        found = token.group()
        line += _breaks(found)
        if found[-1:] in b"\r\n" and not found.startswith(b'"'):
            record = text[start : token.start()]
            if record:
                yield Record(record, begun, token.end(), line)
            start, begun = token.end(), line
    if text[start:]:
        yield Record(text[start:], begun, len(text), line)


def line_breaks(text: bytes) -> int:
    r"""Return how many lines end in a text; \r\n ends one."""
    return _breaks(text)


def _breaks(text: bytes) -> int:
    if b"\r" not in text:
        return text.count(b"\n")
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


@cache
def _tokens(delimiter: bytes) -> re.Pattern[bytes]:
    """Return what finds line breaks, and whole quoted fields so that those in them are passed over.

    An open quote takes all that follows.
    """
    before = b"[" + re.escape(delimiter) + rb"\r\n]"
    quoted = rb'"(?:[^"]|"")*+(?:"|\Z)'
    return re.compile(rb"(?:\A|(?<=" + before + rb"))" + quoted + rb"|\r\n|\n|\r", re.DOTALL)
