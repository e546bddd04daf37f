"""The thread in which things happen to learners, one after the other, on their way to the disk."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any

from labelwalk.service.absent import PictureError
from labelwalk.service.backup import CopyError
from labelwalk.service.changes import Asked, Change, UnfinishedError, runs
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.erasing import remade
from labelwalk.service.events import Observe, about_it
from labelwalk.service.inbox import Inbox
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.keys import Keys
from labelwalk.service.pupil import Pupil, Told, n_rows
from labelwalk.service.replay import DELETE, restored
from labelwalk.service.retention import let_go_of_the_old
from labelwalk.service.scribe import Group, Scribe
from labelwalk.service.snapshots import Snapshots

WAITING = 20_000  # examples at most, before more are refused
FULL = 0.9  # of them: who brings more is turned away
AT_ONCE = 128  # examples that go to the disk together, at most, unless they came together
PRESSED = 32  # or this part of all that wait, where they are many
LOGGER = logging.getLogger(__name__)


class NoLearnerError(LookupError):
    """There is no such learner."""


KNOWN = (CopyError, DamagedError, DiskError, LookupError, PictureError, UnfinishedError, ValueError)


class Learning:
    """Does what is asked in order; `Scribe` answers when all of it is on the disk.

    Parameters
    ----------
    journal : Journal
    every : int
        Examples between two rounds of snapshots.
    retain : float, optional
        Seconds for which events are kept at least. None: for ever.

    Attributes
    ----------
    pupils : dict from numbers to Pupil
        Changed by what is asked, in this thread alone.
    snapshots : Snapshots
    when_rebuilt : function
    changing : int or None
        The pupil that is ahead of its entries; set by what is asked before it changes one.
    """

    def __init__(self, journal: Journal, *, every: int, retain: float | None) -> None:
        self._journal, self._every, self._retain = journal, every, retain
        self.snapshots = Snapshots(journal)
        self.pupils = restored(journal, self.snapshots)
        self.when_rebuilt: Callable[[], None] = lambda: None
        self._since, self._changed = 0, set[int]()
        self.changing: int | None = None
        self._doubtful = set[int]()  # those that must be rebuilt
        self._group, self._handed_over = Group(), list[Group]()
        self._accepted = journal.last.sequence  # events, written or on their way
        self._keys = Keys(journal)
        self._scribe = Scribe(journal, self.snapshots, self._keys)
        self._inbox: Inbox[Asked] = Inbox(WAITING, held=self._scribe.is_behind)
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
        """Have something done with a pupil, or with all, in its turn.

        Parameters
        ----------
        do : function of the pupil, or of all
            Returns the answer, and the entry to be written or None.
        weight : int
            Examples that it brings.
        **more
            Of `Asked`.

        Raises
        ------
        BusyError
            Too much waits.
        """
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()  # who asked may leave, but nothing is taken back
        asked = Asked(do, answer, **more)
        self._inbox.put(asked, weight, ahead=asked.at_once)
        return answer

    def change(self, change: Change) -> Future[Any]:
        """Let something happen to a learner."""
        return self.ask(
            lambda pupil: self._change(pupil, change),
            max(1, n_rows(change.event)),
            change=change,
            learner=change.learner,
        )

    def check_missing(self) -> None:
        """See that a pupil that is missing will not come back; raise where it may."""
        if self._doubtful or self._scribe.is_interrupted:
            self.ask(lambda pupils: (None, None), 1)  # rebuilds what can be rebuilt
            raise UnfinishedError

    def take_in(self, pupil: Pupil) -> int:
        """Give a pupil the number of the event that is next; called by what is asked."""
        number = self._accepted + 1
        self.changing = number
        self.pupils[number] = pupil
        self._changed.add(number)
        return number

    def strike(self, number: int) -> None:
        """Know a pupil no more; called by what is asked."""
        self.changing = number
        del self.pupils[number]

    def all_is_kept(self) -> None:
        """Take note that the journal and its states are those of the pupils, and nothing waits."""
        self._accepted = self._journal.last.sequence
        self._changed.clear()

    def close(self) -> None:
        """Do what waits, and write it down."""
        self._inbox.close()
        self._thread.join()
        self._scribe.close()

    def _change(self, pupil: Pupil, change: Change) -> tuple[Told, Entry | None]:
        change = change.in_order(pupil.learner.feature_names)
        before = self._keys.answer(change)
        if before is not None:
            return before, None
        self.changing = change.learner
        return self._noted(change, pupil.happen(change.event, draws=False))

    def _noted(self, change: Change, told: Told) -> tuple[Told, Entry]:
        """Take note of what has happened, and return how it is to be written."""
        number, event, parts = change.learner, change.event, change.parts
        self._changed.add(number)
        self._since += n_rows(event)
        if change.key:
            self._keys.keep(change, told)
            parts = [*parts, told.to_json()]
        return told, Entry(number, event.kind, about_it(event, told.first), parts, change.key)

    def _learn(self) -> None:
        while True:
            asked: list[Asked] = []
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

    def _do_all(self, asked: list[Asked]) -> None:
        for run in runs(asked):
            if run[0].alone:
                self._put_group(waits=True)
            n_done = self._observe_together(run) if len(run) > 1 else 0
            for one in run[n_done:]:
                self._do(one)
        round_is_due = self._since >= self._every and not self._doubtful
        if round_is_due:
            self._since = 0
            states = {i: one.to_bytes() for i, one in self.pupils.items() if i in self._changed}
            self._group.states.update(states)
            self._group.alive.update(self.pupils)
            self._changed.clear()
        self._put_group()
        if round_is_due and self._retain is not None:
            self._scribe.wait()
            self._drop(self._retain)

    def _do(self, one: Asked) -> None:
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

    def _observe_together(self, run: list[Asked]) -> int:
        """Observe all blocks of a run at once; return how many are done, the first of the run."""
        changes = [one.change for one in run if one.change is not None]
        n_before = len(self._group.done)
        try:
            pupil = self.pupils.get(changes[0].learner)
            if self._doubtful or pupil is None or any(map(self._keys.know, changes)):
                return 0
            blocks = [change.event for change in changes if isinstance(change.event, Observe)]
            self.changing = changes[0].learner
            all_told = pupil.observe_together(blocks)
            for one, change, told in zip(run, changes, all_told, strict=False):
                self._to_be_written(one, *self._noted(change, told))
            self.changing = None
        except Exception as error:
            self._take_note(error)
        return len(self._group.done) - n_before

    def _to_be_written(self, one: Asked, answer: Any, entry: Entry | None) -> None:
        self._accepted += entry is not None
        self._group.done.append((one.answer, answer, entry))
        if entry is not None and entry.kind != DELETE and not self.pupils[entry.learner].draw():
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

    def _usable(self, learner: int | None) -> Pupil | dict[int, Pupil]:
        """Return a pupil, or all, when sure that they are right; raise why not."""
        wanted = self._doubtful if learner is None else self._doubtful & {learner}
        if wanted or self._scribe.is_interrupted:
            self._restore(wanted)
        if refusal := self._scribe.refusal():
            raise refusal
        if self._doubtful & wanted:
            raise UnfinishedError("a learner cannot be rebuilt from the journal")
        return self.pupils if learner is None else known(self.pupils, learner)

    def _restore(self, wanted: set[int]) -> None:
        """Write again, and make learners that are in doubt as the journal has them."""
        self._put_group(waits=True)
        self._journal.catch_up()
        self._keys = self._scribe.keys = Keys(self._journal)
        self._accepted = self._journal.last.sequence
        self._changed.update(self.pupils)  # the last round may be half kept: the next has all
        unwritten = [group.done for group in self._handed_over if not group.is_written]
        wanted |= {entry.learner for done in unwritten for *_, entry in done if entry is not None}
        self._doubtful |= wanted
        self._handed_over.clear()
        self._scribe.is_interrupted = False
        for number in sorted(wanted):
            try:
                pupils = remade(self._journal, self.snapshots, number, self._accepted + 1)
                self.pupils.pop(number, None)
                self.pupils.update(pupils)
                self._changed.add(number)
                self._doubtful.discard(number)
                LOGGER.warning("a learner was rebuilt from the journal")
                self.when_rebuilt()
            except Exception as error:
                LOGGER.error("a learner was not rebuilt", exc_info=error)

    def _drop(self, seconds: float) -> None:
        if self._scribe.failed is None:
            try:
                let_go_of_the_old(self._journal, self.snapshots, seconds)
            except (DiskError, DamagedError) as error:
                self._scribe.fail(error)


def known(pupils: dict[int, Pupil], number: int) -> Pupil:
    """Return a pupil by its number.

    Raises
    ------
    NoLearnerError
    """
    if number not in pupils:
        raise NoLearnerError(f"there is no learner {number} any more.")
    return pupils[number]
