r"""Files of arrays with a JSON header, verified by a checksum and replaced atomically.

Layout, all numbers little-endian::

    b"LABELWALK\n"                         10 bytes
    format version                          uint32
    size of the whole file                  uint64
    size of the JSON                        uint64
    JSON: {"arrays": [...], "header": {}}   ASCII, sorted keys, no NaN
    arrays, in order of name                raw, C order
    SHA-256 of everything above             32 bytes

Each entry of "arrays" has a name, a dtype and a shape. The JSON and every array are padded with
zeros to a multiple of 64 bytes. A file contains nothing that could be executed.
"""

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

from labelwalk.errors import LabelwalkError
from labelwalk.storage.atomic_write import write_atomic

__all__ = ["ModelFileError", "RemovedFeatureError", "digest", "read", "write"]

MODEL_FILE_MAGIC = b"LABELWALK\n"
OLDEST_VERSION, VERSION = 3, 4  # formats that can be read; a file gets the lowest that it needs
VERSION_OF_ENTRY = {"feature_names": 4}  # header entries that earlier formats do not have
ALIGNMENT = 64
DTYPES = ("<f8", "<i8", "<i4", "|u1", "|b1")
_SIZES = struct.Struct("<IQQ")
_PREFIX = len(MODEL_FILE_MAGIC) + _SIZES.size
_CHECKSUM = hashlib.sha256().digest_size

Array: TypeAlias = NDArray[Any]
PathLike: TypeAlias = str | os.PathLike[str]


class ModelFileError(LabelwalkError, ValueError):
    """A model file cannot be written, or cannot be read and verified."""


class RemovedFeatureError(ModelFileError):
    """A model file uses a feature that has been removed from labelwalk."""


def write(path: PathLike, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write header and arrays to `path`, which keeps its old content until the new one is complete.

    Parameters
    ----------
    path : path
        The file to create or replace.
    header : mapping
        Must not change in a JSON round trip: string keys, lists, no tuples, no NaN.
    arrays : mapping from names to arrays
        float64, int64, int32, uint8 or bool, any shape, memory order and byte order.

    Raises
    ------
    ModelFileError
        The header or an array cannot be stored, or the file cannot be written.

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
    repair = "pass the path of a file in an existing, writable folder with free space"
    with _name_in_errors(path, "written", repair):
        write_atomic(path, _iter_content(header, arrays))


def read(path: PathLike) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header and the arrays of a file after verifying the checksum over every byte.

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
        The file does not exist, is not a model file, has a newer format, or is truncated, damaged
        or inconsistent.

    Examples
    --------
    >>> read("nowhere.labelwalk")
    Traceback (most recent call last):
    labelwalk.storage.model_file.ModelFileError: nowhere.labelwalk cannot be read (No such file ...
    """
    with _name_in_errors(path, "read", "check the path"):
        if stat.S_ISCHR(os.stat(path).st_mode):  # reading some devices never ends
            raise ModelFileError("this is a device; pass a file written by save")
        return unpack(Path(path).read_bytes())


def pack(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Return the content of the file that `write` writes for the same arguments."""
    return b"".join(_iter_content(header, arrays))


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays from the content of a file, as `read` does.

    Examples
    --------
    >>> import numpy as np
    >>> unpack(pack({"kind": "demo"}, {"x": np.arange(3.0)}))
    ({'kind': 'demo'}, {'x': array([0., 1., 2.])})
    """
    text, data = _verify(memoryview(content))
    header, entries = _parse_header(text)
    return header, _load_arrays(entries, data)


def digest(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256, in hexadecimal, of the file that `write` writes for the same arguments.

    Parameters
    ----------
    header, arrays
        As in `write`.

    Returns
    -------
    digest : str
        Equal for two states if and only if their files are equal byte for byte.

    Examples
    --------
    >>> import numpy as np
    >>> first = digest({"b": 1, "a": 2}, {"x": np.zeros((2, 3))})
    >>> first == digest({"a": 2, "b": 1}, {"x": np.zeros((2, 3), order="F")})
    True
    >>> first == digest({"a": 2, "b": 1}, {"x": np.zeros((3, 2))})
    False
    """
    checksum = hashlib.sha256()
    for chunk in _iter_content(header, arrays):
        checksum.update(chunk)
    return checksum.hexdigest()


@contextmanager
def _name_in_errors(path: PathLike, action: str, repair: str) -> Iterator[None]:
    """Prefix every error with the name of the file."""
    try:
        yield
    except ModelFileError as error:
        raise type(error)(f"{path}: {error}") from error.__cause__
    except OSError as error:
        reason = error.strerror or error
        raise ModelFileError(f"{path} cannot be {action} ({reason}); {repair}") from error


def _iter_content(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Iterator[memoryview]:
    """Yield the content of the file in chunks."""
    for name in arrays:
        if not isinstance(name, str):
            raise ModelFileError(f"array name {name!r} is not a string; pass a string")
    plain = {name: _normalize(name, arrays[name]) for name in sorted(arrays)}
    text = _encode_header(header, plain)
    sizes = [_PREFIX + len(text), *(array.nbytes for array in plain.values())]
    file_size = sum(map(_pad, sizes)) + _CHECKSUM
    version = max(
        [OLDEST_VERSION, *(VERSION_OF_ENTRY[entry] for entry in VERSION_OF_ENTRY.keys() & header)]
    )
    start = memoryview(MODEL_FILE_MAGIC + _SIZES.pack(version, file_size, len(text)) + text)
    checksum = hashlib.sha256()
    for piece in (start, *(array.reshape(-1).view(np.uint8).data for array in plain.values())):
        for chunk in (piece, memoryview(bytes(-len(piece) % ALIGNMENT))):
            checksum.update(chunk)
            yield chunk
    yield memoryview(checksum.digest())


def _pad(size: int) -> int:
    """Return the next multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def _normalize(name: str, values: Array) -> Array:
    """Return an array as the file stores it: little-endian, in C order."""
    array = np.asarray(values)
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise ModelFileError(
            f"array {name!r} has dtype {array.dtype}; convert it to float64, int64, int32, "
            "uint8 or bool with astype"
        )
    return np.asarray(array, dtype=dtype, order="C")


def _encode_header(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    entries = [{"name": name, "dtype": a.dtype.str, "shape": a.shape} for name, a in arrays.items()]
    document = {"arrays": entries, "header": dict(header)}
    try:
        text = json.dumps(document, allow_nan=False, sort_keys=True, separators=(",", ":"))
        is_unchanged = json.loads(text)["header"] == document["header"]
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"header cannot be written as JSON ({error}); pass plain strings, finite numbers, "
            "lists and dicts"
        ) from error
    if not is_unchanged:
        raise ModelFileError(
            "header would change in a JSON round trip; use string keys, and lists instead of tuples"
        )
    return text.encode("ascii")


def _verify(content: memoryview) -> tuple[bytes, memoryview]:
    """Check version, size and checksum; return the JSON text and the data of the arrays."""
    if bytes(content[: len(MODEL_FILE_MAGIC)]) != MODEL_FILE_MAGIC:
        raise ModelFileError("this is not a labelwalk model file; pass a saved learner")
    if len(content) < _PREFIX + _CHECKSUM:
        raise _error_truncated(len(content), _PREFIX + _CHECKSUM)
    version, size, text_size = _SIZES.unpack_from(content, len(MODEL_FILE_MAGIC))
    if not OLDEST_VERSION <= version <= VERSION:
        is_newer = version > VERSION
        repair = "upgrade labelwalk" if is_newer else "read it with the version that wrote it"
        raise ModelFileError(
            f"the file has format version {version}, but this release of labelwalk reads "
            f"versions {OLDEST_VERSION} to {VERSION}; {repair} (or the file is damaged)"
        )
    if size != len(content):
        raise _error_truncated(len(content), size)
    if hashlib.sha256(content[:-_CHECKSUM]).digest() != content[-_CHECKSUM:]:
        raise ModelFileError(
            "the file is damaged: its checksum does not match; restore it from a copy"
        )
    start = _pad(_PREFIX + text_size)
    if start > size - _CHECKSUM:
        raise _error_forged(f"its header of {text_size} bytes does not fit in the file")
    return bytes(content[_PREFIX : _PREFIX + text_size]), content[start:-_CHECKSUM]


def _error_truncated(size: int, expected: int) -> ModelFileError:
    return ModelFileError(
        f"has {size} bytes where {expected} are expected, so it is truncated or damaged; "
        "copy it again or restore it"
    )


def _error_forged(problem: str) -> ModelFileError:
    return ModelFileError(
        f"{problem}, although its checksum is correct, so another program wrote it; "
        "save the model again with labelwalk"
    )


def _parse_header(text: bytes) -> tuple[dict[str, Any], list[Any]]:
    try:
        document = json.loads(text.decode("utf-8"), parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise _error_forged(f"its header is not JSON ({error})") from error
    if not (isinstance(document, dict) and document.keys() == {"arrays", "header"}):
        raise _error_forged('its header is not an object with "arrays" and "header"')
    header, entries = document["header"], document["arrays"]
    if not (isinstance(header, dict) and isinstance(entries, list)):
        raise _error_forged("its header or its list of arrays has the wrong type")
    return header, entries


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _load_arrays(entries: list[Any], data: memoryview) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    start = 0
    for entry in entries:
        name, dtype, shape = _parse_entry(entry)
        if name in arrays:
            raise _error_forged(f"it lists two arrays with the same name, {name!r:.80}")
        end = start + math.prod(shape) * dtype.itemsize
        if end > len(data):
            raise _error_forged(f"array {name!r:.80} is longer than the file")
        arrays[name] = _to_array(name, dtype, shape, data[start:end])
        start = _pad(end)
    if start != len(data):
        raise _error_forged("its arrays do not fill the file")
    return arrays


def _parse_entry(entry: object) -> tuple[str, np.dtype[Any], list[int]]:
    if not (isinstance(entry, dict) and entry.keys() == {"name", "dtype", "shape"}):
        raise _error_forged(f"its list of arrays has the invalid entry {entry!r:.80}")
    name, dtype, shape = entry["name"], entry["dtype"], entry["shape"]
    if not (isinstance(name, str) and dtype in DTYPES and isinstance(shape, list)):
        raise _error_forged(
            f"array {name!r:.80} has the invalid dtype {dtype!r:.80} or shape {shape!r:.80}"
        )
    if not all(type(side) is int and 0 <= side < 2**63 for side in shape):
        raise _error_forged(f"array {name!r:.80} has the impossible shape {shape!r:.80}")
    return name, np.dtype(dtype), shape


def _to_array(name: str, dtype: np.dtype[Any], shape: list[int], raw: memoryview) -> Array:
    if dtype == np.bool_ and np.frombuffer(raw, np.uint8).max(initial=0) > 1:
        raise _error_forged(f"array {name!r:.80} has boolean values other than 0 and 1")
    try:
        array = np.frombuffer(raw, dtype).reshape(shape)
    except ValueError as error:
        raise _error_forged(f"array {name!r:.80} has the impossible shape {shape!r:.80}") from error
    return array.astype(dtype.newbyteorder("="), copy=True)
