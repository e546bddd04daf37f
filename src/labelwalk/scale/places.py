"""Where files are: paths of this machine, or addresses that Arrow knows, such as s3://bucket/key."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from labelwalk.streams.columns import ColumnError
from labelwalk.streams.fault import InputError

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
        Found(own, Place(place.system, info.path), int(info.size or 0), int(info.mtime_ns or 0))
        for own, info in sorted(wanted.items())
    ]


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
    parts = name.split("/")
    wild = [i for i, part in enumerate(parts) if any(mark in part for mark in WILD)]
    if not wild or os.path.exists(name):
        return name, None
    return "/".join(parts[: wild[0]]) or ("/" if name[:1] == "/" else "."), "/".join(
        parts[wild[0] :]
    )


def write_whole(place: Place, write: Callable[[Any], None], aside: Place | None = None) -> None:
    """Let a function write a file that is there as a whole or not at all.

    Parameters
    ----------
    place : Place
    write : function of an open file
    aside : Place, optional
        A folder on the same disk, where whoever is killed while writing leaves what there was; that
        of the file itself where it is not given.

    Raises
    ------
    OSError
        There is no room, or no right to write there.
    """
    try:
        place.system.create_dir(os.path.dirname(place.path), recursive=True)
        if place.is_local:
            _write_aside(place, write, aside)
        else:
            _write_object(place, write)
    except OSError as error:
        why = error.strerror or str(error)
        raise OSError(
            f"{place.path} cannot be written ({why}). Mend that and begin again: what is done is "
            "not done again."
        ) from error


def _write_object(place: Place, write: Callable[[Any], None]) -> None:
    """Write an object, which is there once it is closed, and remove it where that failed."""
    try:
        with place.system.open_output_stream(place.path) as file:
            write(file)
    except BaseException:
        if place.is_there():
            place.system.delete_file(place.path)
        raise


def _write_aside(place: Place, write: Callable[[Any], None], aside: Place | None) -> None:
    """Write a file under another name, and give it its own when all of it is on the disk."""
    folder, name = os.path.split(place.path)
    part = f"{aside.path if aside else folder}/.{name}.{uuid.uuid4().hex}"
    try:
        with open(part, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place.path)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


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
