"""Who owns all learners: does what is asked in order, and answers when it is on the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, NamedTuple

from labelwalk.arrays import Label
from labelwalk.learner import OnlineLearner
from labelwalk.service.backup import back_up
from labelwalk.service.changes import Asked, Change, runs
from labelwalk.service.database import DamagedError, DiskError
from labelwalk.service.erasing import Unwanted
from labelwalk.service.events import Happening, Observe, Rows, about_it, written
from labelwalk.service.inbox import Inbox
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.keys import Keys
from labelwalk.service.oblivion import Erased, check_known, erase
from labelwalk.service.pupil import Pupil, Told, n_rows
from labelwalk.service.replay import CREATE, DELETE, restored
from labelwalk.service.retention import let_go_of_the_old
from labelwalk.service.scribe import Group, Scribe
from labelwalk.service.snapshots import Snapshots
from labelwalk.service.timing import Timing
from labelwalk.service.witness import Seen

WAITING = 20_000  # examples at most, before more are refused
FULL = 0.9  # of them: who brings more is turned away
AT_ONCE = 128  # examples that go to the disk together, at most, unless they came together
PRESSED = 32  # or this part of all that wait, where they are many
EVERY = 20_000  # examples between two rounds of snapshots: a second of replay, or less


class NoLearnerError(LookupError):
    """There is no such learner."""


class NameTakenError(ValueError):
    """There is a learner of that name."""


class Standing(NamedTuple):
    """How it stands: events on the disk, examples waiting, disk failed, past damaged; and learners.

    Of each learner: examples, vertices, outliers, classes.
    """

    values: tuple[int, int, int, int]
    learners: dict[str, tuple[int, int, int, int]]


class Keeper:
    """All learners of a folder.

    One thread lets things happen to learners, another writes them down. An answer is given when
    all that came before it is on the disk, so nothing is told that could be lost; but predictions,
    which promise nothing, do not wait.

    Parameters
    ----------
    folder : str
    every : int
        Examples between two rounds of snapshots.
    retain : float, optional
        Seconds for which events are kept at least, so that they can be erased; the learners stay.
        None: for ever.

    Attributes
    ----------
    damage : str or None
        What was found spoilt in what a start does not need: learners are right, the past is not.
    timing : Timing
        How long changes took until they were answered.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.service.events import Observe, Teach
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keeper = Keeper(folder)
    ...     one = keeper.create("first", OnlineLearner(50)).result()
    ...     _ = keeper.change(one, Teach(np.array([[0.0], [9.0]]), ("low", "high")))
    ...     print(keeper.change(one, Observe(np.array([[1.0]]))).result().columns["label"])
    ...     keeper.close()
    ...     again = Keeper(folder)
    ...     print(again.look(one, lambda pupil: pupil.learner.n_seen).result())
    ...     again.close()
    ['low']
    3
    """

    def __init__(self, folder: str, *, every: int = EVERY, retain: float | None = None) -> None:
        self.timing = Timing()
        self._journal = Journal(folder)
        try:
            self._snapshots = Snapshots(self._journal)
            self._pupils = restored(self._journal, self._snapshots)
            self._keys = Keys(self._journal)
        except BaseException:
            self._journal.close()
            raise
        self._every, self._since, self._changed = every, 0, set[int]()
        self._retain = retain
        self._closing, self._copying = False, threading.Lock()
        self._accepted = self._journal.last.sequence  # events, written or on their way
        self._scribe = Scribe(self._journal, self._snapshots, self._keys)
        self._inbox: Inbox[Asked] = Inbox(WAITING, held=self._scribe.is_behind)
        self._scribe.when_written = self._inbox.wake
        self._thread = threading.Thread(target=self._learn, name="learn", daemon=True)
        self._thread.start()
        self.damage: str | None = None
        ends = self._journal.anchor(), self._journal.last
        threading.Thread(target=self._look_through, args=ends, daemon=True).start()

    @property
    def failure(self) -> str | None:
        """Why nothing is accepted any more; None where all is well."""
        return None if self._scribe.failed is None else str(self._scribe.failed)

    def number(self, name: str) -> int:
        """Return the number of the learner of a name.

        Raises
        ------
        NoLearnerError
        """
        for number, pupil in tuple(self._pupils.items()):
            if pupil.name == name:
                return number
        raise NoLearnerError(f"there is no learner {name!r}. Create it first, or look at the list.")

    def classes(self, name: str) -> tuple[Label, ...]:
        """Return the classes of a learner in their order; new ones come last."""
        return self._pupils[self.number(name)].learner.classes

    def create(self, name: str, learner: OnlineLearner) -> Future[int]:
        """Take in a learner under a name; the answer is its number, that of the event."""

        def do(pupils: dict[int, Pupil]) -> tuple[int, Entry]:
            if any(pupil.name == name for pupil in pupils.values()):
                raise NameTakenError(f"there is a learner {name!r} already. Choose another name.")
            number, pupil = self._accepted + 1, Pupil(name, learner)
            pupils[number] = pupil
            self._changed.add(number)
            return number, Entry(number, CREATE, "{}", [pupil.to_bytes()])

        return self._ask(do, 1)

    def delete(self, number: int) -> Future[None]:
        """Strike out a learner."""

        def do(pupils: dict[int, Pupil]) -> tuple[None, Entry]:
            _known(pupils, number)
            del pupils[number]
            self._changed.discard(number)
            return None, Entry(number, DELETE, "{}", [])

        return self._ask(do, 1)

    def change(self, number: int, event: Happening, key: str = "") -> Future[Any]:
        """Let something happen to a learner; the answer is a `Told`.

        Parameters
        ----------
        number : int
        event : Happening
        key : str, optional
            By which a repetition is known: it gets the same answer, and nothing happens again.
        """
        change = Change(number, event, written(event), key)
        answer = self._ask(
            lambda pupils: self._change(_known(pupils, number), change),
            max(1, n_rows(event)),
            change=change,
        )
        self.timing.begin(answer)
        return answer

    def erase(
        self, number: int, *, label: Label | None = None, examples: Collection[int] = ()
    ) -> Future[Erased]:
        """Make a class or some examples as if they had never been; all others wait meanwhile.

        Parameters
        ----------
        number : int
        label : str or int, optional
            A class, with all examples that were taught as it.
        examples : collection of int, optional
            Examples by their numbers.
        """
        unwanted = Unwanted(number, label, frozenset(examples))

        def do(pupils: dict[int, Pupil]) -> tuple[Erased, None]:
            check_known(_known(pupils, number), unwanted)
            with self._copying:  # else a copy could be made of what is being erased
                answer = erase(self._journal, self._snapshots, pupils, unwanted)
            self._accepted = self._journal.last.sequence
            self._changed.clear()
            return answer, None

        return self._ask(do, 1, alone=True)

    def predict(self, number: int, rows: Rows) -> Future[Told]:
        """Answer examples without learning, by all that has happened, on the disk or not yet."""
        return self._ask(
            lambda pupils: (_known(pupils, number).predict(rows), None), len(rows), at_once=True
        )

    def look(self, number: int, question: Callable[[Pupil], Any]) -> Future[Any]:
        """Ask something that changes nothing."""
        return self._ask(lambda pupils: (question(_known(pupils, number)), None), 1)

    def look_at_all(self, question: Callable[[dict[int, Pupil]], Any]) -> Future[Any]:
        """Ask something of all learners that changes nothing."""
        return self._ask(lambda pupils: (question(pupils), None), 1)

    def back_up(self) -> str:
        """Write a copy of all that is on the disk, and return its name; others go on meanwhile."""
        with self._copying:
            return back_up(self._journal)

    def standing(self) -> Standing:
        """Return how it stands, at once and without waiting for anything."""
        learners = {}
        for pupil in tuple(self._pupils.values()):
            one = pupil.learner
            learners[pupil.name] = (
                pupil.n_numbered,
                one.n_vertices,
                one.n_outliers,
                len(one.classes),
            )
        failed, damaged = int(self._scribe.failed is not None), int(self.damage is not None)
        events = self._journal.last.sequence
        return Standing((events, self._inbox.weight, failed, damaged), learners)

    def is_full(self) -> bool:
        """Return, at once, whether hardly anything more can wait."""
        return self._inbox.weight > FULL * WAITING

    def n_changes(self) -> dict[int, int]:
        """Return how many events have happened to each learner, at once; some may not be written.

        So whoever watches learns that there is something new, and asks for it.
        """
        return {number: pupil.n_changes for number, pupil in tuple(self._pupils.items())}

    def close(self) -> None:
        """Do what waits, write it down, and let go of the folder."""
        self._closing = True
        self._inbox.close()
        self._thread.join()
        self._scribe.close()
        self._journal.close()

    def _ask(self, do: Callable[..., Any], weight: int, **more: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        answer.set_running_or_notify_cancel()  # who asked may leave, but nothing is taken back
        asked = Asked(do, answer, **more)
        self._inbox.put(asked, weight, ahead=asked.at_once)
        return answer

    def _change(self, pupil: Pupil, change: Change) -> tuple[Told, Entry | None]:
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
            group.states.update((i, self._pupils[i].to_bytes()) for i in self._changed)
            group.alive.update(self._pupils)
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
            answer, entry = one.do(self._pupils)
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
        pupil = self._pupils.get(changes[0].learner)
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
                let_go_of_the_old(self._journal, self._snapshots, seconds)
            except (DiskError, DamagedError) as error:
                self._scribe.fail(error)

    def _look_through(self, anchor: Seen, end: Seen) -> None:
        """Prove what a start does not need: all events before the last round."""
        try:
            for event in self._journal.events():
                if event.sequence >= end.sequence or self._closing:
                    return
        except DamagedError as error:
            if not self._closing and self._journal.anchor() == anchor:  # else it has been let go
                self.damage = str(error)


def _known(pupils: dict[int, Pupil], number: int) -> Pupil:
    if number not in pupils:
        raise NoLearnerError(f"there is no learner {number} any more.")
    return pupils[number]
