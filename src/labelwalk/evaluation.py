"""Accuracy over time and calibration of answers with known truth."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelwalk._validation import check_whole
from labelwalk.arrays import Floats

__all__ = ["calibration_error", "cumulative_accuracy", "windowed_accuracy"]


def cumulative_accuracy(correct: ArrayLike) -> Floats:
    """Return the share of correct answers up to and including each step.

    Parameters
    ----------
    correct : (n,) array of bool
        Whether each answer was correct, in the order of the stream.

    Examples
    --------
    >>> cumulative_accuracy([True, False, True, True])
    array([1.        , 0.5       , 0.66666667, 0.75      ])
    """
    flags = np.asarray(correct)
    return np.asarray(np.cumsum(flags) / np.arange(1, len(flags) + 1))


def windowed_accuracy(correct: ArrayLike, window: int) -> Floats:
    """Return the share of correct answers among the last `window` answers at each step.

    The first steps average over the answers so far.

    Parameters
    ----------
    correct : (n,) array of bool
        Whether each answer was correct, in the order of the stream.
    window : int
        Number of answers, at least 1.

    Examples
    --------
    >>> windowed_accuracy([True, False, True, True], window=2)
    array([1. , 0.5, 0.5, 1. ])
    """
    check_whole("window", window, "200")
    sums = np.concatenate([[0], np.cumsum(np.asarray(correct))])
    end = np.arange(1, len(sums))
    start = np.maximum(end - window, 0)
    return np.asarray((sums[end] - sums[start]) / (end - start))


def calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = 10) -> float:
    """Return the expected calibration error of answers.

    It is the mean distance between the confidence of answers and the share of them that is correct,
    over bins of equal width.

    Parameters
    ----------
    confidence : (n,) array
        Confidence of each answer, from 0 to 1; 0 for an abstention.
    correct : (n,) array of bool
        Whether each answer was correct; False for an abstention.
    bins : int
        Number of bins.

    Examples
    --------
    >>> calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, True, False])
    0.0
    >>> calibration_error([0.9, 0.9], [True, False])
    0.4
    """
    check_whole("bins", bins, "10")
    scores, flags = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.bool_)
    index = np.minimum((bins * scores).astype(np.int64), bins - 1)
    sums = np.bincount(index, scores - flags, minlength=bins)
    return float(np.abs(sums).sum() / len(flags))


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module 'labelwalk.evaluation' has no attribute {name!r}. Protocols, precision and recall "
        "are in paper/ of the repository: clone it, and import paper.evaluation."
    )
