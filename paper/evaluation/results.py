"""Results, written before anything is drawn: a Parquet table, and a JSON file that says whence."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from labelwalk.storage.atomic_write import write_atomic

PACKAGES = ("labelwalk", "numpy", "scipy", "scikit-learn", "numba")

Columns = Mapping[str, Sequence[Any] | NDArray[Any]]


class Result(NamedTuple):
    """A table by columns, and what is known about it."""

    columns: dict[str, list[Any]]
    about: dict[str, Any]


def write(path: Path, columns: Columns, about: Mapping[str, Any]) -> None:
    """Write a table to PATH.parquet, and what is known about it to PATH.json, each all at once.

    The JSON comes last: where it stands, the table is complete.
    """
    import pyarrow
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    table = BytesIO()
    parquet.write_table(pyarrow.table(dict(columns)), table)
    text = json.dumps(dict(about) | {"versions": versions()}, indent=2) + "\n"
    _named(path, ".json").unlink(missing_ok=True)  # an old one must not vouch for a new table
    write_atomic(_named(path, ".parquet"), [table.getbuffer()])
    write_atomic(_named(path, ".json"), [memoryview(text.encode())])


def read(path: Path) -> Result | None:
    """Read a table and what is known about it; None where either is missing or damaged."""
    from pyarrow import parquet

    try:
        about = json.loads(_named(path, ".json").read_text("utf-8"))
        table = parquet.read_table(_named(path, ".parquet"))
    except (OSError, ValueError):
        return None
    return Result(table.to_pydict(), about)


def _named(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)  # with_suffix would eat half of "width-0.5"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages a result depends on."""
    known = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            known[package] = f"sources {_fingerprint()}"
    return known


@cache
def _fingerprint() -> str:
    """Tell one state of our sources from another."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
