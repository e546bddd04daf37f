"""The learner as a scikit-learn classifier."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import validation
from sklearn.utils.multiclass import type_of_target

from labelwalk._validation import as_rows
from labelwalk.arrays import Bools, Floats, Label
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Similarity, euclidean

Labels: TypeAlias = NDArray[Any]
Targets: TypeAlias = ArrayLike | Sequence[object]

TIE_MARGIN = 1e-6  # share that the nearest label is ahead where no label can be reached
FIXED_CLASSES_HINT = (
    "Pass all classes in the first call to partial_fit; or always omit classes, so that classes_ "
    "can grow."
)


class QuantizedHarmonicClassifier(ClassifierMixin, BaseEstimator):
    """`OnlineLearner` as a scikit-learn classifier that learns from unlabelled rows too.

    Parameters
    ----------
    n_centroids, similarity, sink, ..., tolerance
        As in `OnlineLearner`; `remember` is 0, because rows have no ids here.
    unlabeled : int, str or None
        The value in y that marks a row without a label. None means missing: None or NaN. If -1 is
        one of your classes, or labels are strings, choose another value, such as None.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : array
        Their names, if X had names.
    learner_ : OnlineLearner
        The underlying learner; its verdicts can abstain and carry proven bounds.
    transduction_ : array
        Set by `fit`: the label of each row, given or predicted after all rows were learned.

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

    unlabeled: Label | None
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
        calibrate: bool = True,
        prior: Literal["uniform"] | dict[Label, float] | None = None,
        tolerance: float = 1e-2,
        unlabeled: Label | None = -1,
    ) -> None:
        arguments = locals()
        for name in QuantizedHarmonicClassifier._get_param_names():
            setattr(self, name, arguments[name])

    def fit(self, X: ArrayLike, y: Targets) -> Self:
        """Start over: learn the labelled rows, then the unlabelled ones in their order.

        Parameters
        ----------
        X : array of shape (n, d)
        y : n labels
            Strings or integers; `unlabeled` marks rows without a label. At least one has one.

        Returns
        -------
        self
        """
        learner = self._new_learner()
        has_label, labels, rows = self._check(X, y, reset=True, needs_label=True)
        learner.teach(rows[has_label], _to_names(labels))
        if not has_label.all():
            learner.observe(rows[~has_label])
        learner.feature_names = getattr(self, "feature_names_in_", ())
        self.learner_ = learner
        self.classes_ = np.unique(labels)
        self._fixed_classes = False
        self.transduction_ = np.empty(len(rows), dtype=self.classes_.dtype)
        self.transduction_[has_label] = labels
        self.transduction_[~has_label] = self._predict(rows[~has_label])
        return self

    def partial_fit(self, X: ArrayLike, y: Targets, classes: Targets | None = None) -> Self:
        """Learn more rows in the order given, labelled or not.

        Parameters
        ----------
        X : array of shape (n, d)
        y : n labels
            As in `fit`, but all rows may be without a label.
        classes : labels, optional
            All possible classes, passed in the first call; `unlabeled` among them is ignored.
            By default `classes_` grows as new labels arrive.

        Returns
        -------
        self
        """
        is_first = not hasattr(self, "learner_")
        has_label, labels, rows = self._check(X, y, reset=is_first)
        merged = self._merge_classes(labels, classes, is_first)
        if is_first:
            self.learner_ = self._new_learner()
            self._fixed_classes = classes is not None
        self.classes_ = merged
        names = iter(_to_names(labels))
        for run in _split_runs(has_label):
            if has_label[run.start]:
                self.learner_.teach(rows[run], list(islice(names, run.stop - run.start)))
            else:
                self.learner_.observe(rows[run])
        if is_first:
            self.learner_.feature_names = getattr(self, "feature_names_in_", ())
        return self

    def predict(self, X: ArrayLike) -> Labels:
        """Return the most probable class of each row; nothing is learned.

        Where the learner abstains, because the row is an outlier or no label can be reached, this
        is the class of the nearest labelled vertex; `learner_.predict` abstains instead. Ties go
        to the first class.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        labels : array of n classes
        """
        validation.check_is_fitted(self)
        return self._predict(self._validate_rows(X))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, given that the random walk reaches a label.

        Where no label can be reached, all classes are equally probable, except that the class of
        the nearest labelled vertex is ahead by a millionth.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        probabilities : array of shape (n, classes)
            In the order of `classes_`. Each row sums to 1.
        """
        validation.check_is_fitted(self)
        return self._predict_proba(self._validate_rows(X))

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return `predict_proba`, or for two classes the difference of the probabilities.

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
        """Return the accuracy on the rows that have a label; other rows are ignored.

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
        has_label, labels = _split_labels(y, self.unlabeled)
        validation.check_consistent_length(predicted, has_label, sample_weight)
        if not len(labels):
            raise ValueError(
                f"y contains no label to compare with: all of its {len(has_label)} entries are "
                f"unlabeled={self.unlabeled!r}. Give the true labels of at least some rows."
            )
        weight = None if sample_weight is None else np.asarray(sample_weight)[has_label]
        return float(accuracy_score(labels, predicted[has_label], sample_weight=weight))

    def _check(
        self, X: ArrayLike, y: Targets, *, reset: bool, needs_label: bool = False
    ) -> tuple[Bools, Labels, Floats]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give a "
                f"label for each row, and {self.unlabeled!r} for unlabelled rows."
            )
        has_label, labels = _split_labels(y, self.unlabeled)
        if needs_label and not len(labels):
            raise ValueError(
                f"y contains no label: all {len(has_label)} of its entries are "
                f"unlabeled={self.unlabeled!r}. Label at least one row, or set unlabeled=... to "
                "the value that marks unlabelled rows."
            )
        rows, _ = as_rows(self._validate_rows(X, reset=reset), None)
        validation.check_consistent_length(rows, has_label)
        return has_label, labels, rows

    def _new_learner(self) -> OnlineLearner:
        parameters = self.get_params(deep=False)
        del parameters["unlabeled"]
        return OnlineLearner(**parameters, remember=0)

    def _merge_classes(self, labels: Labels, classes: Targets | None, is_first: bool) -> Labels:
        """Return the classes after a call of `partial_fit`; raise if labels do not fit them."""
        merged = np.unique(labels) if is_first else self.classes_
        if classes is not None:
            merged = np.unique(_split_labels(classes, self.unlabeled)[1])
            if not is_first and not np.array_equal(merged, self.classes_):
                raise ValueError(
                    f"classes={_shorten(merged)} differ from those of earlier calls, "
                    f"{_shorten(self.classes_)}. {FIXED_CLASSES_HINT}"
                )
        if not len(labels):
            return merged
        is_fixed = classes is not None or (not is_first and self._fixed_classes)
        if not is_fixed and not len(merged):
            return np.unique(labels)
        kinds = [{isinstance(name, str) for name in _to_names(a)} for a in (labels, merged)]
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"y contains {_shorten(np.unique(labels))}, but the classes are "
                f"{_shorten(merged)}: strings and numbers do not mix. Use one kind of label."
            )
        if not is_fixed:
            return np.unique(np.concatenate([merged, labels]))
        unknown = np.unique(labels[~np.isin(labels, merged)])
        if len(unknown):
            raise ValueError(
                f"y contains {_shorten(unknown)}, which is not in classes={_shorten(merged)}. "
                f"{FIXED_CLASSES_HINT}"
            )
        return merged

    def _validate_rows(self, X: ArrayLike, *, reset: bool = False) -> Floats:
        rows: Floats = validation.validate_data(self, X, dtype=np.float64, order="C", reset=reset)
        return rows

    def _predict(self, rows: Floats) -> Labels:
        if not len(rows):
            return self.classes_[:0]
        labels: Labels = self.classes_[self._predict_proba(rows).argmax(axis=1)]
        return labels

    def _predict_proba(self, rows: Floats) -> Floats:
        learner = self.learner_
        if not learner.classes:
            raise NotFittedError(
                f"This {type(self).__name__} has not seen a label yet, so it cannot predict a "
                "class. Call partial_fit with at least one labelled row first."
            )
        columns = {name: column for column, name in enumerate(_to_names(self.classes_))}
        probabilities = np.zeros((len(rows), len(self.classes_)))
        learner_columns = [columns[name] for name in learner.classes]
        probabilities[:, learner_columns] = learner.predict(rows).scores
        unreached = np.flatnonzero(~probabilities.any(axis=1))
        if len(unreached):
            nearest = _find_nearest_labels(learner, rows[unreached])
            probabilities[unreached] = 1.0
            probabilities[unreached, [columns[name] for name in nearest]] += TIE_MARGIN
        normalised: Floats = probabilities / probabilities.sum(axis=1, keepdims=True)
        return normalised


def _split_runs(has_label: Bools) -> Iterator[slice]:
    """Cut rows into runs that are all labelled or all unlabelled."""
    cuts = [0, *(np.flatnonzero(has_label[1:] != has_label[:-1]) + 1).tolist(), len(has_label)]
    return (slice(start, stop) for start, stop in pairwise(cuts))


def _find_nearest_labels(learner: OnlineLearner, rows: Floats) -> list[Label]:
    """Return the label of the labelled vertex nearest to each row, the oldest of equals."""
    vertices = learner.vertices
    labelled = np.flatnonzero([label is not None for label in vertices.label])
    labels = vertices.label[labelled]
    points = learner.scaled(vertices.points[labelled])
    return [labels[np.argmin(euclidean(x, points))] for x in learner.scaled(rows)]


def _split_labels(y: Targets, unlabeled: object) -> tuple[Bools, Labels]:
    """Return which entries of y are labels, and those labels."""
    if isinstance(y, list | tuple) and {isinstance(label, str) for label in y} == {True, False}:
        y = np.array(y, dtype=object)  # otherwise NumPy turns the -1 in ["a", -1] into a string
    targets = validation.column_or_1d(y, warn=True)
    has_label = ~_is_unlabeled(targets, unlabeled)
    labels = _unify_labels(targets[has_label], unlabeled)
    # check_classification_targets would warn of many classes on few rows, which is normal here
    kind = type_of_target(labels) if len(labels) else "binary"
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: y is {kind}. Labels are strings or whole numbers: bin a "
            "continuous target first, as in np.digitize(y, edges)."
        )
    return has_label, labels


def _is_unlabeled(targets: Labels, unlabeled: object) -> Bools:
    if unlabeled is None:
        return np.array([label is None or label != label for label in targets], dtype=np.bool_)
    if targets.dtype.kind == "U" and not isinstance(unlabeled, str) and str(unlabeled) in targets:
        raise ValueError(
            f"y contains the string {str(unlabeled)!r} where unlabeled={unlabeled!r}: NumPy "
            "converts numbers among strings to strings. Make y an array of dtype=object, or set "
            f"unlabeled={str(unlabeled)!r}, or unlabeled=None if it is a class."
        )
    return np.asarray(targets == unlabeled, dtype=np.bool_)


def _unify_labels(labels: Labels, unlabeled: object) -> Labels:
    """Return labels of one kind as an array of that kind; raise if any are missing."""
    if labels.dtype.kind in "fO" and _is_unlabeled(labels, None).any():
        raise ValueError(
            f"y contains missing values, but unlabeled={unlabeled!r} marks the rows without a "
            "label. Set unlabeled=None if missing means unlabelled."
        )
    if labels.dtype != object:
        validation.assert_all_finite(labels, input_name="y")
        return labels
    kinds = {isinstance(label, str) for label in labels}
    if kinds == {True, False}:
        raise ValueError(
            f"y mixes strings and numbers: {_shorten(labels)}. Use one kind of label, as in "
            "[str(label) for label in y], and set unlabeled=... to the value that marks unlabelled "
            "rows."
        )
    return labels if True in kinds else np.array(labels.tolist())


def _to_names(labels: Labels) -> list[Label]:
    """Return labels as the learner takes them: plain strings and integers."""
    return [label if isinstance(label, str) else int(label) for label in labels.tolist()]


def _shorten(labels: Labels) -> str:
    """Return the first few labels as text, for a message."""
    text = ", ".join(repr(label) for label in labels[:5].tolist())
    return f"[{text}]" if len(labels) <= 5 else f"[{text}, ...]"
