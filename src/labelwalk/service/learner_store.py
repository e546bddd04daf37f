"""The learners of a data folder: all operations of the service, and their metrics."""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Label
from labelwalk.learner import OnlineLearner
from labelwalk.service import commands
from labelwalk.service.commands import Command, CommandResult, Query, Rows
from labelwalk.service.database import DamagedError
from labelwalk.service.encryption import Cipher
from labelwalk.service.erasure import ErasureResult
from labelwalk.service.journal import Journal, JournalPosition
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.snapshots import back_up
from labelwalk.service.worker import FULL_SHARE, MAX_WAITING, LearnerWorker, NoLearnerError

SNAPSHOT_EVERY = 20_000  # examples: they are replayed in about a second
METRICS_TYPE = "text/plain; version=0.0.4"
LATENCY_CAPACITY = 1024  # writes
LATENCY_WINDOW_S = 30.0


class Metric(NamedTuple):
    """A counter or gauge for Prometheus: one value, or one for each learner by name."""

    name: str
    kind: str
    meaning: str
    value: int | dict[str, int]

    def format(self) -> str:
        """Return the metric in the text format of Prometheus."""
        lines = [f"# HELP {self.name} {self.meaning}", f"# TYPE {self.name} {self.kind}"]
        if isinstance(self.value, int):
            lines.append(f"{self.name} {int(self.value)}")
        else:
            for learner, value in self.value.items():
                text = learner.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
                lines.append(f'{self.name}{{learner="{text}"}} {value}')
        return "\n".join(lines) + "\n"


class WriteLatency:
    """The latencies of recent writes.

    Examples
    --------
    >>> latency, write = WriteLatency(), Future()
    >>> latency.start(write)
    >>> latency.compute_percentiles()
    {'p50': None, 'p99': None}
    >>> write.set_result("done")
    >>> latency.compute_percentiles()["p50"] < 1000
    True
    """

    def __init__(self) -> None:
        self._latencies: deque[tuple[float, float]] = deque(maxlen=LATENCY_CAPACITY)

    def start(self, write: Future[Any]) -> None:
        """Measure until a write succeeds; one that fails does not count."""
        start = time.monotonic()

        def stop(finished: Future[Any]) -> None:
            if not finished.cancelled() and finished.exception() is None:
                end = time.monotonic()
                self._latencies.append((end, end - start))

        write.add_done_callback(stop)

    def compute_percentiles(self) -> dict[str, float | None]:
        """Return the median and the 99th percentile in milliseconds; None without writes."""
        since = time.monotonic() - LATENCY_WINDOW_S
        recent = [latency for at, latency in tuple(self._latencies) if at >= since]
        if not recent:
            return {"p50": None, "p99": None}
        p50, p99 = (1000.0 * np.percentile(recent, [50, 99])).tolist()
        return {"p50": round(p50, 3), "p99": round(p99, 3)}


class LearnerStore:
    """All learners of a folder.

    One thread executes requests, another writes them to disk. An answer is sent when everything
    before it is on disk, so no answer is lost; only predictions do not wait.

    A round of snapshots is written every `snapshot_every` examples. Events are kept for at least
    `retain` seconds, or forever, so that they can be erased; learners stay. A new folder takes the
    passphrase as its own and is encrypted.

    Damage in events that a start does not need is described in `damage`: the learners are right,
    their past is not. The functions in `on_erased` are called when something was erased, or a
    learner was deleted or rebuilt: for those who store more of examples.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.service.commands import Observe, Teach
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = LearnerStore(folder)
    ...     learner_id = store.create("first", OnlineLearner(50)).result()
    ...     _ = store.submit(learner_id, Teach(np.array([[0.0], [9.0]]), ("low", "high")))
    ...     print(store.submit(learner_id, Observe(np.array([[1.0]]))).result().columns["label"])
    ...     store.close()
    ...     store = LearnerStore(folder)
    ...     print(store.query(learner_id, lambda managed: managed.learner.n_seen).result())
    ...     store.close()
    ['low']
    3
    """

    def __init__(
        self,
        folder: str,
        *,
        snapshot_every: int = SNAPSHOT_EVERY,
        retain: float | None = None,
        passphrase: str | None = None,
    ) -> None:
        self._journal = Journal(folder, passphrase)
        try:
            anchor, end = self._journal.reader.read_anchor(), self._journal.last
            self._worker = LearnerWorker(
                self._journal, snapshot_every=snapshot_every, retain_s=retain
            )
        except BaseException:
            self._journal.close()
            raise
        self.cipher: Cipher = self._journal.reader.cipher
        self.on_erased, self.timing = self._worker.on_erased, WriteLatency()
        self.damage: str | None = None
        self._is_closing = False
        threading.Thread(target=self._verify_past, args=(anchor, end), daemon=True).start()

    @property
    def failure(self) -> str | None:
        """The reason why no more writes are accepted, if any."""
        failure = self._worker.writer.failure
        return None if failure is None else str(failure)

    def find_id(self, name: str) -> int:
        """Return the id of the learner with a name, or raise `NoLearnerError`."""
        for learner_id, managed in tuple(self._worker.learners.items()):
            if managed.name == name:
                return learner_id
        self._worker.check_complete()
        raise NoLearnerError(f"no learner is named {name!r}. Create it, or list the learners.")

    def get(self, learner_id: int) -> ManagedLearner:
        """Return a learner to read, or raise `NoLearnerError`; the worker goes on changing it."""
        if learner_id not in self._worker.learners:
            self._worker.check_complete()
        return self._worker.get_learner(learner_id)

    def get_classes(self, name: str) -> tuple[Label, ...]:
        """Return the classes of a learner in order; new ones come last."""
        return self.get(self.find_id(name)).learner.classes

    def create(
        self, name: str, learner: OnlineLearner, notes: dict[str, Any] | None = None
    ) -> Future[int]:
        """Add a learner under a name; the answer is its id."""
        return self._worker.enqueue(commands.CreateLearner(name, learner, notes or {}))

    def delete(self, learner_id: int) -> Future[None]:
        """Delete a learner."""
        answer: Future[None] = self._worker.enqueue(commands.DeleteLearner(learner_id))
        answer.add_done_callback(lambda _: self._worker.notify_erased())
        return answer

    def submit(self, learner_id: int, command: Command, key: str = "") -> Future[CommandResult]:
        """Apply a command to a learner.

        A command repeated with the same idempotency key gets the first answer and is not applied.
        """
        request = commands.LearnerCommand(
            learner_id, command, commands.encode_command(command), key
        )
        answer = self._worker.enqueue(request)
        self.timing.start(answer)
        return answer

    def erase(
        self,
        learner_id: int,
        *,
        label: Label | None = None,
        examples: Collection[int] = (),
        belongs: Callable[[ManagedLearner, Rows], Bools] | None = None,
    ) -> Future[ErasureResult]:
        """Erase a class or examples as if they had never come; all other requests wait.

        See `ErasureRequest`.
        """
        request = commands.ErasureRequest(learner_id, label, frozenset(examples), belongs)
        return self._worker.enqueue(request)

    def predict(self, learner_id: int, rows: Rows) -> Future[CommandResult]:
        """Answer examples without learning, by all changes, on disk or not."""
        query = Query(lambda managed: managed.predict(rows), learner_id, len(rows), True)
        return self._worker.enqueue(query)

    def query(
        self,
        learner_id: int,
        function: Callable[[ManagedLearner], Any],
        *,
        skip_durability: bool = False,
    ) -> Future[Any]:
        """Call a function of a learner that changes nothing, in its turn; see `Query`."""
        return self._worker.enqueue(Query(function, learner_id, skip_durability=skip_durability))

    def query_all(self, function: Callable[[dict[int, ManagedLearner]], Any]) -> Future[Any]:
        """Call a function of all learners that changes nothing."""
        return self._worker.enqueue(Query(function))

    def back_up(self) -> str:
        """Write a backup of everything on disk, and return its name; requests go on meanwhile."""
        with self._worker.backup_lock:
            return back_up(self._journal)

    def list_metrics(self) -> list[Metric]:
        """Return the metrics of the service and of its learners at once."""
        learners = tuple(self._worker.learners.values())
        examples = {each.name: each.next_example_id for each in learners}
        vertices = {each.name: each.learner.n_vertices for each in learners}
        outliers = {each.name: each.learner.n_outliers for each in learners}
        classes = {each.name: len(each.learner.classes) for each in learners}
        n_events, n_waiting = self._journal.last.sequence, self.count_waiting()
        has_failed, is_damaged = self.failure is not None, self.damage is not None
        failed = "1 if the disk has failed and no writes are accepted."
        return [
            Metric("labelwalk_events_total", "counter", "Events on disk.", n_events),
            Metric(
                "labelwalk_waiting_examples", "gauge", "Examples waiting to be learned.", n_waiting
            ),
            Metric("labelwalk_failed", "gauge", failed, has_failed),
            Metric("labelwalk_damaged", "gauge", "1 if an old event is damaged.", is_damaged),
            Metric(
                "labelwalk_examples", "counter", "Examples that the learner has seen.", examples
            ),
            Metric("labelwalk_vertices", "gauge", "Vertices of the learner.", vertices),
            Metric(
                "labelwalk_outliers", "counter", "Outliers that the learner has seen.", outliers
            ),
            Metric("labelwalk_classes", "gauge", "Classes of the learner.", classes),
        ]

    def count_waiting(self) -> int:
        """Return at once the number of examples in the queue."""
        return self._worker.queue.weight

    def is_full(self) -> bool:
        """Return at once whether the queue is almost full."""
        return self.count_waiting() > FULL_SHARE * MAX_WAITING

    def count_changes(self) -> dict[int, int]:
        """Return at once the number of commands applied to each learner, written or not."""
        learners = tuple(self._worker.learners.items())
        return {learner_id: managed.n_changes for learner_id, managed in learners}

    def close(self) -> None:
        """Execute and write the waiting requests, and unlock the folder."""
        self._is_closing = True
        self._worker.close()
        self._journal.close()

    def _verify_past(self, anchor: JournalPosition, end: JournalPosition) -> None:
        """Verify the events before the last snapshot, which a start does not read."""
        reader = self._journal.reader
        try:
            for event in reader.read_events():
                if event.sequence >= end.sequence or self._is_closing:
                    return
        except DamagedError as error:
            if not self._is_closing and reader.read_anchor() == anchor:  # else events were dropped
                self.damage = str(error)
