"""A shared learner fed by several partitions: each answers at once, and hands over now and then.

How old an answer may be is stated in rows. A partition hands over before it has taken more than
`every` rows since it last did, and at once after labels. It takes no row while more than twice
`every` of its rows are not in a model: `every` on their way to the centre, and `every` since. It
asks for the newest model before each block. So, at the moment when it asks, the model that answers
lacks

- of this partition: the rows since the last hand-over that the model has, at most 2 `every`, the
  block itself included;
- of each other partition: at most 2 `every` of the rows it has taken;
- of labels: those of hand-overs that are on their way; a label is in the first model whose making
  begins after it was handed over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from labelwalk.arrays import Floats, Label
from labelwalk.distributed.budget import Budget
from labelwalk.distributed.centre import Handed, News
from labelwalk.distributed.keyed import GapError
from labelwalk.distributed.sketching import Sketching
from labelwalk.parameters import check_whole, shown
from labelwalk.rows import as_labels, as_rows
from labelwalk.verdicts import Verdicts, blank_answers, decide


@dataclass(frozen=True)
class Answered:
    """What a model says of a block of rows, and how much that model may lack.

    Attributes
    ----------
    verdicts : Verdicts
    version : int
        How many rows the model has learned from; 0 where there was none, and nothing is answered.
    lag : int
        So many rows, at most, were taken by all partitions together and are not in it: those of
        this partition, counted, the block itself included, and twice `every` of each other.
    """

    verdicts: Verdicts
    version: int
    lag: int


class Promise(Protocol):
    """Something that will be done: a `concurrent.futures.Future`, for one."""

    def done(self) -> bool:
        """Say whether it is."""

    def result(self) -> int:
        """Wait for it, and return up to where the partition is kept."""


class Way(Protocol):
    """How a partition reaches the centre."""

    def start(self, name: str) -> Handed:
        """Return what is kept of a partition."""

    def send(self, handed: Handed) -> Promise:
        """Hand over, and do not wait."""

    def news(self, version: int) -> News:
        """Return the newest model, without it where this version is known."""


class Partition:
    """One partition: its sketch in the making, the model it answers from, what is on its way.

    Parameters
    ----------
    name : str
    way : Way
    budget : Budget
    every : int
    abstain_below : float
    """

    def __init__(
        self, name: str, way: Way, budget: Budget, every: int, abstain_below: float
    ) -> None:
        begun = way.start(name)
        self._name, self._way, self._every = name, way, every
        self._abstain_below = abstain_below
        self._sketching = Sketching(budget, begun.sketch)
        self._news = News(-1, {}, None)
        self._sent: deque[Promise] = deque()
        self.position = self.kept = self._given = begun.position

    def observe(self, rows: Any, position: int) -> Answered:
        """Answer rows from the newest model, and take in those that were not taken before."""
        checked, done = self._checked(rows, position)
        self._make_room(len(checked) - done)
        self._ask()
        model = self._news.model
        if model is None:
            verdicts = decide(blank_answers(len(checked), 0), (), self._abstain_below)
        else:
            verdicts = model.label(checked)
        self._take(checked[done:], None)
        positions = self._news.positions
        others = 2 * self._every * (len(positions) - 1)
        own = max(0, self.position - positions[self._name])  # one lost before may be ahead
        return Answered(verdicts, self._news.version, own + others)

    def teach(self, rows: Any, labels: Label | Iterable[Label], position: int) -> None:
        """Take in rows with labels that were not taken before, and hand over at once."""
        checked, done = self._checked(rows, position)
        names = _words(labels, len(checked))
        if done < len(checked):
            self._make_room(len(checked) - done)
            self._take(checked[done:], names[done:])
        self._hand_over()  # of a block that is given again too: it may have failed before

    def hear(self) -> None:
        """Take note of what has reached the centre."""
        while self._sent and self._sent[0].done():
            self._wait()

    def keep(self) -> None:
        """Hand over, and wait until that is in a model."""
        self._hand_over()
        self._wait_for(self.position)

    def _checked(self, rows: Any, position: int) -> tuple[Floats, int]:
        """Return rows of numbers, and how many of them were taken before."""
        self.hear()
        checked, _ = as_rows(rows, self._n_features)
        if len(checked) > self._every:
            raise ValueError(
                f"{len(checked)} rows at once are more than every={self._every}. Give fewer at "
                "once, or hand over less often."
            )
        check_whole("position", position, "0", least=0)
        if position > self.position:
            raise GapError(self._name, self.position, position)
        return checked, min(len(checked), self.position - position)

    @property
    def _n_features(self) -> int | None:
        model = self._news.model
        return self._sketching.n_features if model is None else model.frozen.solved.points.shape[1]

    def _make_room(self, n: int) -> None:
        """See to it that n rows more are not too many, for a hand-over and for the model."""
        if self.position + n - self._given > self._every:
            self._hand_over()
        self._wait_for(self.position + n - 2 * self._every)

    def _ask(self) -> None:
        news = self._way.news(self._news.version)
        if news.version > self._news.version:
            self._news = news

    def _take(self, rows: Floats, labels: list[str] | None) -> None:
        if len(rows):
            self._sketching.take(rows, labels)
            self.position += len(rows)

    def _hand_over(self) -> None:
        if self.position > self._given:
            handed = Handed(self._name, self.position, self._sketching.sketch())
            self._sent.append(self._way.send(handed))
            self._given = self.position

    def _wait_for(self, position: int) -> None:
        while self.kept < position:
            self._wait()

    def _wait(self) -> None:
        """Wait for the oldest hand-over that is on its way."""
        try:
            self.kept = max(self.kept, self._sent.popleft().result())
        except BaseException:
            self._given = self.kept  # so that it is handed over again
            raise


def _words(labels: Label | Iterable[Label], n: int) -> list[str]:
    """Return n labels, which are strings here: sketches know no others."""
    names = as_labels(labels, n)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"labels holds {shown(name)}, no string. Convert it: str(label).")
    return [str(name) for name in names]
