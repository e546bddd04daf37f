"""A stream in, the same rows out with their answers: resumable, in constant memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from labelwalk.arrays import Bools
from labelwalk.io.answering import learned, predicted, taught
from labelwalk.io.batch import Answers, Batch, Rows
from labelwalk.io.checkpoint import Standing, resumed
from labelwalk.io.columns import ColumnError, listed
from labelwalk.io.examples import Examples, Reader
from labelwalk.io.fault import Fault, InputError, Rejects
from labelwalk.io.formats import check_output, open_sink, open_source
from labelwalk.io.paths import check_distinct, check_regular
from labelwalk.io.sinks import Sink
from labelwalk.io.stopping import Stop, Stopped
from labelwalk.io.tally import SoFar, Tally
from labelwalk.io.task import Task
from labelwalk.learner import OnlineLearner

EVERY = 50_000  # rows between checkpoints


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    learner : OnlineLearner
        As it is now; of a resumed run, that of the checkpoint.
    tally : Tally
    signal : int or None
        Which signal ended the run early.
    resumed, already_finished : bool
        Whether it went on from a checkpoint; whether there was nothing left to do.
    features : names
        The columns that were learned, in order.
    """

    learner: OnlineLearner
    tally: Tally
    signal: int | None
    resumed: bool
    already_finished: bool
    features: tuple[str, ...]


def run(
    task: Task,
    learner: OnlineLearner,
    *,
    checkpoint: str | None = None,
    every: int = EVERY,
    save: Callable[[OnlineLearner], None] = lambda learner: None,
    watch: Callable[[SoFar], None] = lambda so_far: None,
    report: Callable[[Fault], None] = lambda fault: None,
) -> Outcome:
    r"""Read a stream, answer every row, and write it down.

    Parameters
    ----------
    task : Task
    learner : OnlineLearner
        It learns as the stream passes; where the run goes on from a checkpoint, that of the
        checkpoint does, and is returned.
    checkpoint : path, optional
        Where to keep how far the run has come; if it is there, go on from it.
    every : int
        Rows between checkpoints.
    save : function of a learner
        Called when all rows are written down, and before the run counts as finished.
    watch, report : functions of `SoFar` and `Fault`
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
    ...     outcome = run(task, OnlineLearner())
    ...     print(pathlib.Path(f"{folder}/out.csv").read_text().strip())
    x,y,label,predicted_label,predicted_confidence,predicted_outlier
    0,0,low,low,1,false
    9,9,high,high,1,false
    1,0,,low,0.99...,false
    8,9,,high,0.99...,false
    """
    if checkpoint is not None:
        check_regular(task.output)
    check_distinct(
        input=task.input, output=task.output, rejects=task.reject_path, checkpoint=checkpoint
    )
    if task.output is not None:
        check_output(task.output, task.output_format)
    standing, kept = resumed(checkpoint, task.described(), learner)
    if kept is not None and standing.finished:
        features = tuple(name for name, _ in standing.widths)
        return Outcome(kept, Tally(**standing.tally), None, True, True, features)
    learner = kept or learner
    job = _Job(task.for_learner(learner), learner, standing, watch, report)
    with Stop() as stop, job:
        job.pass_through(stop, checkpoint, every)
        done = stop.signal is None
        if checkpoint is not None:  # before the model is saved, which must not learn it all again
            job.mark()
            job.standing(finished=False).save(checkpoint, job.learner)
        if done or task.reading.follow or checkpoint is None:
            job.complete()
        if done or task.reading.follow:
            save(job.learner)
        if checkpoint is not None and done:
            job.standing(finished=True).save(checkpoint, job.learner)
        if done or checkpoint is None:
            job.tidy()
    signal = None if done else stop.signal
    return Outcome(job.learner, job.tally, signal, kept is not None, False, job.features)


class _Job:
    """A task under way."""

    def __init__(
        self,
        task: Task,
        learner: OnlineLearner,
        standing: Standing,
        watch: Callable[[SoFar], None],
        report: Callable[[Fault], None],
    ) -> None:
        self.task, self.learner = task, learner
        self.tally = Tally(**standing.tally)
        self._watch, self._report = watch, report
        self._position, self._began = standing.position, standing.began
        self._reader = Reader(
            task.columns,
            task.unlabeled,
            task.all_labelled,
            dict(standing.widths),
            dict.fromkeys(standing.recent),
            task.taught_by,
        )
        self._source = open_source(task.input, task.reading, task.columns.named)
        self._sink: Sink | None = None
        self._empty: Rows | None = None  # columns without rows, where nothing else has come
        if standing.output is not None:
            self._open_sink(standing.output)
        self._rejects = Rejects(task.reject_path, standing.rejects)
        self._marks = standing.output, standing.rejects
        self._after_first: tuple[float, int] | None = None  # when the first batch was done

    def pass_through(self, stop: Stop, checkpoint: str | None, every: int) -> None:
        """Answer batch after batch, until there is none or somebody asks to stop."""
        saved = self.tally.rows
        for batch in _until_stopped(self._source.batches(self._position), stop):
            fault = self._answer(batch)
            self._watch(self._so_far(batch.share))
            due = self.tally.rows - saved >= every
            if checkpoint is not None and (due or fault is not None):
                saved = self.tally.rows
                self.mark()
                self.standing(finished=False).save(checkpoint, self.learner)
            if fault is not None:
                raise InputError(f"{self.task.input}, {fault}.")

    def mark(self) -> None:
        """Put on the disk what is written, before it is said to be."""
        self._marks = None if self._sink is None else self._sink.mark(), self._rejects.mark()

    def complete(self) -> None:
        """Make the output whole, also where there were no rows."""
        if self.task.output is not None:
            sink = self._sink or self._open_sink(None)
            if self._empty is not None:
                names = self._empty.names
                numbers = np.empty(0, dtype=np.int64) if self.task.example_ids else None
                none = Answers([], np.empty(0), np.empty(0, dtype=bool), numbers)
                sink.write(self._empty, {}, none.named(self.task.prefix_among(names)))
            sink.complete()

    def tidy(self) -> None:
        """Remove what only served to go on."""
        if self._sink is not None:
            self._sink.tidy()

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are learned."""
        return tuple(self._reader.widths)

    def __enter__(self) -> _Job:
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of files, whatever happened."""
        self._rejects.close()
        if self._sink is not None:
            self._sink.release()

    def standing(self, *, finished: bool) -> Standing:
        """Return how far the task has come."""
        output, rejects = self._marks
        return Standing(
            task=self.task.described(),
            began=self._began,
            position=self._position,
            output=output,
            rejects=rejects,
            widths=[list(pair) for pair in self._reader.widths.items()],
            recent=list(self._reader.recent),
            tally=asdict(self.tally),
            finished=finished,
        )

    def _answer(self, batch: Batch) -> Fault | None:
        """Learn, answer and write down a batch; return what ends the run, if anything does."""
        strict = self.task.on_error == "stop"
        examples, faults = self._reader.read(batch, first_fault=strict)
        fatal = faults[0] if faults and strict else None
        n = len(batch.rows) if fatal is None else fatal.at
        examples = examples.taken(_good(len(batch.rows), n, faults))
        if fatal is None:
            self._set_aside(faults)
        self._check_width()
        answers = self._answers(examples)
        if len(examples.rows) == 0:
            self._empty = examples.rows if self._sink is None and batch.rows.names else None
        elif self.task.output is not None:
            self._empty = None
            added = answers.named(self.task.prefix_among(batch.rows.names))
            _check_free(list(added), batch.rows.names)
            sink = self._sink or self._open_sink(None)
            sink.write(examples.rows, examples.features, added)
            sink.flush()
        self._reader.accept(examples)
        self._position = batch.after(None if fatal is None else n)
        return fatal

    def _open_sink(self, mark: int | None) -> Sink:
        """Open the output; a new one only when there are rows: an old one outlives bad input."""
        task = self.task
        self._sink = open_sink(str(task.output), task.output_format, mark, task.reading)
        return self._sink

    def _answers(self, examples: Examples) -> Answers:
        first = self.learner.n_seen
        if self.task.learn:
            given = taught(examples)
            answers = learned(self.learner, examples, given)
        else:
            given = np.zeros(len(examples.rows), dtype=bool)
            answers = predicted(self.learner, examples)
        self.tally.count(examples, answers, given)
        if self.task.example_ids:
            return answers._replace(example=np.arange(first, self.learner.n_seen))
        return answers

    def _set_aside(self, faults: list[Fault]) -> None:
        for fault in faults:
            self._rejects.write(fault)
            self._report(fault)
        self.tally.skipped += len(faults)
        self.tally.rows += len(faults)

    def _check_width(self) -> None:
        width = self._reader.n_features
        if width is not None and self.learner.n_features not in (None, width):
            raise ColumnError(
                f"there are {width} features ({listed(list(self._reader.widths), 5)}), but the "
                f"learner was started with {self.learner.n_features}. Choose them by --features."
            )

    def _so_far(self, share: float | None) -> SoFar:
        now, rows = time.monotonic(), self.tally.rows
        start, before = self._after_first = self._after_first or (now, rows)
        return SoFar(self.tally, share, (rows - before) / (now - start) if rows > before else None)


def _check_free(added: list[str], names: list[str]) -> None:
    for name in added:
        if name in names:
            raise ColumnError(
                f"there is a column {name!r} already. Give another --prefix for the new columns."
            )


def _good(n: int, stop: int, faults: list[Fault]) -> Bools:
    """Return which rows are kept: those before the end that have no fault."""
    keep = np.arange(n) < stop
    keep[[fault.at for fault in faults if fault.column is not None and fault.at < n]] = False
    return keep


def _until_stopped(batches: Iterator[Batch], stop: Stop) -> Iterator[Batch]:
    while True:
        try:
            with stop.waiting():
                batch = next(batches, None)
        except Stopped:
            return
        if batch is None:
            return
        yield batch
