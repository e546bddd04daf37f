"""The thread that executes requests on learners in order, its queue, and its bridge to asyncio."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from labelwalk._validation import column_names
from labelwalk.errors import LabelwalkError
from labelwalk.service import commands
from labelwalk.service.commands import CommandResult, ErasureRequest, LearnerCommand, Observe, Query
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.erasure import BackupError, CleanupError, ErasureResult, erase
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.journal_writer import EventGroup, IdempotencyCache, JournalWriter, Outcome
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.snapshots import CREATE, DELETE, Snapshots, rebuild_learner, restore_learners

MAX_WAITING = 20_000  # examples in the queue
FULL_SHARE = 0.9  # of the queue, above which requests are turned away early
MIN_BATCH = 128  # examples executed and written together
BATCH_DIVISOR = 32  # a longer queue is worked off in batches of this part of it
Item = TypeVar("Item")
logger = logging.getLogger(__name__)


class BusyError(LabelwalkError):
    """The queue is full or closed."""


class NoLearnerError(LabelwalkError, LookupError):
    """The learner does not exist."""


class NameTakenError(LabelwalkError, ValueError):
    """Another learner has the name."""


STORE_ERRORS = (BackupError, CleanupError, DamagedError, DiskError, commands.UnfinishedError)
EXPECTED_ERRORS = (*STORE_ERRORS, LookupError, ValueError)


class BoundedQueue(Generic[Item]):
    """A queue that refuses items instead of growing, with a second lane for priority items.

    Only priority items may be taken while `is_held` returns True.

    Examples
    --------
    >>> queue = BoundedQueue(capacity=3)
    >>> queue.put("a", 2)
    >>> queue.put("b", 1, priority=True)
    >>> queue.take(10)
    ['b', 'a']
    """

    def __init__(self, capacity: int, is_held: Callable[[], bool] = lambda: False) -> None:
        self._capacity, self._is_held = capacity, is_held
        self.weight, self._is_closed = 0, False
        self._priority: list[tuple[Item, int]] = []
        self._items: deque[tuple[Item, int]] = deque()
        self._changed = threading.Condition()

    def put(self, item: Item, weight: int, *, priority: bool = False) -> None:
        """Add an item, or raise `BusyError`; an empty queue accepts an item of any weight."""
        with self._changed:
            if self._is_closed:
                raise BusyError("The service is shutting down. Try again later.")
            if (self._items or self._priority) and self.weight + weight > self._capacity:
                raise BusyError(
                    f"{self.weight:,} examples are waiting. Send fewer, or try again later."
                )
            (self._priority if priority else self._items).append((item, weight))
            self.weight += weight
            self._changed.notify()

    def take(self, max_weight: int) -> list[Item]:
        """Wait for items, and return them up to a total weight; [] when closed and empty.

        All priority items come first. The first other item may exceed the weight.
        """
        with self._changed:
            while not self._priority and not self._can_take():
                if self._is_closed and not self._items:
                    return []
                self._changed.wait()
            batch, self._priority, weight = self._priority, [], 0
            while self._can_take() and (weight == 0 or weight + self._items[0][1] <= max_weight):
                batch.append(self._items.popleft())
                weight += batch[-1][1]
            self.weight -= sum(weight for _, weight in batch)
            return [item for item, _ in batch]

    def wake(self) -> None:
        """Check again whether the queue is held."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Accept no more items; waiting items can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _can_take(self) -> bool:
        return bool(self._items) and not self._is_held()


class EventLoopBridge:
    """Completes futures of an event loop from other threads, with one wake-up for many of them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._completed: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_idle = True

    def to_asyncio_future(self, future: Future[Any]) -> asyncio.Future[Any]:
        """Return a future of the loop with the result of another future."""
        loop_future = self._loop.create_future()
        future.add_done_callback(lambda completed: self._send(loop_future, completed))
        return loop_future

    def _send(self, loop_future: asyncio.Future[Any], future: Future[Any]) -> None:
        self._completed.append((loop_future, future))  # before the check: else it could stay behind
        if self._is_idle:
            self._is_idle = False
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except BaseException:  # the next future tries again
                self._is_idle = True
                raise

    def _deliver(self) -> None:
        self._is_idle = True
        while self._completed:
            loop_future, future = self._completed.popleft()
            if loop_future.done():  # cancelled, since the client has left
                continue
            error = future.exception()
            if error is None:
                loop_future.set_result(future.result())
            else:
                loop_future.set_exception(error)


_bridges: WeakKeyDictionary[asyncio.AbstractEventLoop, EventLoopBridge] = WeakKeyDictionary()


def to_asyncio_future(future: Future[Any]) -> asyncio.Future[Any]:
    """Return a future of the running event loop with the result of another future."""
    loop = asyncio.get_running_loop()
    if loop not in _bridges:
        _bridges[loop] = EventLoopBridge(loop)
    return _bridges[loop].to_asyncio_future(future)


class QueuedRequest(NamedTuple):
    """A request, and where its answer goes."""

    request: commands.Request
    future: Future[Any]


def split_batches(queued: Iterable[QueuedRequest]) -> Iterator[list[QueuedRequest]]:
    """Yield requests in order; those that can be observed as one block come together."""

    def get_key(item: QueuedRequest) -> Hashable:
        match item.request:
            case LearnerCommand(learner_id, Observe(rows, ())) if not column_names(rows):
                return learner_id, rows.shape[1]
        return id(item)  # no other request has this key: it is executed alone

    for _, batch in groupby(queued, key=get_key):
        yield list(batch)


class LearnerWorker:
    """Executes requests one after the other; `JournalWriter` answers when they are on disk.

    It takes snapshots every `snapshot_every` examples, and keeps events for `retain_s` seconds at
    least, or forever. Only this thread changes `learners`. It calls `on_erased` after an erasure
    or a rebuild, and holds `backup_lock` during an erasure: no backup gets what is erased.
    """

    def __init__(self, journal: Journal, *, snapshot_every: int, retain_s: float | None) -> None:
        self._journal, self._snapshot_every, self._retain_s = journal, snapshot_every, retain_s
        self._snapshots = Snapshots(journal.reader)
        self.learners = restore_learners(journal.reader, self._snapshots)
        self.on_erased: list[Callable[[], None]] = []
        self.backup_lock = threading.Lock()
        self._n_since_round, self._changed = 0, set[int]()
        self._changing: int | None = None  # the learner that is ahead of its events, if any
        self._doubtful = set[int]()  # learners that must be rebuilt before they are used
        self._group, self._enqueued = EventGroup(), list[EventGroup]()
        self._last_accepted = journal.last.sequence  # of the events, written or not
        self._keys = IdempotencyCache(journal)
        self.writer = JournalWriter(journal, self._snapshots, self._keys)
        self.queue: BoundedQueue[QueuedRequest] = BoundedQueue(
            MAX_WAITING, is_held=self.writer.is_behind
        )
        self.writer.on_written = self.queue.wake
        self._thread = threading.Thread(target=self._run, name="learner-worker", daemon=True)
        self._thread.start()

    def enqueue(self, request: commands.Request) -> Future[Any]:
        """Have a request executed in its turn, and return the future of its answer."""
        weight, priority = 1, False
        if isinstance(request, LearnerCommand):
            weight = max(1, commands.count_rows(request.command))
        elif isinstance(request, Query):
            weight, priority = request.n_rows, request.skip_durability
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # a client may leave, but its request is executed
        self.queue.put(QueuedRequest(request, future), weight, priority=priority)
        return future

    def get_learner(self, learner_id: int) -> ManagedLearner:
        """Return a learner, or raise `NoLearnerError`."""
        if learner_id not in self.learners:
            raise NoLearnerError(f"the learner with id {learner_id} no longer exists.")
        return self.learners[learner_id]

    def check_complete(self) -> None:
        """Raise `UnfinishedError` if a learner may be missing because it must be rebuilt first."""
        if self._doubtful or self.writer.is_interrupted:
            self.enqueue(Query(lambda learners: None))  # rebuilds the learners
            raise commands.UnfinishedError

    def notify_erased(self) -> None:
        """Call the functions of `on_erased`."""
        for callback in self.on_erased:
            callback()

    def close(self) -> None:
        """Execute and write the waiting requests, and end both threads."""
        self.queue.close()
        self._thread.join()
        self.writer.close()

    def _run(self) -> None:
        while True:
            batch: list[QueuedRequest] = []
            try:
                batch = self.queue.take(max(MIN_BATCH, self.queue.weight // BATCH_DIVISOR))
                if not batch:
                    return
                self._execute_all(batch)
            except Exception as error:
                refusal = self._note_error(error)
                self._enqueue_group(waits=True)
                for queued in batch:
                    with suppress(InvalidStateError):  # it may be answered already
                        queued.future.set_exception(refusal)

    def _execute_all(self, queued: list[QueuedRequest]) -> None:
        for batch in split_batches(queued):
            if isinstance(batch[0].request, ErasureRequest):
                self._enqueue_group(waits=True)
            n_done = self._observe_together(batch) if len(batch) > 1 else 0
            for item in batch[n_done:]:
                self._execute(item)
        round_is_due = self._n_since_round >= self._snapshot_every and not self._doubtful
        if round_is_due:
            self._n_since_round = 0
            states = {i: each.to_bytes() for i, each in self.learners.items() if i in self._changed}
            self._group.states.update(states)
            self._group.learner_ids.update(self.learners)
            self._changed.clear()
        self._enqueue_group()
        if round_is_due and self._retain_s is not None:
            self.writer.wait()
            try:
                if self.writer.failure is None:
                    self._snapshots.apply_retention(self._retain_s)
            except (DiskError, DamagedError) as error:
                self.writer.fail(error)

    def _execute(self, queued: QueuedRequest) -> None:
        request, future = queued
        try:
            answer, entry = self._handle(request)
            if isinstance(request, Query) and request.skip_durability:
                future.set_result(answer)
            else:
                self._add_outcome(future, answer, entry)
            self._changing = None
        except Exception as error:
            is_erasure = isinstance(request, ErasureRequest)
            if is_erasure and isinstance(error, DiskError | DamagedError):
                self.writer.fail(error)
            with suppress(InvalidStateError):
                future.set_exception(self._note_error(error))

    def _handle(self, request: commands.Request) -> tuple[Any, Entry | None]:
        """Execute a request; return its answer, and the event to be written before it is sent."""
        if isinstance(request, commands.CreateLearner | ErasureRequest):
            self._check_usable(None)
        else:
            self._check_usable(request.learner_id)
        match request:
            case commands.CreateLearner():
                return self._create(request)
            case LearnerCommand():
                return self._apply(request)
            case ErasureRequest():
                return self._erase(request), None
            case commands.DeleteLearner(learner_id):
                self.get_learner(learner_id)
                self._changing = learner_id
                del self.learners[learner_id]
                return None, Entry(learner_id, DELETE, "{}", [])
            case Query(function, learner_id):
                if learner_id is None:
                    return function(self.learners), None
                return function(self.get_learner(learner_id)), None

    def _create(self, request: commands.CreateLearner) -> tuple[int, Entry]:
        name = request.name
        if any(managed.name == name for managed in self.learners.values()):
            raise NameTakenError(f"a learner named {name!r} already exists. Choose another name.")
        managed = ManagedLearner(name, request.learner, notes=request.notes)
        content, learner_id = managed.to_bytes(), self._last_accepted + 1
        self._changing = learner_id
        self.learners[learner_id] = managed
        self._changed.add(learner_id)
        return learner_id, Entry(learner_id, CREATE, "{}", [content])

    def _apply(self, request: LearnerCommand) -> tuple[CommandResult, Entry | None]:
        managed = self.get_learner(request.learner_id)
        request = request.reorder_columns(managed.learner.feature_names)
        result = self._keys.find_result(request)
        if result is not None:
            return result, None
        self._changing = request.learner_id
        return self._create_entry(request, managed.apply(request.command, updates_axes=False))

    def _erase(self, request: ErasureRequest) -> ErasureResult:
        self.get_learner(request.learner_id).check_writable()
        self._changing = request.learner_id
        with self.backup_lock:
            result = erase(self._journal, self._snapshots, self.learners, request)
        self._last_accepted = self._journal.last.sequence
        self._changed.clear()  # the erasure has saved all states
        self.notify_erased()
        return result

    def _create_entry(
        self, request: LearnerCommand, result: CommandResult
    ) -> tuple[CommandResult, Entry]:
        learner_id, command, parts = request.learner_id, request.command, request.parts
        self._changed.add(learner_id)
        self._n_since_round += commands.count_rows(command)
        if request.key:
            self._keys.add_pending(request, result)
            parts = [*parts, result.to_json()]
        metadata = commands.encode_metadata(command, result.first)
        return result, Entry(learner_id, command.kind, metadata, parts, request.key)

    def _observe_together(self, batch: list[QueuedRequest]) -> int:
        """Observe all blocks of a batch at once; return how many requests are done."""
        requests = [item.request for item in batch if isinstance(item.request, LearnerCommand)]
        n_before = len(self._group.outcomes)
        try:
            managed = self.learners.get(requests[0].learner_id)
            keys = [request.key for request in requests if request.key]
            is_repeated = len(set(keys)) < len(keys) or any(map(self._keys.contains, requests))
            if self._doubtful or managed is None or is_repeated:
                return 0
            blocks = [each.command for each in requests if isinstance(each.command, Observe)]
            self._changing = requests[0].learner_id
            results = managed.apply_blocks(blocks)
            for item, request, result in zip(batch, requests, results, strict=False):
                self._add_outcome(item.future, *self._create_entry(request, result))
            self._changing = None
        except Exception as error:
            self._note_error(error)
        return len(self._group.outcomes) - n_before

    def _add_outcome(self, future: Future[Any], answer: Any, entry: Entry | None) -> None:
        self._last_accepted += entry is not None
        self._group.outcomes.append(Outcome(future, answer, entry))
        if entry is None or entry.kind == DELETE:
            return
        if not self.learners[entry.learner].update_axes():
            self._doubtful.add(entry.learner)  # the rebuild computes the axes

    def _enqueue_group(self, *, waits: bool = False) -> None:
        new, unwritten = EventGroup(), [group for group in self._enqueued if not group.is_written]
        self._enqueued = [*unwritten, self._group]
        self.writer.put(self._group)
        self._group = new  # created above: a group must never be enqueued twice
        if waits:
            self.writer.wait()

    def _note_error(self, error: Exception) -> Exception:
        """Mark the learner in doubt, if any, and return the error for the client."""
        if self._changing is not None and type(error) is not ValueError:
            self._doubtful.add(self._changing)
        self._changing = None
        if isinstance(error, EXPECTED_ERRORS):
            return error
        logger.error("an unexpected error", exc_info=error)
        return commands.UnfinishedError()

    def _check_usable(self, learner_id: int | None) -> None:
        """Rebuild a learner, or all, if in doubt; raise if it cannot be used."""
        doubtful = self._doubtful & (self._doubtful if learner_id is None else {learner_id})
        if doubtful or self.writer.is_interrupted:
            self._recover(doubtful)
        if refusal := self.writer.get_refusal():
            raise refusal
        if self._doubtful & doubtful:
            raise commands.UnfinishedError("a learner cannot be rebuilt from the journal")

    def _recover(self, learner_ids: set[int]) -> None:
        """Resume writing, and rebuild learners from the journal, also those ahead of it."""
        self._enqueue_group(waits=True)
        self._journal.reload_end()
        self._keys = self.writer.keys = IdempotencyCache(self._journal)
        self._last_accepted = self._journal.last.sequence
        self._changed.update(self.learners)  # the last round may be incomplete: save all states
        for group in self._enqueued:
            if not group.is_written:
                learner_ids |= {entry.learner for entry in group.entries}
        self._doubtful |= learner_ids
        self._enqueued.clear()
        self.writer.is_interrupted = False
        for learner_id in sorted(learner_ids):
            try:
                reader, end = self._journal.reader, self._last_accepted + 1
                rebuilt = rebuild_learner(reader, self._snapshots, learner_id, end)
                self.learners.pop(learner_id, None)
                self.learners.update(rebuilt)
                self._changed.add(learner_id)
                self._doubtful.discard(learner_id)
                logger.warning("a learner was rebuilt from the journal")
                self.notify_erased()
            except Exception as error:
                logger.error("a learner was not rebuilt", exc_info=error)
