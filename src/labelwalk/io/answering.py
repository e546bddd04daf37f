"""Rows that have a label are taught, the others answered."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Label
from labelwalk.io.batch import Answers
from labelwalk.io.examples import Examples, Words
from labelwalk.io.words import as_known
from labelwalk.learner import OnlineLearner
from labelwalk.rows import NamedRows


def learned(learner: OnlineLearner, examples: Examples, given: Bools) -> Answers:
    """Teach rows that have a label, observe the others, all in order; `given` as `taught` says."""
    X, n = _named(examples, learner), len(examples.rows)
    answers = Answers([None] * n, np.ones(n), np.zeros(n, dtype=bool))
    for start, stop in _runs(given):
        some = slice(start, stop)
        if given[start]:
            words = [word for word in examples.labels[some] if word is not None]
            learner.teach(X[some], as_known(words, learner.classes))
            answers.label[some] = words
        else:
            verdicts = learner.observe(X[some], source=_names(examples.sources[some]))
            answers.label[some] = _words(verdicts.label, learner)
            answers.confidence[some] = verdicts.confidence
            answers.outlier[some] = verdicts.outlier
    return answers


def predicted(learner: OnlineLearner, examples: Examples) -> Answers:
    """Answer rows without learning; labels they have are not looked at."""
    if len(examples.rows) == 0:
        return Answers([], np.empty(0), np.empty(0, dtype=bool))
    verdicts = learner.predict(_named(examples, learner))
    return Answers(_words(verdicts.label, learner), verdicts.confidence, verdicts.outlier)


def _named(examples: Examples, learner: OnlineLearner) -> Floats:
    """Return features with their names, or with the learner's where the reader let others pass."""
    names = tuple(name for name, own in examples.features.items() for _ in range(own.shape[1]))
    known = learner.feature_names
    return NamedRows(examples.matrix(), names if set(names) & set(known) else known or names)


def _names(sources: Words) -> list[str] | None:
    return [name for name in sources if name is not None] or None


def _words(labels: NDArray[np.object_], learner: OnlineLearner) -> list[str | None]:
    words: dict[Label | None, str | None] = {name: str(name) for name in learner.classes}
    words[None] = None
    return [words[label] for label in labels.tolist()]


def taught(examples: Examples) -> Bools:
    """Return which rows have a label."""
    n = len(examples.rows)
    if not examples.labels:
        return np.zeros(n, dtype=bool)
    return np.array([label is not None for label in examples.labels], dtype=bool)


def _runs(flags: Bools) -> Iterator[tuple[int, int]]:
    """Yield where runs of equal flags begin and end."""
    edges = np.flatnonzero(np.diff(flags)) + 1
    bounds = [0, *edges.tolist(), len(flags)]
    yield from ((a, b) for a, b in pairwise(bounds) if a < b)
