"""Where files are: paths of this machine, or addresses that Arrow knows, such as s3://bucket/key."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from labelwalk.io.examples import ColumnError
from labelwalk.io.rows import InputError

WILD = "*?["


class Place(NamedTuple):
    """A file or folder of some file system."""

    system: Any
    path: str

    def __truediv__(self, name: str) -> Place:
        return Place(self.system, f"{self.path.rstrip('/')}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return isinstance(self.system, fs.LocalFileSystem)

    def is_there(self) -> bool:
        """Return whether there is a file or a folder."""
        return bool(self.system.get_file_info(self.path).type != fs.FileType.NotFound)

    def read(self) -> bytes:
        """Return what a file holds."""
        with self.system.open_input_stream(self.path) as file:
            content: bytes = file.read()
        return content

    def inside(self) -> list[str]:
        """Return the names of all that is in a folder; none where there is no folder."""
        found = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(info.base_name for info in found)

    def remove(self) -> None:
        """Remove a folder with all that is in it, if it is there."""
        if self.is_there():
            self.system.delete_dir(self.path)


def place_of(name: str) -> Place:
    """Return where a path or an address points to.

    Raises
    ------
    InputError
        It is an address of a kind that Arrow does not know.

    Examples
    --------
    >>> place_of("/data/rows").path
    '/data/rows'
    """
    if "://" not in name:
        return Place(fs.LocalFileSystem(), os.path.abspath(name))
    try:
        return Place(*fs.FileSystem.from_uri(name))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{name} cannot be opened ({error}). Give a path, or an address such as s3://bucket/key."
        ) from error


class Found(NamedTuple):
    """A file, by its name below the folder that is looked through."""

    name: str
    place: Place
    size: int
    changed: int  # in nanoseconds since 1970; 0 where nobody knows


def files_at(name: str) -> list[Found]:
    """Return the files of a path, a folder or a pattern, in order of their names.

    Files whose names, or those of their folders, begin with "." or "_" are passed over, as Hadoop
    and Arrow do.

    Raises
    ------
    InputError
        There is none.
    """
    folder, pattern = _parted(name)
    place = place_of(folder)
    with blamed(name):
        top = place.system.get_file_info(place.path)
        if top.type == fs.FileType.File:
            found = [top]
            base = os.path.dirname(place.path)
        elif top.type == fs.FileType.Directory:
            base = place.path.rstrip("/")
            every = place.system.get_file_info(fs.FileSelector(base, recursive=True))
            found = [info for info in every if info.type == fs.FileType.File]
        else:
            raise InputError(f"{name}: there is nothing. Give a file, a folder or a pattern.")
    below = {info.path[len(base) :].lstrip("/"): info for info in found}
    wanted = {own: info for own, info in below.items() if _is_wanted(own, pattern)}
    if not wanted:
        raise InputError(f"{name}: no file is there. Give a folder or a pattern that has some.")
    return [
        Found(own, Place(place.system, info.path), *_state(info))
        for own, info in sorted(wanted.items())
    ]


def check_unchanged(files: Sequence[Found]) -> None:
    """Refuse files that are not as they were found.

    Raises
    ------
    InputError
        One was written anew, or is gone.
    """
    infos = files[0].place.system.get_file_info([file.place.path for file in files])
    for file, info in zip(files, infos, strict=True):
        if _state(info) != (file.size, file.changed):
            raise InputError(
                f"{file.name} is not what it was when this job was begun. Remove the output, and "
                "begin again when files stay as they are."
            )


def _state(info: fs.FileInfo) -> tuple[int, int]:
    """Return how long a file is, and when it was changed, as far as anybody knows."""
    return int(info.size or 0), int(info.mtime_ns or 0)


def is_among(name: str, place: Place) -> bool:
    """Return whether a file there would be one of those of a path, a folder or a pattern.

    Examples
    --------
    >>> is_among("/rows", place_of("/rows/out/1")), is_among("/rows/*", place_of("/rows/out/1"))
    (True, False)
    """
    folder, pattern = _parted(name)
    base = place_of(folder)
    inside = f"{base.path.rstrip('/')}/"
    if base.system != place.system or not place.path.startswith(inside):
        return False
    return _is_wanted(place.path.removeprefix(inside), pattern)


def _is_wanted(own: str, pattern: str | None) -> bool:
    parts = own.split("/")
    if any(part[:1] in "._" for part in parts):
        return False
    return pattern is None or _matches(parts, pattern.split("/"))


def _matches(parts: list[str], pattern: list[str]) -> bool:
    """Return whether a name matches a pattern, part by part; "**" stands for any number of parts.

    Examples
    --------
    >>> _matches(["day=1", "a.parquet"], ["**", "*.parquet"]), _matches(["d", "a"], ["*"])
    (True, False)
    """
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _parted(name: str) -> tuple[str, str | None]:
    """Return the folder before the first wild part of a name, and the rest as a pattern."""
    path, asked = _without_query(name)
    parts = path.split("/")
    wild = [i for i, part in enumerate(parts) if any(mark in part for mark in WILD)]
    if not wild or os.path.exists(name):
        return name, None
    folder = "/".join(parts[: wild[0]]) or ("/" if name[:1] == "/" else ".")
    return folder + asked, "/".join(parts[wild[0] :])


def _without_query(name: str) -> tuple[str, str]:
    """Return an address without what it says of its store behind a "?", and that; paths have none.

    Examples
    --------
    >>> _without_query("s3://rows/*.parquet?region=eu-west-1"), _without_query("rows/?.parquet")
    (('s3://rows/*.parquet', '?region=eu-west-1'), ('rows/?.parquet', ''))
    """
    if "://" not in name or "=" not in name.rpartition("?")[2]:
        return name, ""
    path, mark, asked = name.rpartition("?")
    return path, mark + asked


@contextmanager
def blamed(name: str) -> Iterator[None]:
    """Name a file in every error of it."""
    try:
        yield
    except (InputError, ColumnError) as error:
        if str(error).startswith(name):
            raise
        raise type(error)(f"{name}, {error}") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError) as error:
        raise InputError(f"{name} is not what its name says, or damaged ({error}).") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"{name} cannot be read ({why}).") from error
