r"""A file of arrays under a JSON header: checked before it is believed, replaced all at once.

Layout, all numbers little-endian::

    b"LABELWALK\n"                         10 bytes
    format version                          uint32
    size of the whole file                  uint64
    size of the JSON                        uint64
    JSON: {"arrays": [...], "header": {}}   ASCII, sorted keys, no NaN
    arrays, in order of name                raw, C order
    SHA-256 of everything above             32 bytes

Each entry of "arrays" gives name, dtype and shape. Zeros fill up the JSON and every array, so that
the next one starts at a multiple of 64 bytes. There is nothing in a file that could be executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwalk.storage.atomic_write import write_atomic

__all__ = ["ModelFileError", "digest", "read", "write"]

MAGIC = b"LABELWALK\n"
OLDEST, VERSION = 3, 4  # the formats that are read; a file has the lowest that it needs
SINCE = {"feature_names": 4}  # entries of the header that programs of earlier formats ignore
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
    repair = "pass the path of a file in an existing folder with free space where you may write"
    with _blaming(path, "written", repair):
        write_atomic(path, _content(header, arrays))


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
    labelwalk.storage.model_file.ModelFileError: nowhere.labelwalk: cannot be read (No such file ...
    """
    with _blaming(path, "read", "check the path"):
        if stat.S_ISCHR(os.stat(path).st_mode):  # some have no end
            raise ModelFileError("is a device; pass a file written by save")
        return unpack(Path(path).read_bytes())


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Return the file that `write` would make of the same arguments."""
    return b"".join(_content(header, arrays))


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays of a file's content, as `read` does.

    Examples
    --------
    >>> import numpy as np
    >>> unpack(pack({"kind": "demo"}, {"x": np.arange(3.0)}))
    ({'kind': 'demo'}, {'x': array([0., 1., 2.])})
    """
    text, data = _verified(memoryview(content))
    header, listed = _parsed(text)
    return header, _loaded(listed, data)


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
    for chunk in _content(header, arrays):
        whole.update(chunk)
    return whole.hexdigest()


@contextmanager
def _blaming(path: PathLike, done: str, repair: str) -> Iterator[None]:
    """Name the file in every error."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error.__cause__
    except OSError as error:
        what = error.strerror or error
        raise ModelFileError(f"{path}: cannot be {done} ({what}); {repair}") from error


def _content(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Iterator[memoryview]:
    """Yield the file, piece by piece."""
    plain = _plain_arrays(arrays)
    text = _json(header, plain)
    sizes = [_PREFIX + len(text), *(array.nbytes for array in plain.values())]
    whole = sum(map(_filled_up, sizes)) + _CHECKSUM
    version = max([OLDEST, *(SINCE[entry] for entry in SINCE if entry in header)])
    start = memoryview(MAGIC + _SIZES.pack(version, whole, len(text)) + text)
    checksum = hashlib.sha256()
    for piece in (start, *(array.reshape(-1).view(np.uint8).data for array in plain.values())):
        for chunk in (piece, memoryview(bytes(-len(piece) % ALIGNMENT))):
            checksum.update(chunk)
            yield chunk
    yield memoryview(checksum.digest())


def _filled_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _plain_arrays(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays in the form they have in the file: sorted by name, little-endian, in C order."""
    for name in arrays:
        if not isinstance(name, str):
            raise ModelFileError(f"array name {name!r} is not a string; pass a string")
    return {name: _plain(name, arrays[name]) for name in sorted(arrays)}


def _plain(name: str, values: Array) -> Array:
    array = np.asarray(values)
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise ModelFileError(
            f"array {name!r} has dtype {array.dtype}; convert it to float64, int64, int32, "
            "uint8 or bool with astype"
        )
    return np.asarray(array, dtype=dtype, order="C")


def _json(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    listed = [{"name": name, "dtype": a.dtype.str, "shape": a.shape} for name, a in arrays.items()]
    document = {"arrays": listed, "header": dict(header)}
    try:
        text = json.dumps(document, allow_nan=False, sort_keys=True, separators=(",", ":"))
        survived = json.loads(text)["header"] == document["header"]
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"header cannot be written as JSON ({error}); pass plain strings, finite numbers, "
            "lists and dicts"
        ) from error
    if not survived:
        raise ModelFileError(
            "header would come back different from JSON; use string keys, and lists in place "
            "of tuples"
        )
    return text.encode("ascii")


def _verified(content: memoryview) -> tuple[bytes, memoryview]:
    """JSON text and array data of a file whose size and checksum are right."""
    if bytes(content[: len(MAGIC)]) != MAGIC:
        raise ModelFileError("is not a labelwalk model file; pass one written by save")
    if len(content) < _PREFIX + _CHECKSUM:
        raise _cut_short(len(content), _PREFIX + _CHECKSUM)
    version, size, text_size = _SIZES.unpack_from(content, len(MAGIC))
    if not OLDEST <= version <= VERSION:
        repair = "upgrade labelwalk" if version > VERSION else "use the labelwalk that wrote it"
        raise ModelFileError(
            f"has format version {version}, and this labelwalk reads versions {OLDEST} to "
            f"{VERSION}; {repair} to read it (or the file is damaged)"
        )
    if size != len(content):
        raise _cut_short(len(content), size)
    if hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise ModelFileError("is damaged, its checksum does not match; restore it from a copy")
    start = _filled_up(_PREFIX + text_size)
    if start > size - _CHECKSUM:
        raise _forged(f"its header of {text_size} bytes does not fit in the file")
    return bytes(content[_PREFIX : _PREFIX + text_size]), content[start:-_CHECKSUM]


def _cut_short(found: int, expected: int) -> ModelFileError:
    return ModelFileError(
        f"has {found} bytes where {expected} are expected, so it was cut short or damaged; "
        "copy it again or restore it"
    )


def _forged(what: str) -> ModelFileError:
    return ModelFileError(
        f"{what}, though its checksum is right, so another program wrote it; "
        "save the model again with labelwalk"
    )


def _parsed(text: bytes) -> tuple[dict[str, Any], list[Any]]:
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _forged(f"its header is not JSON ({error})") from error
    if not (isinstance(document, dict) and document.keys() == {"arrays", "header"}):
        raise _forged('its header is not an object of "arrays" and "header"')
    header, listed = document["header"], document["arrays"]
    if not (isinstance(header, dict) and isinstance(listed, list)):
        raise _forged("its header or its list of arrays has the wrong type")
    return header, listed


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _loaded(listed: list[Any], data: memoryview) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    start = 0
    for fields in listed:
        name, dtype, shape = _entry(fields)
        if name in arrays:
            raise _forged(f"it lists two arrays of the same name, {name!r:.80}")
        end = start + math.prod(shape) * dtype.itemsize
        if end > len(data):
            raise _forged(f"array {name!r:.80} is longer than the file")
        arrays[name] = _array(name, dtype, shape, data[start:end])
        start = _filled_up(end)
    if start != len(data):
        raise _forged("its arrays are not as long as it is")
    return arrays


def _entry(fields: object) -> tuple[str, np.dtype[Any], list[int]]:
    if not (isinstance(fields, dict) and fields.keys() == {"name", "dtype", "shape"}):
        raise _forged(f"it lists an array as {fields!r:.80}")
    name, dtype, shape = fields["name"], fields["dtype"], fields["shape"]
    if not (isinstance(name, str) and dtype in DTYPES and isinstance(shape, list)):
        raise _forged(f"array {name!r:.80} has dtype {dtype!r:.80} and shape {shape!r:.80}")
    if not all(type(side) is int and 0 <= side < 2**63 for side in shape):
        raise _forged(f"array {name!r:.80} has the impossible shape {shape!r:.80}")
    return name, np.dtype(dtype), shape


def _array(name: str, dtype: np.dtype[Any], shape: list[int], raw: memoryview) -> Array:
    if dtype == np.bool_ and np.frombuffer(raw, np.uint8).max(initial=0) > 1:
        raise _forged(f"array {name!r:.80} has truth values other than 0 and 1")
    try:
        array = np.frombuffer(raw, dtype).reshape(shape)
    except ValueError as error:
        raise _forged(f"array {name!r:.80} has the impossible shape {shape!r:.80}") from error
    return array.astype(dtype.newbyteorder("="), copy=True)
