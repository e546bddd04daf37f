"""Which labelwalk this is."""

from __future__ import annotations

from importlib import metadata

SOURCES = "run from its sources"


def release() -> str:
    """Return the version that is installed.

    Examples
    --------
    >>> "." in release()
    True
    """
    try:
        return metadata.version("labelwalk")
    except metadata.PackageNotFoundError:
        return SOURCES
