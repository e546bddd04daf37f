"""Who owns the learners of a folder: all that can be asked of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, NamedTuple

from labelwalk.arrays import Bools, Label
from labelwalk.learner import OnlineLearner
from labelwalk.service.backup import back_up
from labelwalk.service.commands import Command, LearnerCommand, Note, Rows, encode_command
from labelwalk.service.database import DamagedError
from labelwalk.service.encryption import Cipher
from labelwalk.service.erasure import ErasureRequest, ErasureResult, check_known, erase
from labelwalk.service.journal import Entry, Journal, JournalPosition
from labelwalk.service.managed_learner import CommandResult, ManagedLearner
from labelwalk.service.metrics import WriteLatency
from labelwalk.service.snapshots import CREATE, DELETE
from labelwalk.service.worker import LearnerWorker, NoLearnerError, known

EVERY = 20_000  # examples between two rounds of snapshots: a second of replay, or less


class NameTakenError(ValueError):
    """There is a learner of that name."""


class Standing(NamedTuple):
    """How it stands: events on the disk, examples waiting, disk failed, past damaged; and learners.

    Of each learner: examples, vertices, outliers, classes.
    """

    values: tuple[int, int, int, int]
    learners: dict[str, tuple[int, int, int, int]]


class LearnerStore:
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
    passphrase : str, optional
        That of the folder, which is encrypted with it; one that is new takes it as its own.

    Attributes
    ----------
    damage : str or None
        What was found spoilt in what a start does not need: learners are right, the past is not.
    timing : WriteLatency
        How long changes took until they were answered.
    when_lessened : function
        Called when something was erased, or a learner struck out or rebuilt: for whoever keeps
        more of examples than we do.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.service.commands import Observe, Teach
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = LearnerStore(folder)
    ...     one = store.create("first", OnlineLearner(50)).result()
    ...     _ = store.submit(one, Teach(np.array([[0.0], [9.0]]), ("low", "high")))
    ...     print(store.submit(one, Observe(np.array([[1.0]]))).result().columns["label"])
    ...     store.close()
    ...     again = LearnerStore(folder)
    ...     print(again.look(one, lambda managed: managed.learner.n_seen).result())
    ...     again.close()
    ['low']
    3
    """

    def __init__(
        self,
        folder: str,
        *,
        every: int = EVERY,
        retain: float | None = None,
        passphrase: str | None = None,
    ) -> None:
        self.timing = WriteLatency()
        self.when_lessened: Callable[[], None] = _nothing
        self._journal = Journal(folder, passphrase)
        try:
            ends = self._journal.anchor(), self._journal.last
            self._learning = LearnerWorker(self._journal, every=every, retain=retain)
            self._learning.when_rebuilt = lambda: self.when_lessened()
        except BaseException:
            self._journal.close()
            raise
        self._closing, self._copying = False, threading.Lock()
        self.damage: str | None = None
        threading.Thread(target=self._look_through, args=ends, daemon=True).start()

    @property
    def cipher(self) -> Cipher:
        """What the contents of the folder are locked by."""
        return self._journal.cipher

    @property
    def failure(self) -> str | None:
        """Why nothing is accepted any more; None where all is well."""
        return None if self._learning.failed is None else str(self._learning.failed)

    def find_id(self, name: str) -> int:
        """Return the number of the learner of a name.

        Raises
        ------
        NoLearnerError
        """
        for number, managed in tuple(self._learning.learners.items()):
            if managed.name == name:
                return number
        self._learning.check_missing()
        raise NoLearnerError(f"there is no learner {name!r}. Create it first, or look at the list.")

    def get_classes(self, name: str) -> tuple[Label, ...]:
        """Return the classes of a learner in their order; new ones come last."""
        return self._learning.learners[self.find_id(name)].learner.classes

    def create(
        self, name: str, learner: OnlineLearner, notes: dict[str, Any] | None = None
    ) -> Future[int]:
        """Take in a learner under a name, with what is noted of it; the answer is its number.

        That is the number of the event.
        """

        def do(learners: dict[int, ManagedLearner]) -> tuple[int, Entry]:
            if any(managed.name == name for managed in learners.values()):
                raise NameTakenError(f"there is a learner {name!r} already. Choose another name.")
            managed = ManagedLearner(name, learner, notes=notes or {})
            content = managed.to_bytes()  # before anything has happened
            number = self._learning.take_in(managed)
            return number, Entry(number, CREATE, "{}", [content])

        return self._learning.ask(do, 1)

    def delete(self, number: int) -> Future[None]:
        """Strike out a learner."""

        def do(managed: ManagedLearner) -> tuple[None, Entry]:
            self._learning.strike(number)
            return None, Entry(number, DELETE, "{}", [])

        answer: Future[None] = self._learning.ask(do, 1, learner=number)
        answer.add_done_callback(lambda _: self.when_lessened())
        return answer

    def submit(self, number: int, event: Command, key: str = "") -> Future[Any]:
        """Let something happen to a learner; the answer is a `CommandResult`.

        Parameters
        ----------
        number : int
        event : Command
        key : str, optional
            By which a repetition is known: it gets the same answer, and nothing happens again.
        """
        change = LearnerCommand(number, event, encode_command(event), key)
        answer = self._learning.change(change)
        self.timing.start(answer)
        return answer

    def update_notes(self, number: int, notes: dict[str, Any]) -> Future[Any]:
        """Keep with a learner what JSON can hold."""
        return self.submit(number, Note(notes))

    def erase(
        self,
        number: int,
        *,
        label: Label | None = None,
        examples: Collection[int] = (),
        belongs: Callable[[ManagedLearner, Rows], Bools] | None = None,
    ) -> Future[ErasureResult]:
        """Make a class or some examples as if they had never been; all others wait meanwhile.

        Parameters
        ----------
        number : int
        label : str or int, optional
            A class, with all examples that were taught as it.
        examples : collection of int, optional
            Examples by their numbers.
        belongs : function, optional
            Says of rows that were observed, and not taught as another class since, which are to go
            too; it is given the learner as it was before.
        """
        asked = ErasureRequest(number, label, frozenset(examples))

        def do(learners: dict[int, ManagedLearner]) -> tuple[ErasureResult, None]:
            managed, unwanted = known(learners, number), asked
            managed.check_writable()
            if belongs is None or label is not None:
                check_known(managed, unwanted)
            if belongs is not None:
                unwanted = replace(asked, belongs=lambda rows: belongs(managed, rows))
            self._learning.changing = number
            with self._copying:  # else a copy could be made of what is being erased
                answer = erase(self._journal, self._learning.snapshots, learners, unwanted)
            self._learning.all_is_kept()
            self.when_lessened()
            return answer, None

        return self._learning.ask(do, 1, alone=True)

    def predict(self, number: int, rows: Rows) -> Future[CommandResult]:
        """Answer examples without learning, by all that has happened, on the disk or not yet."""
        return self._learning.ask(
            lambda managed: (managed.predict(rows), None), len(rows), learner=number, at_once=True
        )

    def get(self, number: int) -> ManagedLearner:
        """Return a learner to glance at: things go on happening to it meanwhile.

        Raises
        ------
        NoLearnerError
        """
        if number not in self._learning.learners:
            self._learning.check_missing()
        return known(self._learning.learners, number)

    def query(
        self, number: int, question: Callable[[ManagedLearner], Any], *, at_once: bool = False
    ) -> Future[Any]:
        """Ask something that changes nothing.

        Parameters
        ----------
        number : int
        question : function of the learner
        at_once : bool
            Whether to answer by all that has happened, on the disk or not yet.
        """
        return self._learning.ask(
            lambda managed: (question(managed), None), 1, learner=number, at_once=at_once
        )

    def query_all(self, question: Callable[[dict[int, ManagedLearner]], Any]) -> Future[Any]:
        """Ask something of all learners that changes nothing."""
        return self._learning.ask(lambda learners: (question(learners), None), 1)

    def back_up(self) -> str:
        """Write a copy of all that is on the disk, and return its name; others go on meanwhile."""
        with self._copying:
            return back_up(self._journal)

    def get_status(self) -> Standing:
        """Return how it stands, at once and without waiting for anything."""
        learners = {}
        for managed in tuple(self._learning.learners.values()):
            one = managed.learner
            learners[managed.name] = (
                managed.next_example_id,
                one.n_vertices,
                one.n_outliers,
                len(one.classes),
            )
        failed, damaged = int(self._learning.failed is not None), int(self.damage is not None)
        events = self._journal.last.sequence
        return Standing((events, self._learning.n_waiting, failed, damaged), learners)

    def is_full(self) -> bool:
        """Return, at once, whether hardly anything more can wait."""
        return self._learning.is_full()

    def count_changes(self) -> dict[int, int]:
        """Return how many events have happened to each learner, at once; some may not be written.

        So whoever watches learns that there is something new, and asks for it.
        """
        return {
            number: managed.n_changes for number, managed in tuple(self._learning.learners.items())
        }

    def close(self) -> None:
        """Do what waits, write it down, and let go of the folder."""
        self._closing = True
        self._learning.close()
        self._journal.close()

    def _look_through(self, anchor: JournalPosition, end: JournalPosition) -> None:
        """Prove what a start does not need: all events before the last round."""
        try:
            for event in self._journal.events():
                if event.sequence >= end.sequence or self._closing:
                    return
        except DamagedError as error:
            if not self._closing and self._journal.anchor() == anchor:  # else it has been let go
                self.damage = str(error)


def _nothing() -> None:
    """Do nothing: nobody keeps more."""
