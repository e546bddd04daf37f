"""What the files of a job agree on: the columns that rows are made of, and those that come new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from labelwalk.distributed.places import Found, blamed
from labelwalk.distributed.rows import UNKNOWN, Widths, examples_of
from labelwalk.distributed.shards import ANSWERS, batches_of, with_answers
from labelwalk.distributed.tasks import Reading
from labelwalk.io.examples import ColumnError, Columns
from labelwalk.io.task import PREDICTED_PREFIX


def agreed(
    files: Sequence[Found],
    schemas: Sequence[pa.Schema],
    columns: Columns,
    unlabeled: str,
    prefix: str | None,
) -> tuple[Reading, str]:
    """Return how the rows of all files are read, and what the names of new columns begin with.

    A file may lack the column of labels where another has it: none of its rows has one.

    Raises
    ------
    ColumnError, InputError
        A file lacks a column or has it in another type, or one that is called like a new one.
    """
    if any(columns.label in schema.names for schema in schemas):
        columns = replace(columns, label_optional=True)
    features = columns.select_features(schemas[0].names)
    if prefix is None:
        taken = {name for schema in schemas for name in schema.names}
        prefix = PREDICTED_PREFIX if taken & ANSWERS.keys() else ""
    for file, schema in zip(files, schemas, strict=True):
        with blamed(file.name):
            _check_features(schema, schemas[0], features)
            with_answers(schema, prefix)
            _check_no_more(columns.select_features(schema.names), features)
    reading = Reading(columns, unlabeled, features)
    return reading._replace(widths=_widths(files, reading)), prefix


def _widths(files: Sequence[Found], reading: Reading) -> Widths:
    """Return how many numbers the lists of each feature hold, by the first row there is."""
    for file in files:
        reader = reading.reader()
        with blamed(file.name):
            for _ in examples_of(batches_of(file), reader):
                if reader.n_features is not None:
                    return reader.widths
    return UNKNOWN


def _check_no_more(own: Sequence[str], features: Sequence[str]) -> None:
    more = [name for name in own if name not in features]
    if more:
        raise ColumnError(
            f"column {more[0]!r} would be a feature, and the first file has no such column. Name "
            "the features that all have by --features."
        )


def _check_features(own: pa.Schema, first: pa.Schema, features: Sequence[str]) -> None:
    for name in features:
        expected = first.field(name).type
        if name not in own.names:
            raise ColumnError(
                f"there is no column {name!r}, which is a feature elsewhere. Give every file the "
                "same columns, or name those that all have by --features."
            )
        if own.field(name).type != expected:
            raise ColumnError(
                f"column {name!r} holds {own.field(name).type}, and {expected} in the first file. "
                "Give every file the same types."
            )
