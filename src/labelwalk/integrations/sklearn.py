"""The learner as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from labelwalk.arrays import Bools, Floats, Label
from labelwalk.integrations.targets import (
    ALL_OR_NONE,
    Labels,
    Targets,
    few,
    labels_of,
    names_of,
    refuse_another_kind,
    refuse_strangers,
)
from labelwalk.learner import OnlineLearner
from labelwalk.rows import as_rows
from labelwalk.similarity import Similarity, euclidean

A_HAIR = 1e-6


class QuantizedHarmonicClassifier(ClassifierMixin, BaseEstimator):
    """`OnlineLearner` as a scikit-learn classifier that learns from unlabelled rows too.

    Parameters
    ----------
    n_centroids, similarity, sink, ..., tolerance
        As in `OnlineLearner`. No examples are remembered one by one: they have no ids here.
    unlabeled : int, str or None
        What y holds where a row has no label. None means missing: None or NaN. Where -1 is a
        class of yours, or a label is a string, choose something else, such as None.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array
        Their names, where X came with names.
    learner_ : OnlineLearner
        The learner behind it; its verdicts abstain and carry proven bounds, and it can be saved.
    transduction_ : array
        Set by `fit`: the label of each of its rows, given or predicted once all were learned.

    Examples
    --------
    >>> from labelwalk import QuantizedHarmonicClassifier
    >>> X = [[0.0, 0.0], [0.3, 0.1], [0.6, 0.3], [5.0, 5.0], [4.7, 5.2], [4.4, 5.0]]
    >>> model = QuantizedHarmonicClassifier(n_centroids=50).fit(X, [0, -1, -1, 1, -1, -1])
    >>> model.transduction_
    array([0, 0, 0, 1, 1, 1])
    >>> model.predict([[1.0, 1.0], [4.0, 4.0]])
    array([0, 1])
    """

    classes_: Labels
    learner_: OnlineLearner
    transduction_: Labels

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
        prior: Literal["uniform"] | dict[Label, float] | None = None,
        tolerance: float = 1e-2,
        unlabeled: Label | None = -1,
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
        self.unlabeled = unlabeled

    def fit(self, X: ArrayLike, y: Targets) -> Self:
        """Forget everything, learn the labelled rows, then the unlabelled ones in their order.

        Parameters
        ----------
        X : array of shape (n, d)
        y : n labels
            Strings or integers; `unlabeled` where a row has none. At least one row has one.

        Returns
        -------
        self
        """
        learner = self._new_learner()
        known, labels, rows = self._read(X, y, reset=True, some=True)
        learner.teach(rows[known], names_of(labels))
        if not known.all():
            learner.observe(rows[~known])
        learner.feature_names = getattr(self, "feature_names_in_", ())
        self.learner_ = learner
        self.classes_ = np.unique(labels)
        self._fixed_classes = False
        self.transduction_ = np.empty(len(rows), dtype=self.classes_.dtype)
        self.transduction_[known] = labels
        self.transduction_[~known] = self._most_probable(rows[~known])
        return self

    def partial_fit(self, X: ArrayLike, y: Targets, classes: Targets | None = None) -> Self:
        """Learn more rows in the order given, labelled or not.

        Parameters
        ----------
        X : array of shape (n, d)
        y : n labels
            As in `fit`, but all rows may be without a label.
        classes : labels, optional
            All the classes there will be, seen or not; given in the first call. Without it,
            `classes_` grows with the labels that come. `unlabeled` among them is left out.

        Returns
        -------
        self
        """
        first = not hasattr(self, "learner_")
        known, labels, rows = self._read(X, y, reset=first)
        roll = np.unique(labels) if first else self._grown(labels)
        if classes is not None:
            roll = self._given(classes, first)
        refuse_strangers(labels, roll)
        if first:
            self.learner_ = self._new_learner()
            self._fixed_classes = classes is not None
        self.classes_ = roll
        names = iter(names_of(labels))
        for run in _runs(known):
            if known[run.start]:
                self.learner_.teach(rows[run], list(islice(names, run.stop - run.start)))
            else:
                self.learner_.observe(rows[run])
        if first:
            self.learner_.feature_names = getattr(self, "feature_names_in_", ())
        return self

    def predict(self, X: ArrayLike) -> Labels:
        """Return the most probable class of each row; nothing is learned.

        Always a class: where the learner abstains, since the row is like nothing it knows or no
        label can be reached from there, the class of the nearest labelled vertex. For an honest
        "I don't know" ask `learner_.predict`. Of equally probable classes, the first.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        labels : array of n classes
        """
        return self._most_probable(self._rows_to_answer(X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, provided that a walk meets a label at all.

        Where none can be reached, nothing is known: all classes are alike, but for a hair that
        the class of the nearest labelled vertex is ahead.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, classes)
            In the order of `classes_`. Each row sums to 1.
        """
        return self._probabilities(self._rows_to_answer(X))

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return `predict_proba`, or for two classes the second's probability less the first's.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        scores : array of shape (n, classes), or (n,) for two classes
        """
        probabilities = self.predict_proba(X)
        if len(self.classes_) == 2:
            return probabilities[:, 1] - probabilities[:, 0]
        return probabilities

    def score(self, X: ArrayLike, y: Targets, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on the rows that have a label; the others are left out.

        Parameters
        ----------
        X : array of shape (n, d)
        y : n labels
            As in `fit`.
        sample_weight : n numbers, optional

        Returns
        -------
        accuracy : float
        """
        predicted = self.predict(X)
        known, labels = labels_of(y, self.unlabeled)
        check_consistent_length(predicted, known, sample_weight)
        if not len(labels):
            raise ValueError(
                f"y holds no label to compare with: all of its {len(known)} entries are "
                f"unlabeled={self.unlabeled!r}. Give the true labels of at least some rows."
            )
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(labels, predicted[known], sample_weight=weight))

    def _read(
        self, X: ArrayLike, y: Targets, *, reset: bool, some: bool = False
    ) -> tuple[Bools, Labels, Floats]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give a "
                f"label for each row, and unlabeled={self.unlabeled!r} where there is none."
            )
        known, labels = labels_of(y, self.unlabeled)
        if some and not len(labels):
            raise ValueError(
                f"y holds no label: all {len(known)} of its entries are "
                f"unlabeled={self.unlabeled!r}. Label at least one row, or say with unlabeled=... "
                "what marks the others."
            )
        rows = validate_data(self, X, dtype=np.float64, order="C", reset=reset)
        rows, _ = as_rows(rows, None)
        check_consistent_length(rows, known)
        return known, labels, rows

    def _new_learner(self) -> OnlineLearner:
        parameters = self.get_params(deep=False)
        del parameters["unlabeled"]
        return OnlineLearner(**parameters, remember=0)

    def _grown(self, labels: Labels) -> Labels:
        if self._fixed_classes or not len(labels):
            return self.classes_
        if not len(self.classes_):
            return np.unique(labels)
        refuse_another_kind(labels, self.classes_)
        return np.unique(np.concatenate([self.classes_, labels]))

    def _given(self, classes: Targets, first: bool) -> Labels:
        given = np.unique(labels_of(classes, self.unlabeled)[1])
        if not first and not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes={few(given)} are not those of the calls before, "
                f"{few(self.classes_)}. {ALL_OR_NONE}"
            )
        return given

    def _rows_to_answer(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        rows: Floats = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return rows

    def _most_probable(self, rows: Floats) -> Labels:
        if not len(rows):
            return self.classes_[:0]
        labels: Labels = self.classes_[self._probabilities(rows).argmax(axis=1)]
        return labels

    def _probabilities(self, rows: Floats) -> Floats:
        learner = self.learner_
        if not learner.classes:
            raise NotFittedError(
                f"This {type(self).__name__} has seen no label yet, so it can name no class. Call "
                "partial_fit with at least one labelled row first."
            )
        place = {name: column for column, name in enumerate(names_of(self.classes_))}
        probabilities = np.zeros((len(rows), len(self.classes_)))
        taught = [place[name] for name in learner.classes]
        probabilities[:, taught] = learner.predict(rows).scores
        lost = np.flatnonzero(~probabilities.any(axis=1))
        if len(lost):
            nearest = _nearest_labels(learner, rows[lost])
            probabilities[lost] = 1.0
            probabilities[lost, [place[name] for name in nearest]] += A_HAIR
        normalised: Floats = probabilities / probabilities.sum(axis=1, keepdims=True)
        return normalised


def _runs(known: Bools) -> Iterator[slice]:
    """Cut rows where labelled ones give way to unlabelled ones, or the other way round."""
    cuts = [0, *(np.flatnonzero(known[1:] != known[:-1]) + 1).tolist(), len(known)]
    return (slice(start, stop) for start, stop in pairwise(cuts))


def _nearest_labels(learner: OnlineLearner, rows: Floats) -> list[Label]:
    """Return the label of the labelled vertex nearest to each row, the oldest of equals."""
    distance = learner.settings.similarity.distance or euclidean
    vertices = learner.vertices
    labelled = np.flatnonzero([label is not None for label in vertices.label])
    labels = vertices.label[labelled]
    points = learner.scaled(vertices.points[labelled])
    return [labels[np.argmin(distance(x, points))] for x in learner.scaled(rows)]
