"""The learner as a semi-supervised classifier of CapyMOA. Importing it starts Java."""

from typing import Any, cast

import numpy as np

from labelwalk._validation import MAX_VALUE
from labelwalk.arrays import Floats
from labelwalk.integrations import adopt_settings
from labelwalk.learner import OnlineLearner
from labelwalk.verdicts import Verdict

try:
    from capymoa.base import ClassifierSSL
    from capymoa.core import Instance, LabeledInstance
    from capymoa.stream import Schema
except (RuntimeError, ValueError) as error:
    raise ImportError(
        f"CapyMOA requires Java, which could not be started: {error} Install a Java runtime, such "
        "as OpenJDK 17, or set JAVA_HOME to its folder."
    ) from error

NOMINAL_VALUE = np.sqrt(0.5)  # one-hot encoded with this, two values are at distance 1


class OnlineHarmonicSSL(ClassifierSSL):
    """`OnlineLearner` as a semi-supervised classifier of CapyMOA.

    Parameters
    ----------
    schema : Schema
        The schema of the stream, with a nominal target. Numeric attributes are used unchanged; a
        nominal one is one-hot encoded, so that two of its values are at distance 1.
    n_centroids, similarity, sink, ..., abstain_below
        As in `OnlineLearner`; `remember` is 0, because instances have no ids here.

    Attributes
    ----------
    learner : OnlineLearner
        The underlying learner; its classes are the label values of the schema.

    Examples
    --------
    >>> import numpy as np
    >>> from capymoa.stream import NumpyStream
    >>> from labelwalk.integrations.capymoa import OnlineHarmonicSSL
    >>> X = np.array([[0.0, 0.0], [9.0, 9.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.5, 5.0]])
    >>> stream = NumpyStream(X, np.array([0, 1, 0, 0, 0, 0]))
    >>> model = OnlineHarmonicSSL(stream.get_schema(), n_centroids=50)
    >>> for i, instance in enumerate(stream):
    ...     answer = model.predict(instance)
    ...     model.train(instance) if i < 2 else model.train_on_unlabeled(instance)
    >>> answer, model.learner.classes
    (0, ('0', '1'))
    """

    @adopt_settings
    def __init__(self, schema: Schema, n_centroids: int | None = 200, **settings: Any) -> None:
        super().__init__(schema)
        if not schema.is_classification():
            raise ValueError(
                f"schema={schema.dataset_name!r} has a numeric target, so it has no classes. Pass "
                "the schema of a stream with a nominal target."
            )
        self._encoder = _RowEncoder(schema)
        self.learner = OnlineLearner(n_centroids, **settings, remember=0)

    def train(self, instance: LabeledInstance) -> None:
        """Learn an instance with its label, or as unlabelled if the label is missing.

        Parameters
        ----------
        instance : LabeledInstance
        """
        label = self.schema.get_value_for_index(instance.y_index)
        if label is None:
            self.train_on_unlabeled(instance)
        else:
            self.learner.teach(self._encoder.encode(instance.x), label)

    def train_on_unlabeled(self, instance: Instance) -> None:
        """Learn an instance and ignore its label.

        Parameters
        ----------
        instance : Instance
        """
        self.learner.observe(self._encoder.encode(instance.x))

    def predict(self, instance: Instance) -> int | None:
        """Return the index of the most probable class, or None if the learner abstains.

        Parameters
        ----------
        instance : Instance

        Returns
        -------
        index : int or None
        """
        label = self._predict_one(instance).label
        return None if label is None else int(self.schema.get_index_for_label(label))

    def predict_proba(self, instance: Instance) -> Floats | None:
        """Return the probability of each class, given that the random walk reaches a label.

        Parameters
        ----------
        instance : Instance

        Returns
        -------
        probabilities : array, one for each class of the schema, or None
            They sum to 1. None if the learner abstains.
        """
        verdict = self._predict_one(instance)
        if verdict.label is None:
            return None
        shares = np.zeros(self.schema.get_num_classes())
        indices = [self.schema.get_index_for_label(label) for label in self.learner.classes]
        shares[indices] = verdict.scores / verdict.scores.sum()
        return shares

    def _predict_one(self, instance: Instance) -> Verdict:
        return cast(Verdict, self.learner.predict(self._encoder.encode(instance.x)))


class _RowEncoder:
    """Encodes the attributes of a schema as a row of numbers."""

    def __init__(self, schema: Schema) -> None:
        header, nominal = schema.get_moa_header(), schema.get_nominal_attributes()
        attributes = [i for i in range(header.numAttributes()) if i != header.classIndex()]
        self.names = [str(header.attribute(i).name()) for i in attributes]
        n_values = np.array([len(nominal.get(name, ())) for name in self.names])
        self.nominal = n_values > 0
        widths = np.maximum(n_values, 1)
        self.first = np.cumsum(widths) - widths
        self.n_columns = int(widths.sum())
        self.lowest = np.where(self.nominal, 0.0, -MAX_VALUE)
        self.highest = np.where(self.nominal, n_values - 1.0, MAX_VALUE)

    def encode(self, x: Floats) -> Floats:
        self._check(x)
        value = np.where(self.nominal, x, 0).astype(np.int64)
        row = np.zeros(self.n_columns)
        row[self.first + value] = np.where(self.nominal, NOMINAL_VALUE, x)
        return row

    def _check(self, x: Floats) -> None:
        if len(x) != len(self.names):
            raise ValueError(
                f"instance has {len(x)} attributes, but the schema has {len(self.names)}. Pass "
                "instances of the stream that the schema belongs to."
            )
        outside = np.flatnonzero(~((self.lowest <= x) & (x <= self.highest)))
        if len(outside):
            j = outside[0]
            raise ValueError(
                f"attribute {self.names[j]!r} is {x[j]}, which is not between {self.lowest[j]:g} "
                f"and {self.highest[j]:g}. Impute missing values and correct invalid ones, or skip "
                "the instance."
            )
