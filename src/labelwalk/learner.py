"""The online quantized harmonic learner (Figure 1 of the paper, and what it leaves out)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from labelwalk import modelfile, state, union
from labelwalk.arrays import Floats, Label
from labelwalk.decision import decide, decide_one
from labelwalk.engine import Engine
from labelwalk.health import Event, Health, events, examine
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.verdict import Answers
from labelwalk.prior import check_covers, shares
from labelwalk.rows import as_labels, as_rows
from labelwalk.settings import Settings
from labelwalk.similarity import Gaussian, SelfTuning, Similarity
from labelwalk.soundness import check_sound
from labelwalk.table import VertexTable, vertex_table


class OnlineLearner:
    """Label a stream from a handful of labels, in memory that depends on k alone.

    At most `n_centroids` weighted vertices stand for all examples. Their labels are the harmonic
    function on the graph of their similarities: the probability that a random walk meets a label
    of each class before it ends in the sink, which means "I don't know".

    Parameters
    ----------
    n_centroids : int or None
        k, the most unlabelled vertices that are kept. None keeps every distinct example.
    similarity : SelfTuning, Gaussian or Pairwise
        How alike two examples are. The default, `SelfTuning()`, measures its bandwidths itself.
    sink : float
        γ > 0: how readily a walk gives up, in units of similarity.
    growth : float
        m > 1. Doubling multiplies R by it; just-enough coarsening goes on past k only while the
        next distance is at most m times the last.
    coarsening : "just-enough" or "doubling"
        How vertices merge when there are more than k; "doubling" is the paper's.
    labelled : "pure" or "absorb"
        Whether labelled vertices stand for taught examples alone, or also take in unlabelled
        examples that lie within R, as in the paper.
    label_weight : float or None
        What a labelled vertex weighs, as a multiple of the mean vertex; the sink is scaled alike,
        so that an endless stream neither drowns the labels nor dries up the sink. None: every
        vertex weighs the examples it stands for, as in the paper.
    weight_cap : float or None
        The most an unlabelled vertex weighs, as a multiple of the mean vertex, whatever its count:
        a source that is stuck on one example cannot drown the others. None: no cap. It takes effect
        only together with `label_weight`.
    labels_per_class : int
        The most labelled vertices of one class; past that the closest ones merge.
    representative : "mean" or "founder"
        What similarities are measured from: the running mean of a vertex's examples, or the example
        it was founded on, as in the paper. A distance or similarity of your own has no means.
    readout : "example" or "vertex"
        Where the answer is read: at the example itself, from all vertices it is similar to, before
        it is learned; or at the vertex that took it in, as in the paper.
    unreached : "nearest" or "abstain"
        What is said where no label can be reached: the nearest label, with the confidence of a
        guess among the classes and something never taught; or nothing.
    quarantine : int or None
        Outliers are kept out until so many have come close together: that one founds a vertex.
        None: all are kept out, as in the paper, and also where distances are your own.
    calibrate : bool
        Whether scores are raised to the power that foretells the labels taught best, each left out
        in turn. It changes confidence, never the label.
    prior : None, "uniform" or dict
        The share of the stream each class is believed to have. Classes that take more than theirs
        are marked down before the best one is chosen.
    tolerance : float
        The largest error of a probability against the exact solution on the learner's own graph.
        0 solves exactly at each step.
    abstain_below : float
        Abstain where the confidence is below this.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk import OnlineLearner
    >>> learner = OnlineLearner(n_centroids=50)
    >>> learner.teach([[0.0, 0.0], [9.0, 9.0]], ["low", "high"])
    >>> verdicts = learner.observe([[1.0, 0.5], [8.0, 9.0], [2.0, 1.0]])
    >>> verdicts.label.tolist()
    ['low', 'high', 'low']
    >>> learner.n_seen, learner.n_vertices
    (5, 5)
    """

    def __init__(
        self,
        n_centroids: int | None = 500,
        *,
        similarity: Similarity | None = None,
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
        calibrate: bool = True,
        prior: Literal["uniform"] | dict[Label, float] | None = None,
        tolerance: float = 1e-2,
        abstain_below: float = 0.0,
    ) -> None:
        self.settings = Settings(
            n_centroids=n_centroids,
            similarity=SelfTuning() if similarity is None else similarity,
            sink=sink,
            growth=growth,
            coarsening=coarsening,
            labelled=labelled,
            label_weight=label_weight,
            weight_cap=weight_cap,
            labels_per_class=labels_per_class,
            representative=representative,
            readout=readout,
            unreached=unreached,
            quarantine=quarantine,
            calibrate=calibrate,
            prior=prior,
            tolerance=tolerance,
            abstain_below=abstain_below,
        )
        self._classes: dict[Label, int] = {}
        self._engine = Engine(self.settings, state.empty(0, 0, 0))

    @classmethod
    def paper(
        cls,
        n_centroids: int | None = 200,
        bandwidth: float | Literal["cover", "scale"] = "scale",
        sink: float = 0.1,
        growth: float = 1.5,
        threshold: float | None = None,
        *,
        tolerance: float = 1e-2,
    ) -> Self:
        """Return the learner of Figure 1, with its numbered repairs.

        Parameters
        ----------
        n_centroids, bandwidth, sink, growth
            k, σ, γ_g and m of the paper.
        threshold : float, optional
            ε of section 5.2, which sets it to 0.1 γ_g; none in section 5.1.
        tolerance : float
            As in `OnlineLearner`.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner.paper(n_centroids=200, bandwidth=0.025, sink=1e-5)
        >>> learner.settings.coarsening, learner.settings.labelled
        ('doubling', 'absorb')
        """
        return cls(
            n_centroids,
            similarity=Gaussian(bandwidth, threshold=0.0 if threshold is None else threshold),
            sink=sink,
            growth=growth,
            coarsening="doubling",
            labelled="absorb",
            label_weight=None,
            weight_cap=None,
            labels_per_class=10_000,
            representative="founder",
            readout="vertex",
            unreached="abstain",
            quarantine=None,
            calibrate=False,
            tolerance=tolerance,
        )

    def teach(self, X: ArrayLike, labels: Label | Iterable[Label]) -> None:
        """Learn labelled examples, at any time; new classes are welcome.

        Parameters
        ----------
        X : array of shape (n, d) or (d,)
        labels : n labels, or one
            Strings or integers.
        """
        rows, _ = as_rows(X, self.n_features)
        names = as_labels(labels, len(rows))
        check_covers(self.settings.prior, names)
        for name in names:
            self._classes.setdefault(name, len(self._classes))
        codes = np.array([self._classes[name] for name in names], dtype=np.int64)
        engine = self._started(rows)
        try:
            engine.feed(rows, codes, self._shares())
        finally:
            for name in self.classes[engine.now.n_classes :]:
                del self._classes[name]

    def observe(self, X: ArrayLike) -> Any:
        """Learn unlabelled examples in order, and answer each as of its own step.

        Parameters
        ----------
        X : array of shape (n, d) or (d,)

        Returns
        -------
        verdicts : Verdicts, or Verdict where X is a single row
        """
        rows, single = as_rows(X, self.n_features)
        codes = np.full(len(rows), UNLABELLED, dtype=np.int64)
        answers = self._started(rows).feed(rows, codes, self._shares())
        return self._verdicts(answers, single)

    def predict(self, X: ArrayLike) -> Any:
        """Answer examples without learning: the harmonic extension of the graph to each.

        Parameters
        ----------
        X : array of shape (n, d) or (d,)

        Returns
        -------
        verdicts : Verdicts, or Verdict where X is a single row
        """
        rows, single = as_rows(X, self.n_features)
        return self._verdicts(self._engine.extend(rows, len(self._classes)), single)

    def _started(self, rows: np.ndarray[Any, Any]) -> Engine:
        if self.n_features is None:
            self._engine = Engine.start(self.settings, rows.shape[1])
        return self._engine

    def _shares(self) -> Floats:
        return shares(self.settings.prior, self.classes)

    def _verdicts(self, answers: Answers, single: bool) -> Any:
        to_verdict = decide_one if single else decide
        return to_verdict(answers, self.classes, self.settings.abstain_below)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels taught so far, in order of first appearance."""
        return tuple(self._classes)

    @property
    def n_features(self) -> int | None:
        """How many numbers make an example; None before the first one."""
        return self._engine.now.n_features or None

    @property
    def n_seen(self) -> int:
        """Examples taught or observed, outliers included."""
        return int(self._engine.now.here.n_seen)

    @property
    def n_outliers(self) -> int:
        """Examples that were like nothing known, and left the graph as it was."""
        return int(self._engine.now.here.n_outliers)

    @property
    def n_vertices(self) -> int:
        """Vertices of the graph, labelled ones included."""
        return self._engine.now.n

    @property
    def radius(self) -> float:
        """R: no two unlabelled vertices are closer, and a closer example joins its nearest."""
        return float(self._engine.now.here.radius)

    @property
    def bandwidth(self) -> float:
        """σ of the Gaussian as it stands; 0 before it could be measured."""
        return float(self._engine.now.here.sigma)

    @property
    def distortion(self) -> float:
        """The largest reach: no example is further from the vertex that stands for it."""
        return float(self.vertices.reach.max(initial=0.0))

    @property
    def certificate(self) -> float:
        """The largest proven error of any vertex's probabilities as they stand."""
        return self._engine.certificate()

    @property
    def vertices(self) -> VertexTable:
        """A copy of the vertices, oldest first."""
        return vertex_table(self._engine.now, self.classes)

    @property
    def nbytes(self) -> int:
        """Memory taken by the learner's arrays."""
        return self._engine.now.nbytes

    def health(self) -> Health:
        """Measure the signs of the learner's health, and say what they mean; nothing changes.

        Returns
        -------
        health : Health
            One `Sign` each, by name; `print` shows them as a table.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(50)
        >>> _ = learner.observe([[0.0], [1.0], [2.0]])
        >>> sign = learner.health()["sink"]
        >>> sign.value, sign.ok, sign.meaning
        (1.0, False, 'No label has been taught: teach some.')
        """
        return examine(self._engine.now, self.settings)

    @property
    def events(self) -> list[Event]:
        """The last 64 times a sign of health crossed its limit, oldest first.

        Signs are judged every 256 examples, those over all vertices every 1024, and those that take
        a direct solution (certificate and graph) whenever the stream has doubled.
        """
        return events(self._engine.now)

    def merge(self, other: OnlineLearner) -> None:
        """Take in what another learner of the same settings has seen.

        The union of the vertices is brought within the budgets, closest pairs first. A learner
        that has seen nothing changes nothing. Outliers that wait in the other's quarantine are not
        taken along, nor are its events; the watch for drift begins again.
        """
        if self.settings != other.settings:
            raise ValueError(
                f"other was made with {other.settings}, this learner with {self.settings}. "
                "Only learners made with the same parameters can be merged."
            )
        if other.n_features is None:
            return
        if self.n_features not in (None, other.n_features):
            raise ValueError(
                f"other has {other.n_features} features, this learner {self.n_features}. "
                "Only learners of the same columns can be merged."
            )
        classes = dict(self._classes)
        for name in other.classes:
            classes.setdefault(name, len(classes))
        codes = np.array([classes[name] for name in other.classes], dtype=np.int32)
        theirs = union.recoded(other._engine.now, codes, len(classes))
        if self.n_features is None:
            self._engine = Engine(self.settings, theirs)
        else:
            self._engine.merge(theirs)
        self._classes = classes

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of the learner to a file, at once or not at all."""
        modelfile.write(path, *self._contents())

    def digest(self) -> str:
        """Return a SHA-256 of all of the learner: equal digests, equal learners."""
        return modelfile.digest(*self._contents())

    def __repr__(self) -> str:
        return (
            f"<OnlineLearner: {self.n_seen} examples seen, {self.n_vertices} vertices, "
            f"{len(self.classes)} classes>"
        )

    def __getstate__(self) -> dict[str, Any]:
        arrays = state.to_arrays(self._engine.now)
        return {"settings": self.settings, "classes": self.classes, "arrays": arrays}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        # copied: arrays that joblib maps from a file cannot be written to
        self.settings = pickled["settings"]
        self._classes = {name: code for code, name in enumerate(pickled["classes"])}
        now = state.from_arrays(pickled["arrays"], len(self._classes))
        self._engine = Engine(self.settings, now)

    def _contents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        header = {"settings": self.settings.describe(), "classes": list(self.classes)}
        return header, state.to_arrays(self._engine.now)


def load(path: str | os.PathLike[str], *, similarity: Similarity | None = None) -> OnlineLearner:
    """Read a learner from a file; it goes on exactly where the saved one stood.

    Parameters
    ----------
    path : path
        A file written by `OnlineLearner.save`.
    similarity : SelfTuning, Gaussian or Pairwise, optional
        Needed where the saved learner used functions of your own: a file holds no code.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from labelwalk import OnlineLearner, load
    >>> learner = OnlineLearner(n_centroids=10)
    >>> learner.teach([0.0, 1.0], "left")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "left.labelwalk"
    ...     learner.save(path)
    ...     load(path).digest() == learner.digest()
    True
    """
    header, arrays = modelfile.read(path)
    try:
        settings = Settings.from_description(header["settings"], similarity)
        classes = as_labels(header["classes"], len(set(header["classes"])))
        now = state.from_arrays(arrays, len(classes))
        check_sound(now, settings)
    except (KeyError, TypeError, ValueError) as error:
        raise modelfile.ModelFileError(
            f"{path} holds no learner that can be used: {error}"
        ) from error
    learner = OnlineLearner(**settings.parameters())
    learner._classes = {name: code for code, name in enumerate(classes)}
    learner._engine = Engine(settings, now)
    return learner
