"""Files on this machine or in a store that Arrow supports, such as s3://bucket/key.

Files are written atomically everywhere.
"""

import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from pyarrow import fs

from labelwalk._validation import shown
from labelwalk.io.examples import ColumnError
from labelwalk.io.rows import InputError
from labelwalk.storage.atomic_write import open_atomic, sync_folder

WILDCARDS = set("*?[")
ATOMIC_STORES = {"s3", "gcs", "abfs"}  # a file appears when it is closed
COPY_BYTES = 1 << 20
POSITION_DIGITS = 20  # in names of files, which are thereby in order

Content = TypeVar("Content")


class Location(NamedTuple):
    """A file or folder of a file system."""

    system: Any
    path: str

    def __truediv__(self, name: str) -> "Location":
        return Location(self.system, f"{self.path.rstrip('/')}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return isinstance(self.system, fs.LocalFileSystem)

    def exists(self) -> bool:
        """Return whether there is a file or a folder."""
        return bool(self.system.get_file_info(self.path).type != fs.FileType.NotFound)

    def read(self) -> bytes:
        """Return the content of a file."""
        with self.system.open_input_stream(self.path) as file:
            return bytes(file.read())

    def parse(self, read: Callable[[bytes], Content]) -> Content:
        """Return what a function reads from the content of a file. Errors name the file."""
        with with_path_in_errors(self.path):
            return read(self.read())

    def write(self, content: bytes, temporary: "Location | None" = None) -> None:
        """Write a file as `write_file` does."""
        write_file(self, lambda file: file.write(content), temporary)

    def list_names(self) -> list[str]:
        """Return the names of the files and folders in a folder; none if it does not exist."""
        infos = self.system.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
        return sorted(info.base_name for info in infos)


class DataFile(NamedTuple):
    """A file of a data set, with its name relative to the folder of the data set."""

    name: str
    location: Location
    size: int
    changed: int  # nanoseconds since 1970; 0 if unknown


def parse_location(name: str) -> Location:
    """Return the location of a path or an address."""
    if "://" not in name:
        return Location(fs.LocalFileSystem(), os.path.abspath(name))
    try:
        return Location(*fs.FileSystem.from_uri(name))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{name} cannot be opened ({error}). Give a path, or an address such as s3://bucket/key."
        ) from error


def find_files(name: str) -> list[DataFile]:
    """Return the files of a path, a folder or a pattern, in order of their names.

    Files are skipped if their names, or those of their folders, begin with "." or "_", as in
    Hadoop and Arrow.
    """
    folder, pattern = _split_pattern(name)
    location = parse_location(folder)
    with with_path_in_errors(name):
        top = location.system.get_file_info(location.path)
        if top.type not in (fs.FileType.File, fs.FileType.Directory):
            raise InputError(f"{name} does not exist. Give a file, a folder or a pattern.")
        if top.is_file:
            base, infos = os.path.dirname(location.path), [top]
        else:
            base = location.path.rstrip("/")
            infos = location.system.get_file_info(fs.FileSelector(base, recursive=True))
    names = {info.path[len(base) :].lstrip("/"): info for info in infos if info.is_file}
    files = [
        DataFile(name, Location(location.system, info.path), *_version_of(info))
        for name, info in sorted(names.items())
        if _is_selected(name, pattern)
    ]
    if not files:
        raise InputError(f"{name} contains no files. Give a folder with files, or another pattern.")
    return files


def check_unchanged(files: Sequence[DataFile]) -> None:
    """Raise an error if a file has changed since it was found."""
    infos = files[0].location.system.get_file_info([file.location.path for file in files])
    for file, info in zip(files, infos, strict=True):
        if _version_of(info) != (file.size, file.changed):
            raise InputError(
                f"{file.name} has changed since this job began. Remove the output, and rerun the "
                "job on files that do not change."
            )


def _version_of(info: fs.FileInfo) -> tuple[int, int]:
    """Return the size of a file and the time of its last change, as far as they are known."""
    return int(info.size or 0), int(info.mtime_ns or 0)


def is_selected_by(name: str, location: Location) -> bool:
    """Return whether a file at this location would belong to a path, a folder or a pattern."""
    folder, pattern = _split_pattern(name)
    base = parse_location(folder)
    parent = f"{base.path.rstrip('/')}/"
    is_inside = base.system == location.system and location.path.startswith(parent)
    return is_inside and _is_selected(location.path.removeprefix(parent), pattern)


def _is_selected(name: str, pattern: str | None) -> bool:
    parts = name.split("/")
    is_hidden = any(part[:1] in "._" for part in parts)
    return not is_hidden and (pattern is None or _matches(parts, pattern.split("/")))


def _matches(parts: list[str], pattern: list[str]) -> bool:
    """Return whether a name matches a pattern, part by part; "**" matches any number of parts.

    >>> _matches(["day=1", "a.parquet"], ["**", "*.parquet"]), _matches(["d", "a"], ["*"])
    (True, False)
    """
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _split_pattern(name: str) -> tuple[str, str | None]:
    """Return the folder before the first part with a wildcard, and the rest as a pattern.

    An address may end with options of its store, which belong to the folder.

    >>> _split_pattern("s3://rows/*.parquet?region=eu-west-1"), _split_pattern("rows/?.parquet")
    (('s3://rows?region=eu-west-1', '*.parquet'), ('rows', '?.parquet'))
    >>> _split_pattern("s3://rows/day=1/*.parquet"), _split_pattern("s3://rows/?/day=1/*.parquet")
    (('s3://rows/day=1', '*.parquet'), ('s3://rows', '?/day=1/*.parquet'))
    """
    path, mark, query = name.rpartition("?")
    if "://" not in name or "=" not in query or "/" in query.partition("=")[0]:
        path, mark, query = name, "", ""
    parts = path.split("/")
    wild = [i for i, part in enumerate(parts) if set(part) & WILDCARDS]
    if not wild or os.path.exists(name):
        return name, None
    folder = "/".join(parts[: wild[0]]) or ("/" if name[:1] == "/" else ".")
    return folder + mark + query, "/".join(parts[wild[0] :])


@contextmanager
def with_path_in_errors(name: str) -> Iterator[None]:
    """Prefix the message of every error about a file with its name."""
    try:
        yield
    except (InputError, ColumnError) as error:
        if str(error).startswith(name):
            raise
        raise type(error)(f"{name}, {error}") from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError) as error:
        raise InputError(
            f"{name} does not match its file extension, or is damaged ({error})."
        ) from error
    except OSError as error:
        raise InputError(f"{name} cannot be read ({error.strerror or error}).") from error


def write_file(
    location: Location, write: Callable[[Any], Any], temporary: Location | None = None
) -> None:
    """Write a file atomically by a function. If two processes write it, the last wins.

    The unfinished file, which remains if the process is killed, lies in the folder of the file or
    in the folder `temporary` of the same disk.
    """
    folder, name = os.path.split(location.path)
    part = (temporary or Location(location.system, folder)) / f".{name}.{uuid.uuid4().hex}"
    advice = "Fix this and rerun the command; finished steps are skipped."
    with explain_write_errors(location.path, advice):
        location.system.create_dir(folder, recursive=True)
        if location.is_local:
            with open_atomic(location.path, part.path) as file:
                write(file)
        else:
            _write_remote(location, write, part)


@contextmanager
def explain_write_errors(path: str | Path, advice: str) -> Iterator[None]:
    """Add the path and advice to the message of every error."""
    try:
        yield
    except OSError as error:
        raise OSError(f"Cannot write {path} ({error.strerror or error}). {advice}") from error


def _write_remote(location: Location, write: Callable[[Any], Any], part: Location) -> None:
    """Write to a local file first, since a broken stream would leave a partial file."""
    with tempfile.TemporaryFile() as file:
        write(file)
        file.seek(0)
        is_atomic = location.system.type_name in ATOMIC_STORES
        target = location if is_atomic else part
        with target.system.open_output_stream(target.path) as out:
            shutil.copyfileobj(file, out, COPY_BYTES)
    if is_atomic:
        return
    try:
        location.system.move(part.path, location.path)
    except OSError:
        location.system.delete_file(part.path)
        if not location.exists():  # otherwise another process has written the same file
            raise


class VersionedFiles:
    """Files by key and position; the newest of each key is stored, and perhaps one before it.

    A file depends only on the rows of its key up to its position, not on the process. Two
    processes that hold the same key for a while, because a machine was cut off and another one
    took over, write the same files, and an older position never replaces a newer one.

    If other machines may take over, the folder is one that all machines share.
    """

    def __init__(self, folder: str | os.PathLike[str], suffix: str) -> None:
        self._folder, self._suffix = Path(folder), suffix
        _create_folder(self._folder)

    def save(self, key: str, position: int, write: Callable[[Path], None]) -> None:
        """Write a file atomically and durably by a function, and remove older ones."""
        folder = self._folder / hash_key(key)
        if not self._list_files(folder):  # its own name may not be on the disk yet
            folder.mkdir(exist_ok=True)
            sync_folder(self._folder)
        path = folder / f"{position:0{POSITION_DIGITS}}{self._suffix}"
        write(path)
        for other in self._list_files(folder):
            if other.name < path.name:
                other.unlink(missing_ok=True)

    def load(self, key: str, read: Callable[[Path], Content]) -> tuple[int, Content] | None:
        """Return the newest position of a key and what a function reads from its file, if any."""
        folder = self._folder / hash_key(key)
        for unfinished in folder.glob(".labelwalk-*.tmp"):  # the writer was killed
            unfinished.unlink(missing_ok=True)
        while files := self._list_files(folder):
            newest = max(files)
            try:
                return int(newest.name.removesuffix(self._suffix)), read(newest)
            except (OSError, ValueError):
                if newest.exists():  # otherwise a newer file has just replaced it
                    raise
        return None

    def _list_files(self, folder: Path) -> list[Path]:
        return list(folder.glob(f"{'[0-9]' * POSITION_DIGITS}{self._suffix}"))


def _create_folder(folder: Path) -> None:
    """Create a folder and its parents durably."""
    if not folder.is_dir():
        _create_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def hash_key(key: str) -> str:
    """Return the name of the folder of a key, the same in every process.

    Examples
    --------
    >>> hash_key("door")
    '2534e2de1dec24fedab4c00266b55ba9'
    """
    if not isinstance(key, str):
        raise ValueError(f"key={shown(key)} must be a string. Convert it with str(key).")
    return hashlib.sha256(key.encode()).hexdigest()[:32]
