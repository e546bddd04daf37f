"""Rows without answers: taught by the number of an example, or just read."""

from __future__ import annotations

from collections.abc import Iterator

from labelwalk.io.batch import Batch, Source
from labelwalk.io.columns import ColumnError, listed, missing
from labelwalk.io.examples import Examples, Reader
from labelwalk.io.fault import InputError
from labelwalk.io.formats import open_source
from labelwalk.io.task import Task
from labelwalk.io.words import as_known, as_word
from labelwalk.learner import OnlineLearner


def examples_of(task: Task) -> Iterator[tuple[Batch, Examples]]:
    """Yield the rows of a task as examples; the first fault ends it.

    Raises
    ------
    InputError
        A row cannot be understood.
    """
    reader = Reader(task.columns, task.unlabeled, taught_by=task.taught_by)
    for batch in open_source(task.input, task.reading).batches(None):
        found, faults = reader.read(batch)
        if faults:
            raise InputError(f"{task.input}, {faults[0]}.")
        yield batch, found


def teach_by_id(learner: OnlineLearner, task: Task, number_column: str) -> int:
    """Teach labels to examples that were seen earlier, and return how many.

    Parameters
    ----------
    learner : OnlineLearner
    task : Task
        Its input has a column of labels, and one of the numbers that `example_ids` gave.
    number_column : str

    Raises
    ------
    InputError
        A number or label is missing, or the example cannot be taught any more.
    """
    n = 0
    for batch in _batches(open_source(task.input, task.reading), task.input):
        names = batch.rows.names
        label_column = task.columns.label_among(names)
        if label_column is None:
            raise ColumnError(
                f"no column is called 'label'. Which of {listed(names)} holds the labels? Name it "
                "by --label-column."
            )
        for option, name in (("--by-id", number_column), ("--label-column", label_column)):
            if name not in names:
                raise ColumnError(missing(option, name, names))
        numbers, labels = batch.rows.values(number_column), batch.rows.values(label_column)
        for i, (number, label) in enumerate(zip(numbers, labels, strict=True)):
            try:
                word = _word(label, task.unlabeled)
                learner.teach_later(_whole(number), as_known([word], learner.classes)[0])
            except ValueError as error:
                raise InputError(f"{task.input}, {batch.where(i)}: {error}") from error
            n += 1
    return n


def _batches(source: Source, path: str) -> Iterator[Batch]:
    for batch in source.batches(None):
        if batch.faults:
            raise InputError(f"{path}, {batch.faults[0]}.")
        yield batch


def _whole(value: object) -> int:
    word = as_word(value) or ""
    if not word.isdigit():
        raise ValueError(f"{word!r} is not the number of an example. Give one that was written.")
    return int(word)


def _word(value: object, unlabeled: str) -> str:
    word = as_word(value)
    if word is None or word == unlabeled:
        raise ValueError("the label is missing. Give one, or leave the row out.")
    return word
