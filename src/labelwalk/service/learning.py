"""The thread in which things happen to learners, one after the other, on their way to the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from labelwalk.service.changes import Asked, Change, runs
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.events import Observe, about_it
from labelwalk.service.inbox import Inbox
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.keys import Keys
from labelwalk.service.pupil import Pupil, Told, n_rows
from labelwalk.service.replay import restored
from labelwalk.service.retention import let_go_of_the_old
from labelwalk.service.scribe import Group, Scribe
from labelwalk.service.snapshots import Snapshots

WAITING = 20_000  # examples at most, before more are refused
FULL = 0.9  # of them: who brings more is turned away
AT_ONCE = 128  # examples that go to the disk together, at most, unless they came together
PRESSED = 32  # or this part of all that wait, where they are many


class NoLearnerError(LookupError):
    """There is no such learner."""


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
    """

    def __init__(self, journal: Journal, *, every: int, retain: float | None) -> None:
        self._journal, self._every, self._retain = journal, every, retain
        self.snapshots = Snapshots(journal)
        self.pupils = restored(journal, self.snapshots)
        self._since, self._changed = 0, set[int]()
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
        """Have something done with the pupils in its turn.

        Parameters
        ----------
        do : function of the pupils
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
            lambda pupils: self._change(known(pupils, change.learner), change),
            max(1, n_rows(change.event)),
            change=change,
        )

    def take_in(self, pupil: Pupil) -> int:
        """Give a pupil the number of the event that is next; called by what is asked."""
        number = self._accepted + 1
        self.pupils[number] = pupil
        self._changed.add(number)
        return number

    def strike(self, number: int) -> None:
        """Know a pupil no more; called by what is asked."""
        known(self.pupils, number)
        del self.pupils[number]
        self._changed.discard(number)

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
        return self._noted(change, pupil.happen(change.event))

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
        while asked := self._inbox.take(max(AT_ONCE, self._inbox.weight // PRESSED)):
            try:
                self._do_all(asked)
            except Exception as error:  # nobody expected it: what is in memory may not be right
                self._scribe.wait()
                self._scribe.fail(error)
                for one in asked:
                    if not one.answer.done():
                        one.answer.set_exception(self._scribe.refusal())

    def _do_all(self, asked: list[Asked]) -> None:
        group = Group()
        for run in runs(asked):
            if run[0].alone:
                self._scribe.put(group)
                self._scribe.wait()
                group = Group()
            if len(run) == 1 or not self._observe_together(run, group):
                for one in run:
                    self._do(one, group)
        round_is_due = self._since >= self._every
        if round_is_due:
            group.states.update((i, self.pupils[i].to_bytes()) for i in self._changed)
            group.alive.update(self.pupils)
            self._since = 0
            self._changed.clear()
        self._scribe.put(group)
        if round_is_due and self._retain is not None:
            self._scribe.wait()
            self._drop(self._retain)

    def _do(self, one: Asked, group: Group) -> None:
        try:
            if refusal := self._scribe.refusal():
                raise refusal
            answer, entry = one.do(self.pupils)
        except Exception as error:
            if one.alone and isinstance(error, DiskError | DamagedError):
                self._scribe.fail(error)
            one.answer.set_exception(error)
            return
        if one.at_once:
            one.answer.set_result(answer)
        else:
            self._to_be_written(one, answer, entry, group)

    def _observe_together(self, run: list[Asked], group: Group) -> bool:
        """Observe all blocks of a run at once; where it cannot be, nothing has happened."""
        changes = [one.change for one in run if one.change is not None]
        pupil = self.pupils.get(changes[0].learner)
        if self._scribe.failed or pupil is None or any(map(self._keys.know, changes)):
            return False
        blocks = [change.event for change in changes if isinstance(change.event, Observe)]
        all_told = pupil.observe_together(blocks)
        for one, change, told in zip(run, changes, all_told, strict=False):
            self._to_be_written(one, *self._noted(change, told), group)
        return bool(all_told)

    def _to_be_written(self, one: Asked, answer: Any, entry: Entry | None, group: Group) -> None:
        group.answers.append((one.answer, answer))
        if entry is not None:
            group.entries.append(entry)
            self._accepted += 1

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
