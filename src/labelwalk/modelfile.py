r"""A file of arrays under a JSON header: checked before it is believed, replaced all at once.

Layout, all numbers little-endian::

    b"LABELWALK\n"                         10 bytes
    format version                          uint32
    size of the whole file                  uint64
    size of the JSON                        uint64
    JSON: {"arrays": [...], "header": {}}   ASCII, sorted keys, no NaN
    arrays, in order of name                raw, C order, each at a multiple of 64 bytes
    SHA-256 of everything above             32 bytes

Each entry of "arrays" gives name, dtype, shape, nbytes and offset, counted from the first multiple
of 64 after the JSON. There is nothing in a file that could be executed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import secrets
import stat
import struct
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ModelFileError", "digest", "read", "write"]

MAGIC = b"LABELWALK\n"
VERSION = 1
ALIGNMENT = 64
DTYPES = ("<f8", "<i8", "<i4", "|u1", "|b1")
_SIZES = struct.Struct("<IQQ")
_PREFIX = len(MAGIC) + _SIZES.size
_CHECKSUM = hashlib.sha256().digest_size

Array: TypeAlias = NDArray[Any]
PathLike: TypeAlias = str | os.PathLike[str]


class ModelFileError(ValueError):
    """A model file that cannot be written, or cannot be read and trusted."""


def write(path: PathLike, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write header and arrays to `path`, which holds the old file or all of the new one.

    The bytes go to a temporary file in the same folder, which takes the place of `path` once they
    are on the disk. A process killed in the middle leaves the old file as it was, and perhaps a
    temporary file `.labelwalk-*.tmp` beside it. A symbolic link is followed.

    Parameters
    ----------
    path : path
        The file to create or replace.
    header : mapping
        What JSON can hold and give back unchanged: string keys, lists, no tuples, no NaN.
    arrays : mapping from names to arrays
        float64, int64, int32, uint8 or bool, any shape, memory order and byte order.

    Raises
    ------
    ModelFileError
        The header or an array has no place in a model file, or the system refused to write.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.labelwalk"
    ...     write(path, {"kind": "demo"}, {"x": np.arange(3.0)})
    ...     header, arrays = read(path)
    >>> header, arrays["x"]
    ({'kind': 'demo'}, array([0., 1., 2.]))
    """
    target = Path(os.path.realpath(path))
    content = _content(header, arrays, f"{path}: ")
    temporary = target.parent / f".labelwalk-{secrets.token_hex(8)}.tmp"
    try:
        try:
            _write_through(temporary, content, _mode_to_keep(target))
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be written ({error.strerror or error}); pass the path of a file in "
            "an existing folder with free space where you may write"
        ) from error


def read(path: PathLike) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read header and arrays back, after checking every byte against the checksum.

    Parameters
    ----------
    path : path
        A file written by `write`.

    Returns
    -------
    header : dict
    arrays : dict from names to arrays
        Writable copies in native byte order.

    Raises
    ------
    ModelFileError
        No such file, not a model file, written by a newer version, cut short, damaged or forged.

    Examples
    --------
    >>> read("nowhere.labelwalk")
    Traceback (most recent call last):
    labelwalk.modelfile.ModelFileError: nowhere.labelwalk: cannot be read (No such file ...
    """
    try:
        content = memoryview(Path(path).read_bytes())
    except OSError as error:
        raise ModelFileError(
            f"{path}: cannot be read ({error.strerror or error}); check the path"
        ) from error
    text, data = _verified(content, str(path))
    header, entries = _parsed(text, str(path))
    _refuse_overlaps(entries, len(data), str(path))
    return header, {entry.name: _loaded(entry, data, str(path)) for entry in entries}


def digest(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """SHA-256, in hexadecimal, of the file that `write` would make of the same arguments.

    Parameters
    ----------
    header, arrays
        As in `write`.

    Returns
    -------
    digest : str
        Equal for two states exactly if their files are equal byte for byte.

    Examples
    --------
    >>> import numpy as np
    >>> one = digest({"b": 1, "a": 2}, {"x": np.zeros((2, 3))})
    >>> one == digest({"a": 2, "b": 1}, {"x": np.zeros((2, 3), order="F")})
    True
    >>> one == digest({"a": 2, "b": 1}, {"x": np.zeros((3, 2))})
    False
    """
    whole = hashlib.sha256()
    for chunk in _content(header, arrays, ""):
        whole.update(chunk)
    return whole.hexdigest()


class _Entry(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int

    @property
    def end(self) -> int:
        return self.offset + self.nbytes


def _content(
    header: Mapping[str, Any], arrays: Mapping[str, Array], where: str
) -> Iterator[bytes | memoryview]:
    """Check the arguments now; the chunks of the file follow as they are asked for."""
    plain = _plain_arrays(arrays, where)
    entries = _entries(plain)
    text = _json(header, entries, where)
    return _chunks(text, entries, list(plain.values()))


def _plain_arrays(arrays: Mapping[str, Array], where: str) -> dict[str, Array]:
    """Arrays in the form they have in the file: sorted by name, little-endian, in C order."""
    for name in arrays:
        if not isinstance(name, str):
            raise ModelFileError(f"{where}array name {name!r} is not a string; pass a string")
    return {name: _plain(name, arrays[name], where) for name in sorted(arrays)}


def _plain(name: str, values: Array, where: str) -> Array:
    array = np.asarray(values)
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise ModelFileError(
            f"{where}array {name!r} has dtype {array.dtype}; convert it to float64, int64, int32, "
            "uint8 or bool with astype"
        )
    return np.asarray(array, dtype=dtype, order="C")


def _entries(arrays: Mapping[str, Array]) -> list[_Entry]:
    entries, offset = [], 0
    for name, array in arrays.items():
        entries.append(_Entry(name, array.dtype.str, array.shape, offset, array.nbytes))
        offset = _aligned(offset + array.nbytes)
    return entries


def _json(header: Mapping[str, Any], entries: list[_Entry], where: str) -> bytes:
    document = {"arrays": [entry._asdict() for entry in entries], "header": dict(header)}
    try:
        text = json.dumps(document, allow_nan=False, sort_keys=True, separators=(",", ":"))
        survived = json.loads(text)["header"] == document["header"]
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{where}header cannot be written as JSON ({error}); pass plain strings, finite "
            "numbers, lists and dicts"
        ) from error
    if not survived:
        raise ModelFileError(
            f"{where}header would come back different from JSON; use string keys, and lists in "
            "place of tuples"
        )
    return text.encode("ascii")


def _chunks(
    text: bytes, entries: list[_Entry], arrays: list[Array]
) -> Iterator[bytes | memoryview]:
    checksum = hashlib.sha256()
    start = _aligned(_PREFIX + len(text))
    end = start + max((entry.end for entry in entries), default=0)
    for chunk in _body(text, start, end + _CHECKSUM, entries, arrays):
        checksum.update(chunk)
        yield chunk
    yield checksum.digest()


def _body(
    text: bytes, start: int, size: int, entries: list[_Entry], arrays: list[Array]
) -> Iterator[bytes | memoryview]:
    yield MAGIC + _SIZES.pack(VERSION, size, len(text)) + text
    position = _PREFIX + len(text) - start
    for entry, array in zip(entries, arrays, strict=True):
        yield bytes(entry.offset - position)
        if entry.nbytes > 0:
            yield array.reshape(-1).view(np.uint8).data
        position = entry.end
    yield bytes(max(0, -position))


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def _mode_to_keep(target: Path) -> int | None:
    """Permissions of the file to be replaced, if there is one and it may be replaced."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a folder or a device, not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file there is read-only")
    return stat.S_IMODE(mode)


def _write_through(path: Path, chunks: Iterator[bytes | memoryview], mode: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:
        if mode is not None:
            path.chmod(mode)
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new name itself last; some systems cannot, and keep names safe by themselves."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def _verified(content: memoryview, path: str) -> tuple[bytes, memoryview]:
    """JSON text and array data of a file whose size and checksum are right."""
    if bytes(content[: len(MAGIC)]) != MAGIC:
        raise ModelFileError(f"{path}: is not a labelwalk model file; pass one written by save")
    if len(content) < _PREFIX + _CHECKSUM:
        raise _cut_short(path, len(content), _PREFIX + _CHECKSUM)
    version, size, text_size = _SIZES.unpack_from(content, len(MAGIC))
    if version != VERSION:
        repair = "upgrade labelwalk" if version > VERSION else "save the model again"
        raise ModelFileError(
            f"{path}: has format version {version}, and this labelwalk reads version {VERSION}; "
            f"{repair} to read it (or the file is damaged)"
        )
    if size != len(content):
        raise _cut_short(path, len(content), size)
    if hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise ModelFileError(
            f"{path}: is damaged, its checksum does not match; restore it from a copy"
        )
    start = _aligned(_PREFIX + text_size)
    if start > size - _CHECKSUM:
        raise _forged(path, f"its header of {text_size} bytes does not fit in the file")
    return bytes(content[_PREFIX : _PREFIX + text_size]), content[start:-_CHECKSUM]


def _cut_short(path: str, found: int, expected: int) -> ModelFileError:
    return ModelFileError(
        f"{path}: has {found} bytes where {expected} are expected, so it was cut short or "
        "damaged; copy it again or restore it"
    )


def _forged(path: str, what: str) -> ModelFileError:
    return ModelFileError(
        f"{path}: {what}, though its checksum is right, so another program wrote it; "
        "save the model again with labelwalk"
    )


def _parsed(text: bytes, path: str) -> tuple[dict[str, Any], list[_Entry]]:
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _forged(path, f"its header is not JSON ({error})") from error
    if not (isinstance(document, dict) and document.keys() == {"arrays", "header"}):
        raise _forged(path, 'its header is not an object of "arrays" and "header"')
    header, listed = document["header"], document["arrays"]
    if not (isinstance(header, dict) and isinstance(listed, list)):
        raise _forged(path, "its header or its list of arrays has the wrong type")
    entries = [_entry(fields, path) for fields in listed]
    if len({entry.name for entry in entries}) != len(entries):
        raise _forged(path, "it lists two arrays of the same name")
    return header, entries


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _entry(fields: object, path: str) -> _Entry:
    if not (isinstance(fields, dict) and fields.keys() == set(_Entry._fields)):
        raise _forged(path, f"it lists an array as {fields!r:.80}")
    name, dtype, shape = fields["name"], fields["dtype"], fields["shape"]
    if not (isinstance(name, str) and dtype in DTYPES and isinstance(shape, list)):
        raise _forged(path, f"array {name!r:.80} has dtype {dtype!r:.80} and shape {shape!r:.80}")
    numbers = [*shape, fields["offset"], fields["nbytes"]]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise _forged(path, f"array {name!r:.80} has sizes that are no sizes, {numbers!r:.80}")
    return _Entry(name, dtype, tuple(shape), fields["offset"], fields["nbytes"])


def _refuse_overlaps(entries: list[_Entry], size: int, path: str) -> None:
    for entry in entries:
        if math.prod(entry.shape) * np.dtype(entry.dtype).itemsize != entry.nbytes:
            raise _forged(path, f"array {entry.name!r:.80} has not the bytes of its shape")
        if entry.offset % ALIGNMENT != 0 or entry.end > size:
            raise _forged(path, f"array {entry.name!r:.80} lies outside the file or unaligned")
    filled = sorted((e for e in entries if e.nbytes > 0), key=lambda e: e.offset)
    for before, after in pairwise(filled):
        if before.end > after.offset:
            raise _forged(path, f"arrays {before.name!r:.80} and {after.name!r:.80} overlap")


def _loaded(entry: _Entry, data: memoryview, path: str) -> Array:
    dtype = np.dtype(entry.dtype)
    raw = data[entry.offset : entry.end]
    if dtype == np.bool_ and np.frombuffer(raw, np.uint8).max(initial=0) > 1:
        raise _forged(path, f"array {entry.name!r:.80} has truth values other than 0 and 1")
    try:
        array = np.frombuffer(raw, dtype).reshape(entry.shape)
    except ValueError as error:
        raise _forged(path, f"array {entry.name!r:.80} has an impossible shape") from error
    return array.astype(dtype.newbyteorder("="), copy=True)
