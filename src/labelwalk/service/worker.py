"""What waits to be done: bounded, in order, taken some at a time; what does not wait goes ahead."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from labelwalk.service.backup import apply_retention
from labelwalk.service.commands import (
    LearnerCommand,
    Observe,
    QueuedCall,
    UnfinishedError,
    encode_metadata,
    runs,
)
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.erasure import CleanupError, CopyError, rebuild_learner
from labelwalk.service.idempotency import IdempotencyCache
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.journal_writer import Group, JournalWriter
from labelwalk.service.managed_learner import CommandResult, ManagedLearner, n_rows
from labelwalk.service.snapshots import DELETE, Snapshots, restore_learners

Item = TypeVar("Item")


class BusyError(Exception):
    """Too much is waiting."""


class BoundedQueue(Generic[Item]):
    """A queue that refuses instead of growing, and in which some go ahead.

    Parameters
    ----------
    most : int
        Examples that may wait.
    held : function, optional
        Says whether only those that go ahead are to be taken for now.

    Examples
    --------
    >>> inbox = BoundedQueue(most=3)
    >>> inbox.put("a", 2)
    >>> inbox.put("b", 2)
    Traceback (most recent call last):
    labelwalk.service.worker.BusyError: 2 examples wait already. Send fewer, or try again later.
    >>> inbox.put("c", 1, ahead=True)
    >>> inbox.take(10)
    ['c', 'a']
    """

    def __init__(self, most: int, held: Callable[[], bool] = lambda: False) -> None:
        self._most, self._weight, self._closed = most, 0, False
        self._held = held
        self._ahead: list[tuple[Item, int]] = []
        self._items: deque[tuple[Item, int]] = deque()
        self._changed = threading.Condition()

    @property
    def weight(self) -> int:
        """How many examples wait."""
        return self._weight

    def put(self, item: Item, weight: int, *, ahead: bool = False) -> None:
        """Add something; one that is too large alone is taken if nothing waits.

        Raises
        ------
        BusyError
        """
        with self._changed:
            if self._closed:
                raise BusyError("It is being closed. Try again later.")
            if (self._items or self._ahead) and self.weight + weight > self._most:
                raise BusyError(
                    f"{self.weight:,} examples wait already. Send fewer, or try again later."
                )
            (self._ahead if ahead else self._items).append((item, weight))
            self._weight += weight
            self._changed.notify()

    def take(self, most: int) -> list[Item]:
        """Wait for something, and return what there is, up to so many examples; [] at the end.

        Those that go ahead come first, all of them.
        """
        with self._changed:
            while not self._is_over() and not self._ahead and not self._may_be_taken():
                self._changed.wait()
            taken, self._ahead = self._ahead, []
            weight = 0
            while self._may_be_taken() and (weight == 0 or weight + self._items[0][1] <= most):
                taken.append(self._items.popleft())
                weight += taken[-1][1]
            self._weight -= sum(one for _, one in taken)
            return [item for item, _ in taken]

    def wake(self) -> None:
        """Look again whether all may be taken."""
        with self._changed:
            self._changed.notify()

    def close(self) -> None:
        """Accept nothing more; what waits is still taken."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_over(self) -> bool:
        return self._closed and not self._items and not self._ahead

    def _may_be_taken(self) -> bool:
        return bool(self._items) and not self._held()


class EventLoopBridge:
    """Brings answers into an event loop.

    Parameters
    ----------
    loop : event loop
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._letters: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._asleep = True

    def to_asyncio_future(self, future: Future[Any]) -> asyncio.Future[Any]:
        """Return a future of the loop that ends as the other does."""
        mine = self._loop.create_future()
        future.add_done_callback(lambda done: self._send(mine, done))
        return mine

    def _send(self, mine: asyncio.Future[Any], done: Future[Any]) -> None:
        self._letters.append((mine, done))
        if self._asleep:  # put in before it is looked at: else one could stay behind
            self._asleep = False
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except BaseException:  # the next letter tries again
                self._asleep = True
                raise

    def _deliver(self) -> None:
        self._asleep = True
        while self._letters:
            mine, done = self._letters.popleft()
            if mine.done():  # whoever asked has left
                continue
            error = done.exception()
            if error is None:
                mine.set_result(done.result())
            else:
                mine.set_exception(error)


_posts: WeakKeyDictionary[asyncio.AbstractEventLoop, EventLoopBridge] = WeakKeyDictionary()


def to_asyncio_future(future: Future[Any]) -> asyncio.Future[Any]:
    """Return a future of the running loop that ends as the other does.

    Examples
    --------
    >>> async def main():
    ...     future = Future()
    ...     threading.Timer(0.01, future.set_result, ["done"]).start()
    ...     return await to_asyncio_future(future)
    >>> import threading
    >>> asyncio.run(main())
    'done'
    """
    loop = asyncio.get_running_loop()
    post = _posts.get(loop)
    if post is None:
        post = _posts[loop] = EventLoopBridge(loop)
    return post.to_asyncio_future(future)


WAITING = 20_000  # examples at most, before more are refused
FULL = 0.9  # of them: who brings more is turned away
AT_ONCE = 128  # examples that go to the disk together, at most, unless they came together
PRESSED = 32  # or this part of all that wait, where they are many
LOGGER = logging.getLogger(__name__)


class NoLearnerError(LookupError):
    """There is no such learner."""


KNOWN = (CopyError, DamagedError, DiskError, LookupError, CleanupError, UnfinishedError, ValueError)


class LearnerWorker:
    """Does what is asked in order; `JournalWriter` answers when all of it is on the disk.

    Parameters
    ----------
    journal : Journal
    every : int
        Examples between two rounds of snapshots.
    retain : float, optional
        Seconds for which events are kept at least. None: for ever.

    Attributes
    ----------
    learners : dict from numbers to ManagedLearner
        Changed by what is asked, in this thread alone.
    snapshots : Snapshots
    when_rebuilt : function
    changing : int or None
        The managed that is ahead of its entries; set by what is asked before it changes one.
    """

    def __init__(self, journal: Journal, *, every: int, retain: float | None) -> None:
        self._journal, self._every, self._retain = journal, every, retain
        self.snapshots = Snapshots(journal)
        self.learners = restore_learners(journal, self.snapshots)
        self.when_rebuilt: Callable[[], None] = lambda: None
        self._since, self._changed = 0, set[int]()
        self.changing: int | None = None
        self._doubtful = set[int]()  # those that must be rebuilt
        self._group, self._handed_over = Group(), list[Group]()
        self._accepted = journal.last.sequence  # events, written or on their way
        self._keys = IdempotencyCache(journal)
        self._scribe = JournalWriter(journal, self.snapshots, self._keys)
        self._inbox: BoundedQueue[QueuedCall] = BoundedQueue(WAITING, held=self._scribe.is_behind)
        self._scribe.when_written = self._inbox.wake
        self._thread = threading.Thread(target=self._learn, name="learn", daemon=True)
        self._thread.start()

    @property
    def failed(self) -> Exception | None:
        """What keeps anything more from being accepted; None where all is well."""
        return self._scribe.failed

    @property
    def n_waiting(self) -> int:
        """How many examples wait for their turn."""
        return self._inbox.weight

    def is_full(self) -> bool:
        """Return whether hardly anything more can wait."""
        return self._inbox.weight > FULL * WAITING

    def ask(self, do: Callable[..., Any], weight: int, **more: Any) -> Future[Any]:
        """Have something done with a managed, or with all, in its turn.

        Parameters
        ----------
        do : function of the managed, or of all
            Returns the answer, and the entry to be written or None.
        weight : int
            Examples that it brings.
        **more
            Of `QueuedCall`.

        Raises
        ------
        BusyError
            Too much waits.
        """
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()  # who asked may leave, but nothing is taken back
        asked = QueuedCall(do, answer, **more)
        self._inbox.put(asked, weight, ahead=asked.at_once)
        return answer

    def change(self, change: LearnerCommand) -> Future[Any]:
        """Let something happen to a learner."""
        return self.ask(
            lambda managed: self._change(managed, change),
            max(1, n_rows(change.event)),
            change=change,
            learner=change.learner,
        )

    def check_missing(self) -> None:
        """See that a managed that is missing will not come back; raise where it may."""
        if self._doubtful or self._scribe.is_interrupted:
            self.ask(lambda learners: (None, None), 1)  # rebuilds what can be rebuilt
            raise UnfinishedError

    def take_in(self, managed: ManagedLearner) -> int:
        """Give a managed the number of the event that is next; called by what is asked."""
        number = self._accepted + 1
        self.changing = number
        self.learners[number] = managed
        self._changed.add(number)
        return number

    def strike(self, number: int) -> None:
        """Know a managed no more; called by what is asked."""
        self.changing = number
        del self.learners[number]

    def all_is_kept(self) -> None:
        """Record that the journal and its snapshots match the learners."""
        self._accepted = self._journal.last.sequence
        self._changed.clear()

    def close(self) -> None:
        """Do what waits, and write it down."""
        self._inbox.close()
        self._thread.join()
        self._scribe.close()

    def _change(
        self, managed: ManagedLearner, change: LearnerCommand
    ) -> tuple[CommandResult, Entry | None]:
        change = change.in_order(managed.learner.feature_names)
        before = self._keys.answer(change)
        if before is not None:
            return before, None
        self.changing = change.learner
        return self._noted(change, managed.apply(change.event, draws=False))

    def _noted(self, change: LearnerCommand, told: CommandResult) -> tuple[CommandResult, Entry]:
        """Take note of what has happened, and return how it is to be written."""
        number, event, parts = change.learner, change.event, change.parts
        self._changed.add(number)
        self._since += n_rows(event)
        if change.key:
            self._keys.keep(change, told)
            parts = [*parts, told.to_json()]
        return told, Entry(
            number, event.kind, encode_metadata(event, told.first), parts, change.key
        )

    def _learn(self) -> None:
        while True:
            asked: list[QueuedCall] = []
            try:
                asked = self._inbox.take(max(AT_ONCE, self._inbox.weight // PRESSED))
                if not asked:
                    return
                self._do_all(asked)
            except Exception as error:
                refusal = self._take_note(error)
                self._put_group(waits=True)
                for one in asked:
                    with suppress(InvalidStateError):  # it may be answered
                        one.answer.set_exception(refusal)

    def _do_all(self, asked: list[QueuedCall]) -> None:
        for run in runs(asked):
            if run[0].alone:
                self._put_group(waits=True)
            n_done = self._observe_together(run) if len(run) > 1 else 0
            for one in run[n_done:]:
                self._do(one)
        round_is_due = self._since >= self._every and not self._doubtful
        if round_is_due:
            self._since = 0
            states = {i: one.to_bytes() for i, one in self.learners.items() if i in self._changed}
            self._group.states.update(states)
            self._group.alive.update(self.learners)
            self._changed.clear()
        self._put_group()
        if round_is_due and self._retain is not None:
            self._scribe.wait()
            self._drop(self._retain)

    def _do(self, one: QueuedCall) -> None:
        try:
            answer, entry = one.do(self._usable(one.learner))
            if one.at_once:
                one.answer.set_result(answer)
            else:
                self._to_be_written(one, answer, entry)
            self.changing = None
        except Exception as error:
            if one.alone and isinstance(error, DiskError | DamagedError):
                self._scribe.fail(error)
            with suppress(InvalidStateError):
                one.answer.set_exception(self._take_note(error))

    def _observe_together(self, run: list[QueuedCall]) -> int:
        """Observe all blocks of a run at once; return how many are done, the first of the run."""
        changes = [one.change for one in run if one.change is not None]
        n_before = len(self._group.done)
        try:
            managed = self.learners.get(changes[0].learner)
            if self._doubtful or managed is None or any(map(self._keys.know, changes)):
                return 0
            blocks = [change.event for change in changes if isinstance(change.event, Observe)]
            self.changing = changes[0].learner
            all_told = managed.observe_together(blocks)
            for one, change, told in zip(run, changes, all_told, strict=False):
                self._to_be_written(one, *self._noted(change, told))
            self.changing = None
        except Exception as error:
            self._take_note(error)
        return len(self._group.done) - n_before

    def _to_be_written(self, one: QueuedCall, answer: Any, entry: Entry | None) -> None:
        self._accepted += entry is not None
        self._group.done.append((one.answer, answer, entry))
        if entry is not None and entry.kind != DELETE and not self.learners[entry.learner].draw():
            self._doubtful.add(entry.learner)  # it is drawn when it is rebuilt

    def _put_group(self, *, waits: bool = False) -> None:
        fresh, before = Group(), [group for group in self._handed_over if not group.is_written]
        self._handed_over = [*before, self._group]
        self._scribe.put(self._group)
        self._group = fresh  # made before: what was put must never be put again
        if waits:
            self._scribe.wait()

    def _take_note(self, error: Exception) -> Exception:
        """Take note of an error and of what it leaves in doubt; return what is said of it."""
        if self.changing is not None and type(error) is not ValueError:
            self._doubtful.add(self.changing)
        self.changing = None
        if isinstance(error, KNOWN):
            return error
        LOGGER.error("an unexpected error", exc_info=error)
        return UnfinishedError()

    def _usable(self, learner: int | None) -> ManagedLearner | dict[int, ManagedLearner]:
        """Return a managed, or all, when sure that they are right; raise why not."""
        wanted = self._doubtful if learner is None else self._doubtful & {learner}
        if wanted or self._scribe.is_interrupted:
            self._restore(wanted)
        if refusal := self._scribe.refusal():
            raise refusal
        if self._doubtful & wanted:
            raise UnfinishedError("a learner cannot be rebuilt from the journal")
        return self.learners if learner is None else known(self.learners, learner)

    def _restore(self, wanted: set[int]) -> None:
        """Write again, and make learners that are in doubt as the journal has them."""
        self._put_group(waits=True)
        self._journal.catch_up()
        self._keys = self._scribe.keys = IdempotencyCache(self._journal)
        self._accepted = self._journal.last.sequence
        self._changed.update(self.learners)  # the last round may be half kept: the next has all
        unwritten = [group.done for group in self._handed_over if not group.is_written]
        wanted |= {entry.learner for done in unwritten for *_, entry in done if entry is not None}
        self._doubtful |= wanted
        self._handed_over.clear()
        self._scribe.is_interrupted = False
        for number in sorted(wanted):
            try:
                learners = rebuild_learner(
                    self._journal, self.snapshots, number, self._accepted + 1
                )
                self.learners.pop(number, None)
                self.learners.update(learners)
                self._changed.add(number)
                self._doubtful.discard(number)
                LOGGER.warning("a learner was rebuilt from the journal")
                self.when_rebuilt()
            except Exception as error:
                LOGGER.error("a learner was not rebuilt", exc_info=error)

    def _drop(self, seconds: float) -> None:
        if self._scribe.failed is None:
            try:
                apply_retention(self._journal, self.snapshots, seconds)
            except (DiskError, DamagedError) as error:
                self._scribe.fail(error)


def known(learners: dict[int, ManagedLearner], number: int) -> ManagedLearner:
    """Return a managed by its number.

    Raises
    ------
    NoLearnerError
    """
    if number not in learners:
        raise NoLearnerError(f"there is no learner {number} any more.")
    return learners[number]
