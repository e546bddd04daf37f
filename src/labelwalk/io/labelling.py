"""Runs over streams: answer and learn row by row, resumable, in constant memory."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwalk._validation import NamedRows
from labelwalk.arrays import Bools, Floats, Label
from labelwalk.concurrency import Stopped, StopSignals
from labelwalk.io import formats
from labelwalk.io.examples import ColumnError, ExampleReader, Examples, describe_missing, list_names
from labelwalk.io.output import RejectFile, RowSink
from labelwalk.io.rows import (
    AnswerColumns,
    Batch,
    InputError,
    RowError,
    Rows,
    as_label_text,
    to_class_names,
)
from labelwalk.io.task import Progress, RunCheckpoint, RunStats, Task, load_checkpoint
from labelwalk.learner import OnlineLearner

CHECKPOINT_ROWS = 50_000
MAX_SHOWN_FEATURES = 5


@dataclass(frozen=True)
class RunResult:
    """The result of a run.

    Attributes
    ----------
    learner : OnlineLearner
        The learner after the run; of a resumed run, that of the checkpoint.
    tally : RunStats
    signal : int or None
        The signal that ended the run early.
    resumed, already_finished : bool
        Whether it was resumed from a checkpoint; whether there was nothing left to do.
    features : names
        The columns that were learned, in order.
    first_row : int
        Number of rows that were read before it was resumed.
    """

    learner: OnlineLearner
    tally: RunStats
    signal: int | None
    resumed: bool
    already_finished: bool
    features: tuple[str, ...]
    first_row: int = 0


def run(
    task: Task,
    learner: OnlineLearner,
    *,
    checkpoint: str | None = None,
    every: int = CHECKPOINT_ROWS,
    model: str | None = None,
    save: Callable[[OnlineLearner], None] | None = None,
    watch: Callable[[Progress], None] | None = None,
    report: Callable[[RowError], None] | None = None,
) -> RunResult:
    r"""Read a stream, answer every row, and write it.

    Parameters
    ----------
    task : Task
    learner : OnlineLearner
        It learns from the stream. If the run resumes from a checkpoint, the learner of the
        checkpoint does instead, and is returned.
    checkpoint : path, optional
        Checkpoint file. If it exists, the run resumes from it.
    every : int
        Rows between checkpoints.
    model : path, optional
        The file of the learner. No other file of the run may have this path. If the task learns,
        the learner is written to it when all rows are written, and before the run counts as
        finished.
    save : function of a learner, optional
        Called at the same moment.
    watch, report : functions of `Progress` and `RowError`, optional
        Called after each batch, and for each row that is skipped.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.io import Columns, Task, run
    >>> rows = "x,y,label\n0,0,low\n9,9,high\n1,0,\n8,9,\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "in.csv"
    ...     _ = path.write_text(rows)
    ...     task = Task(str(path), f"{folder}/out.csv", Columns(label="label"))
    ...     result = run(task, OnlineLearner())
    ...     print(pathlib.Path(f"{folder}/out.csv").read_text().strip())
    x,y,label,predicted_label,predicted_confidence,predicted_outlier
    0,0,low,low,1,false
    9,9,high,high,1,false
    1,0,,low,0.99...,false
    8,9,,high,0.99...,false
    """
    files = {"model": model, "input": task.input, "output": task.output}
    formats.check_distinct(**files, rejects=task.reject_path, checkpoint=checkpoint)
    if task.output is not None:
        formats.check_output(task.output, task.output_format, is_resumable=checkpoint is not None)
    progress, stored_learner = load_checkpoint(checkpoint, task, learner)
    is_resumed = stored_learner is not None
    learner = stored_learner or learner
    if progress.is_finished:
        features = tuple(name for name, _ in progress.widths)
        return RunResult(learner, progress.stats, None, True, True, features, progress.stats.rows)
    first_row = progress.stats.rows

    def save_model() -> None:
        if model is not None and task.learn:
            learner.save(model)
        if save is not None:
            save(learner)

    with StopSignals() as stop, closing(_Run(task, learner, progress, checkpoint, report)) as job:
        job.process(stop, every, watch)
        signal = stop.signal
        job.end(save_model, is_complete=signal is None)
    return RunResult(learner, job.stats, signal, is_resumed, False, job.features, first_row)


class _Run:
    """A run in progress."""

    def __init__(
        self,
        task: Task,
        learner: OnlineLearner,
        progress: RunCheckpoint,
        checkpoint: str | None,
        report: Callable[[RowError], None] | None,
    ) -> None:
        self.task, self.learner = task, learner
        self.stats = progress.stats
        self._progress, self._checkpoint, self._report = progress, checkpoint, report
        self._reader = _make_reader(task, learner)
        self._reader.widths = dict(progress.widths)
        self._reader.recent = dict.fromkeys(progress.recent_ids)
        self._batches = formats.open_source(
            task.input, task.reading, task.columns.role_names, progress.position
        )
        self._sink: RowSink | None = None
        self._empty_output: tuple[Rows, dict[str, Any]] | None = None  # if there are no rows
        if progress.output_size is not None:
            self._open_sink(progress.output_size)
        self._rejects = RejectFile(task.reject_path, progress.rejects_size)
        self._first_batch: tuple[float, int] | None = None  # its end: time and rows

    def close(self) -> None:
        """Close files."""
        self._rejects.close()
        if self._sink is not None:
            self._sink.close()

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are learned."""
        return tuple(self._reader.widths)

    def process(
        self, stop: StopSignals, every: int, watch: Callable[[Progress], None] | None
    ) -> None:
        """Answer batch after batch, until the end or a signal."""
        saved = self.stats.rows
        for batch in _read_until_stopped(self._batches, stop):
            fault = self._answer(batch)
            if watch is not None:
                watch(self._measure_progress(batch.share))
            if self.stats.rows - saved >= every or fault is not None:
                saved = self.stats.rows
                self.save_checkpoint()
            if fault is not None:
                raise InputError(f"{self.task.input}, {fault}.")

    def end(self, save_model: Callable[[], None], *, is_complete: bool) -> None:
        """End the run at the end of its input, or at a signal.

        The checkpoint comes before the model: after a crash between them, the resumed run must not
        learn the rows a second time. With `follow`, a signal is the normal end, at which the output
        is complete and the model is saved.
        """
        follow, can_resume = self.task.reading.follow, not is_complete and self._checkpoint
        self.save_checkpoint()
        if follow or not can_resume:
            self.finalize_output()
        if follow or is_complete:
            save_model()
        if is_complete:
            self.save_checkpoint(is_finished=True)
        if not can_resume:
            self.cleanup()

    def save_checkpoint(self, *, is_finished: bool = False) -> None:
        """Make the output durable, then save the progress and the learner."""
        if self._checkpoint is None:
            return
        if not is_finished:
            self._progress.output_size = None if self._sink is None else self._sink.checkpoint()
            self._progress.rejects_size = self._rejects.checkpoint()
        self._progress.widths = [list(pair) for pair in self._reader.widths.items()]
        self._progress.recent_ids = list(self._reader.recent)
        self._progress.is_finished = is_finished
        self._progress.save(self._checkpoint, self.learner)

    def finalize_output(self) -> None:
        """Complete the output, even if there were no rows."""
        if self.task.output is not None:
            sink = self._sink or self._open_sink(None)
            if self._empty_output is not None:
                rows, added = self._empty_output
                sink.write(rows, {}, added)
            sink.finalize()

    def cleanup(self) -> None:
        """Remove files that only served to resume."""
        if self._sink is not None:
            self._sink.cleanup()

    def _open_sink(self, size: int | None) -> RowSink:
        """Open the output; a new one only with the first rows, so that bad input keeps the old."""
        task = self.task
        self._sink = formats.open_sink(str(task.output), task.output_format, size, task.reading)
        return self._sink

    def _answer(self, batch: Batch) -> RowError | None:
        """Learn, answer and write a batch; return the faulty row that ends the run, if any."""
        is_strict = self.task.on_error == "stop"
        examples, faults = self._reader.read(batch, first_fault=is_strict)
        fatal = faults[0] if faults and is_strict else None
        n = len(batch.rows) if fatal is None else fatal.at
        examples = examples.filter(_select_good(len(batch.rows), n, faults))
        if fatal is None:
            for fault in faults:
                self._rejects.write(fault)
                if self._report is not None:
                    self._report(fault)
            self.stats.skipped += len(faults)
            self.stats.rows += len(faults)
        self._check_width()
        added = self._predict_and_learn(examples).by_name(self.task.choose_prefix(batch.rows.names))
        if len(examples.rows) == 0:
            is_new = self._sink is None and bool(batch.rows.names)
            self._empty_output = (examples.rows, added) if is_new else None
        elif self.task.output is not None:
            self._empty_output = None
            for name in added:
                if name in batch.rows.names:
                    raise ColumnError(
                        f"There is already a column {name!r}. Choose another --prefix for the "
                        "added columns."
                    )
            sink = self._sink or self._open_sink(None)
            sink.write(examples.rows, examples.features, added)
            sink.flush()
        self._reader.accept(examples)
        self._progress.position = batch.after(None if fatal is None else n)
        return fatal

    def _predict_and_learn(self, examples: Examples) -> AnswerColumns:
        first = self.learner.n_seen
        is_taught = examples.has_label & self.task.learn
        if self.task.learn:
            answers = teach_and_observe(self.learner, examples, is_taught)
        else:
            answers = predict_rows(self.learner, examples)
        self.stats.count(examples, answers, is_taught)
        if self.task.example_ids:
            return answers._replace(example=np.arange(first, self.learner.n_seen))
        return answers

    def _check_width(self) -> None:
        width = self._reader.n_features
        if width is not None and self.learner.n_features not in (None, width):
            names = list_names(self.features, MAX_SHOWN_FEATURES)
            raise ColumnError(
                f"There are {width} features ({names}), but the learner has "
                f"{self.learner.n_features}. Select them with --features."
            )

    def _measure_progress(self, share: float | None) -> Progress:
        seconds, rows = time.monotonic(), self.stats.rows
        start, before = self._first_batch = self._first_batch or (seconds, rows)
        rate = (rows - before) / (seconds - start) if rows > before else None
        return Progress(self.stats, share, rate)


def teach_and_observe(
    learner: OnlineLearner, examples: Examples, is_taught: Bools
) -> AnswerColumns:
    """Teach the rows of a mask and observe the others, all in order."""
    X, n = _name_features(examples, learner), len(examples.rows)
    answers = AnswerColumns([None] * n, np.ones(n), np.zeros(n, dtype=bool))
    edges = np.flatnonzero(np.diff(is_taught)) + 1
    for start, stop in pairwise([0, *edges.tolist(), n]):
        if start == stop:
            continue
        rows = slice(start, stop)
        if is_taught[start]:
            labels = [label for label in examples.labels[rows] if label is not None]
            learner.teach(X[rows], to_class_names(labels, learner.classes))
            answers.label[rows] = labels
        else:
            sources = [name for name in examples.sources[rows] if name is not None]
            verdicts = learner.observe(X[rows], source=sources or None)
            answers.label[rows] = _to_texts(verdicts.label, learner)
            answers.confidence[rows] = verdicts.confidence
            answers.outlier[rows] = verdicts.outlier
    return answers


def predict_rows(learner: OnlineLearner, examples: Examples) -> AnswerColumns:
    """Answer rows without learning; their labels are ignored."""
    if len(examples.rows) == 0:
        return AnswerColumns([], np.empty(0), np.empty(0, dtype=bool))
    verdicts = learner.predict(_name_features(examples, learner))
    return AnswerColumns(_to_texts(verdicts.label, learner), verdicts.confidence, verdicts.outlier)


def _name_features(examples: Examples, learner: OnlineLearner) -> Floats:
    """Return the matrix with its names, or the learner's if --features selected other columns."""
    names, own_names = examples.feature_names, learner.feature_names
    return NamedRows(
        examples.matrix(), names if set(names) & set(own_names) else own_names or names
    )


def _to_texts(labels: NDArray[np.object_], learner: OnlineLearner) -> list[str | None]:
    texts: dict[Label | None, str | None] = {name: str(name) for name in learner.classes}
    texts[None] = None
    return [texts[label] for label in labels.tolist()]


def _select_good(n: int, stop: int, faults: list[RowError]) -> Bools:
    """Return a mask of the rows before `stop` without a fault."""
    keep = np.arange(n) < stop
    keep[[fault.at for fault in faults if fault.column is not None and fault.at < n]] = False
    return keep


def _read_until_stopped(batches: Iterator[Batch], stop: StopSignals) -> Iterator[Batch]:
    with suppress(Stopped):
        while True:
            with stop.waiting():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch


def _make_reader(task: Task, learner: OnlineLearner) -> ExampleReader:
    names = tuple(dict.fromkeys(learner.feature_names)) or task.taught_by
    return ExampleReader(task.columns, task.unlabeled, task.all_labelled, taught_by=names)


def read_examples(task: Task, learner: OnlineLearner) -> Iterator[tuple[Batch, Examples]]:
    """Yield the rows of a task as examples of a learner.

    Raises
    ------
    InputError
        A row cannot be read.
    """
    reader = _make_reader(task, learner)
    for batch in formats.open_source(task.input, task.reading):
        examples, faults = reader.read(batch)
        if faults:
            raise InputError(f"{task.input}, {faults[0]}.")
        yield batch, examples


def teach_by_id(learner: OnlineLearner, task: Task, number_column: str) -> int:
    """Teach labels to examples that were observed earlier, and return their number.

    Parameters
    ----------
    learner : OnlineLearner
    task : Task
        Its input has a column of labels, and a column of the numbers that `example_ids` added.
    number_column : str

    Raises
    ------
    InputError
        A number or label is missing, or the example is no longer remembered.
    """
    n = 0
    for batch in formats.read_batches(task.input, task.reading):
        names = batch.rows.names
        label_column = task.columns.find_label(names)
        if label_column is None:
            raise ColumnError(
                f"No column is named 'label'. The columns are {list_names(names)}. Give the label "
                "column with --label-column."
            )
        for option, name in (("--by-id", number_column), ("--label-column", label_column)):
            if name not in names:
                raise ColumnError(describe_missing(option, name, names))
        rows = zip(batch.rows.values(number_column), batch.rows.values(label_column), strict=True)
        for i, (number, label) in enumerate(rows):
            try:
                text, id_text = as_label_text(label), as_label_text(number) or ""
                if text is None or text == task.unlabeled:
                    raise ValueError("The label is missing. Add it, or remove the row.")
                if not id_text.isdigit():
                    raise ValueError(
                        f"{id_text!r} is not the id of an example. Use the ids that --example-ids "
                        "adds."
                    )
                learner.teach_later(int(id_text), *to_class_names([text], learner.classes))
            except ValueError as error:
                raise InputError(f"{task.input}, {batch.where(i)}: {error}") from error
            n += 1
    return n
