"""The tasks of a job: sketch parts, merge sketches, label rows, join parts.

A task reads files and writes others, atomically. It can run on any machine, again after a worker is
lost, and twice at the same time: what it writes depends only on what it reads. A file of one part
is labelled at once. The parts of a larger file are labelled by several tasks that write answers
only; another task joins rows and answers.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from labelwalk.distributed import dataset, sketches
from labelwalk.distributed.dataset import FilePart, RowSpec
from labelwalk.distributed.filesystem import DataFile, Location, write_file
from labelwalk.distributed.model import Model, model_from_bytes
from labelwalk.io.examples import Columns, Examples
from labelwalk.io.rows import AnswerColumns, TableRows, append_columns
from labelwalk.io.task import STORED_STATS, RunStats

MAX_LISTED_OUTLIERS = 5  # of a file


class Outliers(NamedTuple):
    """The outliers of a file."""

    file: str
    total: int
    rows: tuple[int, ...]  # the numbers of the first few, counted from 1


class LabelingPlan(NamedTuple):
    """How rows are labelled, the same for all files of a job."""

    rows: RowSpec
    prefix: str
    model: Location
    digest: str  # of the model
    temporary: Location  # a folder for unfinished files


class SketchTask(NamedTuple):
    """Sketch a part of a file."""

    file: DataFile
    part: FilePart
    rows: RowSpec
    budget: sketches.Budget
    outputs: tuple[Location]


class MergeTask(NamedTuple):
    """Merge sketches, in order."""

    sketches: tuple[Location, ...]
    budget: sketches.Budget
    outputs: tuple[Location]


class LabelTask(NamedTuple):
    """Label the rows of a file; or those of a part of it, and write the answers alone."""

    file: DataFile
    part: FilePart | None
    plan: LabelingPlan
    outputs: tuple[Location, Location]  # and the file of counts


class JoinTask(NamedTuple):
    """Join the rows of a file and the answers of its parts."""

    file: DataFile
    plan: LabelingPlan
    answers: tuple[tuple[FilePart, Location], ...]
    outputs: tuple[Location, Location]  # and a file that marks the end


def sketch_part(task: SketchTask) -> int:
    """Sketch a part of a file, and return its number of rows."""
    sketch = sketches.sketch_examples(task.rows.read_file(task.file, task.part), task.budget)
    (output,) = task.outputs
    output.write(sketches.sketch_to_bytes(sketch))
    return sketch.n_seen


def merge_sketches(task: MergeTask) -> int:
    """Merge sketches, and return the number of rows that were read: 0."""
    parts = [location.parse(sketches.sketch_from_bytes) for location in task.sketches]
    merged = sketches.merge(parts, task.budget.n_centroids, task.budget.labels_per_class)
    (output,) = task.outputs
    output.write(sketches.sketch_to_bytes(merged))
    return 0


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

    A row that has a label keeps it, with confidence 1.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch or Table
    model : Model
    columns, unlabeled, features
        As in `labelwalk.distributed.sketch`.
    prefix : str
        Prefix of the names of the new columns.
    tally : RunStats, optional
        Counts labelled rows, and correct ones where the truth is known.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.distributed.model import freeze_learner
    >>> learner = OnlineLearner()
    >>> learner.teach([[0.0], [9.0]], ["low", "high"])
    >>> batch = pa.RecordBatch.from_pydict({"x": [1.0, 8.0]})
    >>> (table,) = label([batch], freeze_learner(learner))
    >>> table.column_names, table["label"].to_pylist()
    (['x', 'label', 'confidence', 'outlier'], ['low', 'high'])
    """
    examples = RowSpec(columns or Columns(), unlabeled, features).read(batches)
    return label_examples(examples, model, prefix, tally)


def label_examples(
    batches: Iterable[Examples], model: Model, prefix: str, tally: RunStats | None
) -> Iterator[pa.Table]:
    """Yield the rows of examples with three more columns, as `label` does."""
    names = {name: str(name) for name in model.classes}
    for examples in batches:
        rows, is_labelled = examples.rows, examples.has_label
        assert isinstance(rows, TableRows)  # the rows of Arrow batches
        labels = list(examples.labels) or [None] * len(rows)
        confidence, outlier = np.ones(len(rows)), np.zeros(len(rows), dtype=np.bool_)
        if len(rows):
            verdicts = model.label(examples.matrix())
            pairs = zip(labels, verdicts.label.tolist(), strict=True)
            labels = [names.get(name) if label is None else label for label, name in pairs]
            confidence = np.where(is_labelled, 1.0, verdicts.confidence)
            outlier = verdicts.outlier & ~is_labelled
        answers = AnswerColumns(labels, confidence, outlier)
        if tally is not None:
            tally.count(examples, answers, is_labelled)
        yield append_columns(rows.content, answers.by_name(prefix))


def label_rows(task: LabelTask) -> int:
    """Label the rows of a file or of a part, and return their number."""
    stats, outliers = RunStats(), list[int]()
    schema = dataset.read_footer(task.file).schema
    schema = dataset.add_answer_columns(schema, task.plan.prefix)
    write = _write_answers if task.part else partial(dataset.write_like, task.file)
    tables = _label_task(task, stats, outliers)
    output, counts_file = task.outputs
    write_file(output, partial(write, schema, tables), task.plan.temporary)
    counts_file.write(json.dumps([stats_to_stored(stats), outliers]).encode())
    return stats.rows


def join_parts(task: JoinTask) -> int:
    """Join the rows of a file and their answers, and return their number."""
    footer = dataset.read_footer(task.file)
    schema = dataset.add_answer_columns(footer.schema, task.plan.prefix)
    write = partial(dataset.write_like, task.file, schema, _join_answers(task, schema))
    output, mark = task.outputs
    write_file(output, write, task.plan.temporary)
    mark.write(b"joined")
    return sum(footer.sizes)


def _join_answers(task: JoinTask, schema: pa.Schema) -> Iterator[pa.Table]:
    for part, location in task.answers:
        with location.system.open_input_file(location.path) as file:
            answers = pa.ipc.open_file(file)
            for i, batch in enumerate(dataset.read_batches(task.file, part)):
                columns = [*batch.columns, *answers.get_batch(i).columns]
                yield pa.Table.from_arrays(columns, schema=schema)


def _label_task(task: LabelTask, stats: RunStats, outliers: list[int]) -> Iterator[pa.Table]:
    """Yield rows with their answers, count them, and list the first few outliers."""
    plan, first = task.plan, task.part.first if task.part else 0
    examples = plan.rows.read_file(task.file, task.part)
    model = _load_model(plan.model, plan.digest)
    for table in label_examples(examples, model, plan.prefix, stats):
        n_missing = MAX_LISTED_OUTLIERS - len(outliers)
        places = np.flatnonzero(table[f"{plan.prefix}outlier"])[:n_missing]
        outliers += (first + 1 + places).tolist()
        first += len(table)
        yield table


def _write_answers(schema: pa.Schema, tables: Iterable[pa.Table], out: Any) -> None:
    """Write the last columns of tables, one batch each."""
    added = pa.schema(list(schema)[-len(dataset.ANSWER_COLUMNS) :])
    with pa.ipc.new_file(out, added) as writer:
        for table in tables:
            columns = [table[name].combine_chunks() for name in added.names]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=added))


_loaded_models: dict[str, Model] = {}  # the last one, by its digest


def _load_model(location: Location, digest: str) -> Model:
    """Read a model once for all files that a process labels."""
    if digest not in _loaded_models:
        model = location.parse(model_from_bytes)
        _loaded_models.clear()
        _loaded_models[digest] = model
    return _loaded_models[digest]


def read_counts(tasks: Iterable[LabelTask]) -> tuple[RunStats, tuple[Outliers, ...]]:
    """Return the sum of the counts of tasks, and the outliers of each file that has any."""
    total, outliers = Counter[str](), dict[str, Outliers]()
    for task in tasks:
        _, counts_file = task.outputs
        counts, rows = counts_file.parse(json.loads)
        total.update(counts)
        if rows:
            name = task.file.name
            _, n, earlier = outliers.get(name, Outliers(name, 0, ()))
            rows = (*earlier, *rows)[:MAX_LISTED_OUTLIERS]
            outliers[name] = Outliers(name, n + counts[STORED_STATS["outliers"]], rows)
    return stats_from_stored(total), tuple(outliers.values())


def stats_to_stored(stats: RunStats) -> dict[str, int]:
    """Return counts with the names they have in the files of a job."""
    return {stored: getattr(stats, name) for name, stored in STORED_STATS.items()}


def stats_from_stored(counts: Mapping[str, int]) -> RunStats:
    """Return counts from the files of a job; a missing one is 0."""
    return RunStats(**{name: counts.get(stored, 0) for name, stored in STORED_STATS.items()})
