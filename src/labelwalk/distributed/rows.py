"""Batches of Arrow as rows of numbers, and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from labelwalk.io.examples import Columns, ExampleReader, Examples
from labelwalk.io.rows import InputError
from labelwalk.io.table_formats import batch_of_table

Widths = Mapping[str, int | None]
UNKNOWN: Widths = {}


def reader_of(
    columns: Columns | None,
    unlabeled: str = "",
    features: tuple[str, ...] = (),
    widths: Widths = UNKNOWN,
) -> ExampleReader:
    """Return what makes examples of batches.

    Nobody sees all rows of a data set, so that ids cannot be told to differ, and sources have no
    shares: both are columns that are no features, and no more.

    Parameters
    ----------
    columns : Columns, optional
    unlabeled : str
        What stands for no label, beside nothing at all.
    features : names
        Columns that must be the features, in this order, where that is known.
    widths : dict from names to int
        How many numbers the lists of each feature hold, where that is known.
    """
    known = columns or Columns()
    aside = [name for name in (known.id, known.source) if name is not None]
    known = replace(known, id=None, source=None, drop=(*known.drop, *aside))
    return ExampleReader(known, unlabeled, widths=dict(widths), taught_by=features)


def examples_of(
    batches: Iterable[pa.RecordBatch | pa.Table], reader: ExampleReader, first: int = 0
) -> Iterator[Examples]:
    """Yield batches as examples; the first value that is no number ends it.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or Table
    reader : ExampleReader
    first : int
        How many rows came before these, where errors tell the number of a row.

    Raises
    ------
    InputError, ColumnError
        A value is missing or no number, or a column is not there.
    TypeError
        There is something else among the batches.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pydict({"x": [1.0, 2.0], "label": ["low", None]})
    >>> [(some.matrix().tolist(), some.labels) for some in examples_of([batch], reader_of(None))]
    [([[1.0], [2.0]], ['low', None])]
    """
    for batch in batches:
        found, faults = reader.read(batch_of_table(_table(batch), first, None), first_fault=True)
        if faults:
            raise InputError(str(faults[0]))
        first += batch.num_rows
        yield found


def _table(batch: pa.RecordBatch | pa.Table) -> pa.Table:
    if isinstance(batch, pa.Table):
        return batch
    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    raise TypeError(
        f"batches hold {type(batch).__name__}, which is no batch of Arrow. Give some of "
        "pyarrow.RecordBatch or Table, one alone as [batch]."
    )
