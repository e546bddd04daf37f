"""Verdicts: a label with a confidence and a proven bound, or "I don't know"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Ints, Label, SmallInts
from labelwalk.kernels.answer import NO_CLASS, KernelAnswers


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The answer to one example.

    Attributes
    ----------
    label : str, int or None
        The most probable class; None if the learner abstains.
    confidence : float
        The score of that class, or of the best one if the learner abstains.
    probabilities : array
        Probability of each class, in the order of `learner.classes`. They sum to 1 minus `sink`.
    scores : array
        The values by which classes are compared: their probabilities, unless there is a fallback or
        a prior. The fallback adds the probability of the sink, divided by the number of classes
        plus one, to the class of the nearest label. A prior reduces the scores of classes that
        exceed their share of the stream. With `calibrate`, all are raised to the power that best
        predicts left-out labels.
    outlier : bool
        Whether the example is similar to no vertex.
    bound : float
        Maximum error of each probability, compared with the exact solution on the learner's graph.
        The error of the sink is at most this times the number of classes.
    certain : bool
        Whether the exact solution provably gives the same answer.
    """

    label: Label | None
    confidence: float
    probabilities: Floats
    scores: Floats
    outlier: bool
    bound: float
    certain: bool

    @property
    def sink(self) -> float:
        """The probability that a random walk from the example reaches no label: "I don't know"."""
        return max(0.0, 1.0 - float(self.probabilities.sum()))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Verdicts:
    """The answers to several examples: the attributes of `Verdict`, as arrays."""

    label: NDArray[np.object_]
    confidence: Floats
    probabilities: Floats
    scores: Floats
    outlier: Bools
    bound: Floats
    certain: Bools

    @property
    def sink(self) -> Floats:
        """The probabilities that a random walk reaches no label: "I don't know"."""
        sinks: Floats = np.maximum(0.0, 1.0 - self.probabilities.sum(axis=1))
        return sinks

    def __len__(self) -> int:
        return len(self.bound)

    def __repr__(self) -> str:
        answered = sum(label is not None for label in self.label)
        return (
            f"<Verdicts: {len(self)} examples, {answered} answered, {self.outlier.sum()} outliers>"
        )

    @overload
    def __getitem__(self, i: int) -> Verdict: ...
    @overload
    def __getitem__(self, i: slice) -> Verdicts: ...
    def __getitem__(self, i: int | slice) -> Verdict | Verdicts:
        if isinstance(i, slice):
            return Verdicts(*(getattr(self, name)[i] for name in self.__slots__))
        return Verdict(
            label=self.label[i],
            confidence=float(self.confidence[i]),
            probabilities=self.probabilities[i],
            scores=self.scores[i],
            outlier=bool(self.outlier[i]),
            bound=float(self.bound[i]),
            certain=bool(self.certain[i]),
        )

    def __iter__(self) -> Iterator[Verdict]:
        return (self[i] for i in range(len(self)))


def blank_answers(n_rows: int, n_classes: int) -> KernelAnswers:
    """Return answers that abstain everywhere, for the compiled loops to fill."""
    winner, certain = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.bool_)
    winner.fill(NO_CLASS)  # np.full and np.ones take half a microsecond more
    certain.fill(True)
    return KernelAnswers(
        winner=winner,
        probabilities=np.zeros((n_rows, n_classes)),
        scores=np.zeros((n_rows, n_classes)),
        bound=np.zeros(n_rows),
        leeway=np.zeros(n_rows),
        certain=certain,
        outlier=np.zeros(n_rows, dtype=np.bool_),
    )


def joined(parts: Sequence[KernelAnswers]) -> KernelAnswers:
    """Return the answers to several runs of rows as one."""
    if len(parts) == 1:
        return parts[0]
    return KernelAnswers(*map(np.concatenate, zip(*parts, strict=True)))


def label_array(codes: Ints | SmallInts, classes: Sequence[Label]) -> NDArray[np.object_]:
    """Return the labels of classes; None for the code -1."""
    names: NDArray[np.object_] = np.empty(len(classes) + 1, dtype=object)
    names[: len(classes)] = classes
    return names[codes]


def decide(answers: KernelAnswers, classes: Sequence[Label], abstain_below: float) -> Verdicts:
    """Return the labels of the winners; abstain if there is none or the confidence is too low."""
    confidence = answers.scores.max(axis=1, initial=0.0)
    winner, certain = answers.winner, answers.certain
    if abstain_below > 0.0:
        winner = np.where(confidence < abstain_below, NO_CLASS, winner)
        certain = certain & (np.abs(confidence - abstain_below) > answers.leeway)
    rest = answers.probabilities, answers.scores, answers.outlier, answers.bound
    return Verdicts(label_array(winner, classes), confidence, *rest, certain)


def decide_one(answers: KernelAnswers, classes: Sequence[Label], abstain_below: float) -> Verdict:
    """Do what `decide` does for a single row, without its arrays."""
    winner, scores = int(answers.winner[0]), answers.scores[0]
    confidence = float(scores[winner]) if winner != NO_CLASS else 0.0
    certain = bool(answers.certain[0])
    if abstain_below > 0.0:
        certain = certain and abs(confidence - abstain_below) > answers.leeway[0]
        winner = winner if confidence >= abstain_below else NO_CLASS
    label = classes[winner] if winner != NO_CLASS else None
    outlier, bound = bool(answers.outlier[0]), float(answers.bound[0])
    return Verdict(label, confidence, answers.probabilities[0], scores, outlier, bound, certain)
