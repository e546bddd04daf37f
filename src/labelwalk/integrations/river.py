"""The learner as a River classifier."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Hashable
from typing import Any, Literal, TypeAlias

import numpy as np
from river import base

from labelwalk.arrays import Label
from labelwalk.learner import OnlineLearner
from labelwalk.parameters import shown
from labelwalk.rows import LARGEST
from labelwalk.similarity import Similarity

Example: TypeAlias = dict[Hashable, Any]
Target: TypeAlias = bool | str | int


class OnlineHarmonicClassifier(base.Classifier):
    """`OnlineLearner` as a River classifier that learns from unlabelled examples too.

    Parameters
    ----------
    n_centroids, similarity, sink, ..., abstain_below
        As in `OnlineLearner`. No examples are remembered one by one: they have no ids here.

    Attributes
    ----------
    learner : OnlineLearner or None
        The learner behind it; None before the first example. Booleans are 0 and 1 there.
    features : tuple
        The names of the first example, sorted: the order of the columns of `learner`.

    Notes
    -----
    A feature that is missing counts as 0. One that was not in the first example is ignored, with a
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

    def __init__(
        self,
        n_centroids: int | None = 200,
        *,
        similarity: Similarity | None = None,
        scale: Literal["none", "robust"] = "none",
        sink: float = 1e-4,
        growth: float = 1.5,
        coarsening: Literal["just-enough", "doubling"] = "just-enough",
        labelled: Literal["pure", "absorb"] = "pure",
        label_weight: float | None = 3.0,
        weight_cap: float | None = 2.0,
        labels_per_class: int = 64,
        representative: Literal["mean", "founder"] = "mean",
        readout: Literal["example", "vertex"] = "example",
        unreached: Literal["nearest", "abstain"] = "nearest",
        quarantine: int | None = 5,
        half_life: float | None = None,
        window: int | None = None,
        calibrate: bool = True,
        prior: Literal["uniform"] | dict[Target, float] | None = None,
        tolerance: float = 1e-2,
        abstain_below: float = 0.0,
    ) -> None:
        self.n_centroids = n_centroids
        self.similarity = similarity
        self.scale = scale
        self.sink = sink
        self.growth = growth
        self.coarsening = coarsening
        self.labelled = labelled
        self.label_weight = label_weight
        self.weight_cap = weight_cap
        self.labels_per_class = labels_per_class
        self.representative = representative
        self.readout = readout
        self.unreached = unreached
        self.quarantine = quarantine
        self.half_life = half_life
        self.window = window
        self.calibrate = calibrate
        self.prior = prior
        self.tolerance = tolerance
        self.abstain_below = abstain_below
        self.learner: OnlineLearner | None = None
        self.features: tuple[Hashable, ...] = ()
        self._booleans: dict[Label | None, bool] = {}

    def learn_one(self, x: Example, y: Target | None = None) -> None:
        """Learn an example, labelled or not.

        Parameters
        ----------
        x : dict
            Names of features and their values, finite numbers.
        y : str, int, bool or None
            Its label; None where there is none.
        """
        features = self.features or _named_by(x)
        row = _row(x, features)
        learner = self._new_learner() if self.learner is None else self.learner
        if y is None:
            learner.observe(row)
        else:
            learner.teach(row, _as_label(y))
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
        label: Label | None = self.learner.predict(_row(x, self.features)).label
        return self._booleans.get(label, label)

    def predict_proba_one(self, x: Example) -> dict[Target, float]:
        """Return the probability of each class, provided that a walk meets a label at all.

        They sum to 1, as River expects; `learner.predict` tells the chance that no label is met.

        Parameters
        ----------
        x : dict

        Returns
        -------
        probabilities : dict
            Of every class taught; empty where the learner abstains, so that it casts no vote in
            an ensemble.
        """
        if self.learner is None:
            return {}
        verdict = self.learner.predict(_row(x, self.features))
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


def _named_by(x: Example) -> tuple[Hashable, ...]:
    if not x:
        raise ValueError(
            "x={} has no features. The first example names all of them: give 0.0 where there is "
            "nothing."
        )
    return _in_order(x)


def _in_order(names: Collection[Hashable]) -> tuple[Hashable, ...]:
    """Sort names of any kinds, so that the order of a dictionary has no influence."""
    return tuple(sorted(names, key=lambda name: (type(name).__name__, name)))


def _row(x: Example, features: Collection[Hashable]) -> list[float]:
    strangers = x.keys() - features
    if strangers:
        warnings.warn(
            f"x has features that the first example had not: {shown(_in_order(strangers))}. "
            "They are ignored. Give the first example all names, with 0.0 where there is nothing.",
            stacklevel=3,
        )
    return [_as_number(name, x.get(name, 0.0)) for name in features]


def _as_number(name: Hashable, value: Any) -> float:
    try:
        comparable = math.fabs(value) <= LARGEST
    except (TypeError, OverflowError):
        comparable = False
    if not comparable:
        raise ValueError(
            f"feature {name!r} is {shown(value)}: only finite numbers of at most {LARGEST:g} can "
            "be compared. Encode text and fill gaps first, as in "
            "preprocessing.StatImputer() | model."
        )
    return float(value)


def _as_label(y: object) -> Label:
    if isinstance(y, str):
        return str(y)
    if isinstance(y, int | np.integer | np.bool_):
        return int(y)
    raise ValueError(
        f"y={shown(y)} is neither a string, an integer nor a boolean. Convert it, as in str(y), or "
        "give None where there is no label."
    )
