"""Batches of Arrow as rows of numbers, and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from labelwalk.streams.columns import Columns
from labelwalk.streams.examples import Examples, Reader
from labelwalk.streams.fault import InputError
from labelwalk.streams.tabular import table_batch


def examples_of(
    batches: Iterable[pa.RecordBatch | pa.Table],
    columns: Columns,
    unlabeled: str = "",
    features: tuple[str, ...] = (),
) -> Iterator[Examples]:
    """Yield batches as examples; the first value that is no number ends it.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or Table
    columns : Columns
    unlabeled : str
        What stands for no label, beside nothing at all.
    features : names
        Columns that must be the features, in this order, where that is known.

    Raises
    ------
    InputError, ColumnError
        A value is missing or no number, or a column is not there.
    TypeError
        There is something else among the batches.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pydict({"x": [1.0, 2.0], "label": ["low", None]})
    >>> [(some.matrix().tolist(), some.labels) for some in examples_of([batch], Columns())]
    [([[1.0], [2.0]], ['low', None])]
    """
    reader, first = Reader(columns, unlabeled, taught_by=features), 0
    for batch in batches:
        found, faults = reader.read(table_batch(_table(batch), first, None), first_fault=True)
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
