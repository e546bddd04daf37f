"""Rows to verdicts: the last pass of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from labelwalk.arrays import Label
from labelwalk.distributed.model import Model
from labelwalk.distributed.rows import examples_of, reader_of
from labelwalk.io.examples import Columns, Examples
from labelwalk.io.rows import AnswerColumns, TableRows, append_columns
from labelwalk.io.task import RunStats


def label(
    batches: Iterable[pa.RecordBatch | pa.Table],
    model: Model,
    *,
    columns: Columns | None = None,
    unlabeled: str = "",
    prefix: str = "",
    features: tuple[str, ...] = (),
    tally: RunStats | None = None,
) -> Iterator[pa.Table]:
    """Yield batches with three more columns: label, confidence and outlier.

    A row that came with a label keeps it, with confidence 1.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or Table
    model : Model
    columns, unlabeled, features
        As in `labelwalk.distributed.sketch`.
    prefix : str
        Before the names of the new columns.
    tally : RunStats, optional
        Counts what is named, and what of it rightly where the truth is known.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.distributed.model import frozen_model
    >>> learner = OnlineLearner()
    >>> learner.teach([[0.0], [9.0]], ["low", "high"])
    >>> batch = pa.RecordBatch.from_pydict({"x": [1.0, 8.0]})
    >>> (table,) = label([batch], frozen_model(learner))
    >>> table.column_names, table["label"].to_pylist()
    (['x', 'label', 'confidence', 'outlier'], ['low', 'high'])
    """
    found = examples_of(batches, reader_of(columns, unlabeled, features))
    return labelled(found, model, prefix, tally)


def labelled(
    found: Iterable[Examples], model: Model, prefix: str, tally: RunStats | None
) -> Iterator[pa.Table]:
    """Yield the rows of examples with three more columns, as `label` does."""
    words: dict[Label | None, str | None] = {name: str(name) for name in model.classes}
    words[None] = None
    for examples in found:
        rows = examples.rows
        assert isinstance(rows, TableRows)  # as batches of Arrow are
        said: list[str | None] = []
        confidence, outlier = np.empty(0), np.empty(0, dtype=np.bool_)
        if len(rows):
            verdicts = model.label(examples.matrix())
            said = [words[name] for name in verdicts.label.tolist()]
            confidence, outlier = verdicts.confidence, verdicts.outlier
        given = np.zeros(len(rows), dtype=np.bool_)
        for i, name in enumerate(examples.labels):
            if name is not None:
                said[i], confidence[i], outlier[i], given[i] = name, 1.0, False, True
        answers = AnswerColumns(said, confidence, outlier)
        if tally is not None:
            tally.count(examples, answers, given)
        yield append_columns(rows.content, answers.by_name(prefix))
