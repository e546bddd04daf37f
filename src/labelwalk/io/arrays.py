"""NPY and NPZ: arrays of NumPy, each a column, read in blocks of rows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import NDArray

from labelwalk.io.arrow_arrays import from_matrix, from_numpy, from_words
from labelwalk.io.batch import Batch, Position
from labelwalk.io.blocks import cannot_read
from labelwalk.io.fault import InputError
from labelwalk.io.tabular import ROWS, table_batch


@dataclass(frozen=True)
class Arrays:
    """A file of arrays with a row for each example.

    Parameters
    ----------
    path : str
        An .npz with an array for each column, matrices for features that belong together; or an
        .npy with a matrix, which is then the column "X".
    single : bool
        Whether it is an .npy.
    """

    path: str
    single: bool = False

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches of rows; the position counts rows."""
        with ExitStack() as files:
            try:
                columns = {name: Column(file, name) for name, file in self._members(files).items()}
            except OSError as error:
                raise cannot_read(self.path, error) from error
            except (ValueError, zipfile.BadZipFile) as error:
                raise InputError(
                    f"{self.path} cannot be read as arrays ({error}). Save it again by np.save or "
                    "np.savez, without objects."
                ) from error
            yield from self._rows(columns, 0 if position is None else int(position["rows"]))

    def _members(self, files: ExitStack) -> dict[str, IO[bytes]]:
        if self.single:
            return {"X": files.enter_context(open(self.path, "rb"))}
        archive = files.enter_context(zipfile.ZipFile(self.path))
        return {
            name.removesuffix(".npy"): files.enter_context(archive.open(name))
            for name in archive.namelist()
        }

    def _rows(self, columns: dict[str, Column], done: int) -> Iterator[Batch]:
        lengths = {name: column.length for name, column in columns.items()}
        if len(set(lengths.values())) != 1:
            raise InputError(f"{self.path} has arrays of different lengths, {lengths}. Cut them.")
        total = next(iter(lengths.values()))
        if total < done:
            raise InputError(f"{self.path} has {total} rows, but {done} were read before.")
        for first in range(0, total, ROWS):
            n = min(ROWS, total - first)
            table = pa.table({name: column.next(n) for name, column in columns.items()})
            if first + n > done:
                skip = max(0, done - first)
                yield table_batch(table.slice(skip), first + skip, total)


class Column:
    """An array in a file, some rows at a time."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        version = npy.read_magic(file)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, self._dtype = header(file)
        numbers = self._dtype.kind in "fiub" and self._dtype.itemsize <= 8
        words = self._dtype.kind == "U" and len(shape) == 1
        if by_column or len(shape) not in (1, 2) or 0 in shape[1:] or not (numbers or words):
            raise ValueError(
                f"array {name!r} has shape {shape} and dtype {self._dtype}"
                f"{' in Fortran order' if by_column else ''}; a column is a vector of numbers or "
                "text, or a matrix of numbers in C order"
            )
        self.length = int(shape[0])
        self._file, self._width = file, shape[1:]

    def next(self, n: int) -> pa.Array:
        """Return the next rows."""
        size = n * prod(self._width) * self._dtype.itemsize
        try:
            raw = self._file.read(size)
        except zipfile.BadZipFile as error:
            raise InputError(f"an array is damaged ({error}). Bring the file again.") from error
        if len(raw) != size:
            raise InputError("an array ends before its last row: the file was cut short.")
        return _as_arrow(np.frombuffer(raw, self._dtype).reshape(n, *self._width))


def _as_arrow(values: NDArray[Any]) -> pa.Array:
    plain = values.astype(values.dtype.newbyteorder("="))
    if plain.dtype.kind == "U":
        return from_words(plain.tolist())
    return from_numpy(plain) if plain.ndim == 1 else from_matrix(plain)
