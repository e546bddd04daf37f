"""The learner as a River classifier."""

import math
import warnings
from collections.abc import Collection, Hashable
from typing import Any, Literal, TypeAlias

import numpy as np
from river import base

from labelwalk._validation import MAX_VALUE, shown
from labelwalk.arrays import Label
from labelwalk.integrations import adopt_settings
from labelwalk.learner import OnlineLearner

Example: TypeAlias = dict[Hashable, Any]
Target: TypeAlias = bool | str | int


class OnlineHarmonicClassifier(base.Classifier):
    """`OnlineLearner` as a River classifier that learns from unlabelled examples too.

    Parameters
    ----------
    n_centroids, similarity, sink, ..., abstain_below
        As in `OnlineLearner`; `remember` is 0, because examples have no ids here.

    Attributes
    ----------
    learner : OnlineLearner or None
        The underlying learner; None before the first example. It sees booleans as 0 and 1.
    features : tuple
        The features of the first example, sorted: the order of the columns of `learner`.

    Notes
    -----
    A missing feature counts as 0. A feature that was not in the first example is ignored with a
    warning.

    Examples
    --------
    >>> from labelwalk.integrations.river import OnlineHarmonicClassifier
    >>> model = OnlineHarmonicClassifier(n_centroids=50)
    >>> model.learn_one({"height": 0.0, "width": 0.0}, "low")
    >>> model.learn_one({"height": 9.0, "width": 9.0}, "high")
    >>> for i in range(1, 5):
    ...     model.learn_one({"height": i, "width": i})  # no label
    >>> model.predict_one({"height": 4.5, "width": 5.0})
    'low'
    """

    prior: Literal["uniform"] | dict[Target, float] | None

    @adopt_settings
    def __init__(self, n_centroids: int | None = 200, **settings: Any) -> None:
        for name, value in {"n_centroids": n_centroids, **settings}.items():
            setattr(self, name, value)
        self.learner: OnlineLearner | None = None
        self.features: tuple[Hashable, ...] = ()
        self._booleans: dict[Label | None, bool] = {}

    def learn_one(self, x: Example, y: Target | None = None) -> None:
        """Learn an example, labelled or not.

        Parameters
        ----------
        x : dict
            Features and their values, which are finite numbers.
        y : str, int, bool or None
            The label; None for an unlabelled example.
        """
        features = self.features or _to_names(x)
        row = _to_row(x, features)
        learner = self._new_learner() if self.learner is None else self.learner
        if y is None:
            learner.observe(row)
        else:
            learner.teach(row, _to_label(y))
            if isinstance(y, bool | np.bool_):
                self._booleans[int(y)] = bool(y)
        if self.learner is None and all(isinstance(name, str) for name in features):
            learner.feature_names = tuple(map(str, features))
        self.learner, self.features = learner, features

    def predict_one(self, x: Example) -> Target | None:
        """Return the most probable class, or None where the learner abstains.

        Parameters
        ----------
        x : dict

        Returns
        -------
        label : str, int, bool or None
        """
        if self.learner is None:
            return None
        label: Label | None = self.learner.predict(_to_row(x, self.features)).label
        return self._booleans.get(label, label)

    def predict_proba_one(self, x: Example) -> dict[Target, float]:
        """Return the probability of each class, given that the random walk reaches a label.

        They sum to 1, as River expects; `learner.predict` returns the probability of the sink too.

        Parameters
        ----------
        x : dict

        Returns
        -------
        probabilities : dict
            Of every class taught; empty if the learner abstains, so that it does not vote in an
            ensemble.
        """
        if self.learner is None:
            return {}
        verdict = self.learner.predict(_to_row(x, self.features))
        if verdict.label is None:
            return {}
        names = [self._booleans.get(label, label) for label in self.learner.classes]
        shares = verdict.scores / verdict.scores.sum()
        return dict(zip(names, shares.tolist(), strict=True))

    @property
    def _multiclass(self) -> bool:
        return True

    def _new_learner(self) -> OnlineLearner:
        parameters = self._get_params()
        if isinstance(self.prior, dict):
            parameters["prior"] = {
                int(y) if isinstance(y, bool) else y: share for y, share in self.prior.items()
            }
        return OnlineLearner(**parameters, remember=0)


def _to_names(x: Example) -> tuple[Hashable, ...]:
    if not x:
        raise ValueError(
            "x={} has no features. The first example defines the features: include all of them, "
            "with 0.0 for missing values."
        )
    return _sort_names(x)


def _sort_names(names: Collection[Hashable]) -> tuple[Hashable, ...]:
    """Sort names of any types, so that the order of a dictionary has no influence."""
    return tuple(sorted(names, key=lambda name: (type(name).__name__, name)))


def _to_row(x: Example, features: Collection[Hashable]) -> list[float]:
    unknown = x.keys() - features
    if unknown:
        warnings.warn(
            f"x has features that the first example did not have: {shown(_sort_names(unknown))}. "
            "They are ignored. Include all features in the first example, with 0.0 for missing "
            "values.",
            stacklevel=3,
        )
    return [_to_number(name, x.get(name, 0.0)) for name in features]


def _to_number(name: Hashable, value: Any) -> float:
    try:
        is_comparable = math.fabs(value) <= MAX_VALUE
    except (TypeError, OverflowError):
        is_comparable = False
    if not is_comparable:
        raise ValueError(
            f"feature {name!r} is {shown(value)}: only finite numbers of at most {MAX_VALUE:g} can "
            "be compared. Encode text and impute missing values first, as in "
            "preprocessing.StatImputer() | model."
        )
    return float(value)


def _to_label(y: object) -> Label:
    if isinstance(y, str):
        return str(y)
    if isinstance(y, int | np.integer | np.bool_):
        return int(y)
    raise ValueError(
        f"y={shown(y)} is neither a string, an integer nor a boolean. Convert it, as in str(y), or "
        "pass None for an unlabelled example."
    )
