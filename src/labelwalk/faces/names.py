"""What people are called, and what those are called who have no name."""

from __future__ import annotations

import re
from unicodedata import normalize

UNKNOWN = "unknown"
NUMBERED = re.compile(rf"(?:{UNKNOWN}\s*)?#\s*([0-9]{{1,9}})", re.I)


def plain(name: str) -> str:
    """Return a name as people mean it, without spaces around it.

    Raises
    ------
    ValueError
        It cannot be read, or is what strangers are called.

    Examples
    --------
    >>> plain(" Ada ")
    'Ada'
    >>> plain("unknown #3")
    Traceback (most recent call last):
    ValueError: name='unknown #3' is what a stranger is called. Give another name.
    """
    name.encode()  # what cannot be written is refused as such
    meant = normalize("NFC", name.strip())  # one that looks the same is the same
    if not meant or not meant.isprintable():
        raise ValueError(f"name={name!r} is no name. Give one that can be read.")
    if meant.lower() == UNKNOWN or stranger_called(meant) is not None:
        raise ValueError(f"name={name!r} is what a stranger is called. Give another name.")
    return meant


def unknown(number: int | None) -> str:
    """Return what a stranger is called, None for one without a number.

    Examples
    --------
    >>> unknown(3), unknown(None)
    ('unknown #3', 'unknown')
    """
    return UNKNOWN if number is None else f"{UNKNOWN} #{number}"


def stranger_called(text: str) -> int | None:
    """Return the number of a stranger who is called so, with or without "unknown"; else None.

    Examples
    --------
    >>> stranger_called("unknown #3"), stranger_called("#3"), stranger_called("Ada")
    (3, 3, None)
    """
    found = NUMBERED.fullmatch(text.strip())
    return None if found is None else int(found[1])
