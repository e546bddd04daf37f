"""A learner meets a stream: it is given rows and labels as they fall due, and never the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Ints
from paper.datasets.dataset import OUTSIDER
from paper.evaluation.streams import NEVER, Stream

NOBODY = -1  # said where a learner abstains
CHUNK = 256  # examples between two looks at the clock


class Answers(Protocol):
    """What a learner says of some rows: labels, None where it abstains, and how sure it is."""

    @property
    def label(self) -> NDArray[np.object_]:
        """One a row."""

    @property
    def confidence(self) -> Floats:
        """One a row, from 0 to 1."""


class StreamLearner(Protocol):
    """What can be evaluated: `OnlineLearner`, and every baseline.

    One that has `online = False` is given what is taught at its own step first, and then all other
    rows in one call; labels that are told late come too late for it.
    """

    def teach(self, X: Floats, labels: list[int]) -> Any:
        """Learn labelled rows."""

    def observe(self, X: Floats) -> Any:
        """Answer rows, in order, and learn from them."""


@dataclass(frozen=True)
class Outcome:
    """What a learner said of the examples that it was asked about, in order.

    Attributes
    ----------
    truth : array of int
        Class of each, or `OUTSIDER`.
    said : array of int
        The class it named, or `NOBODY`.
    confidence : array
        How sure it was, 0 where it abstained.
    seconds : array
        How long each took; an average over the call it was answered in.
    nbytes : int
        Memory of the learner's arrays at the end.
    """

    truth: Ints
    said: Ints
    confidence: Floats
    seconds: Floats
    nbytes: int

    @property
    def right(self) -> Bools:
        """Which were named rightly; of outsiders, those that were not named."""
        return np.asarray(self.said == self.truth)

    @property
    def answered(self) -> Bools:
        """Which were named at all."""
        return np.asarray(self.said != NOBODY)

    @property
    def known(self) -> Bools:
        """Which belong to a class."""
        return np.asarray(self.truth != OUTSIDER)


class _Step(NamedTuple):
    teach: bool
    examples: Ints


def evaluate(
    learner: StreamLearner, stream: Stream, watch: Callable[[int], None] | None = None
) -> Outcome:
    """Let a learner meet a stream.

    Parameters
    ----------
    learner : OnlineLearner or a baseline
        New: nothing was taught yet.
    stream : Stream
    watch : function, optional
        Called now and then with the number of examples done.

    Returns
    -------
    outcome : Outcome
        Of the examples that were answered, in the order of the stream.

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> from paper.evaluation import labels_first
    >>> stream = labels_first([[0.0], [9.0], [0.5], [8.5], [1.0]], [0, 1, 0, 1, 0], per_class=1)
    >>> outcome = evaluate(OnlineLearner(10), stream)
    >>> outcome.said, outcome.right
    (array([0, 1, 0]), array([ True,  True,  True]))
    """
    if not stream.answered.any():
        raise ValueError("stream leaves no example to be answered. Teach fewer: lower per_class.")
    said = np.full(len(stream), NOBODY, dtype=np.int64)
    confidence, seconds, done = np.zeros(len(stream)), np.zeros(len(stream)), 0
    for step in _steps(stream) if getattr(learner, "online", True) else _all_at_once(stream):
        rows = stream.rows[step.examples]
        if step.teach:
            learner.teach(rows, stream.truth[step.examples].tolist())
            continue
        begun = perf_counter()
        answers: Answers = learner.observe(rows)
        seconds[step.examples] = (perf_counter() - begun) / len(rows)
        if len(answers.label) != len(rows):
            raise ValueError(
                f"learner={type(learner).__name__} gave {len(answers.label)} answers to "
                f"{len(rows)} rows. Let observe return a label, or None, for each row."
            )
        said[step.examples] = [NOBODY if label is None else label for label in answers.label]
        confidence[step.examples] = np.where(said[step.examples] < 0, 0.0, answers.confidence)
        done += len(rows)
        if watch is not None:
            watch(done)
    asked = stream.answered
    return Outcome(
        truth=stream.truth[asked],
        said=said[asked],
        confidence=confidence[asked],
        seconds=seconds[asked],
        nbytes=int(getattr(learner, "nbytes", 0)),
    )


def _steps(stream: Stream) -> Iterator[_Step]:
    """What happens one after another; a label that is late is taught before the row of its step."""
    late: dict[int, list[int]] = {}
    for i in np.flatnonzero(stream.answered & (stream.told_at != NEVER)):
        late.setdefault(int(stream.told_at[i]), []).append(int(i))
    turns = np.flatnonzero(np.diff(stream.answered)) + 1
    cuts = {0, len(stream), *turns.tolist(), *late, *range(0, len(stream), CHUNK)}
    for start, end in pairwise(sorted(cuts)):
        if start in late:
            yield _Step(True, np.array(late[start]))
        yield _Step(not stream.answered[start], np.arange(start, end))


def _all_at_once(stream: Stream) -> Iterator[_Step]:
    asked = stream.answered
    yield _Step(True, np.flatnonzero(~asked))
    yield _Step(False, np.flatnonzero(asked))
