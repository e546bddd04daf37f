"""The online learner: harmonic solutions on quantized graphs (Figure 1 of the paper, extended)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Never, Self, TypeAlias, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike

from labelwalk import _validation as validation
from labelwalk.arrays import Floats, Ints, Label
from labelwalk.concurrency import defer_interrupts, recover_interrupts, synchronized
from labelwalk.engine import label_removal, persistence, tables
from labelwalk.engine.active_learning import RULES, Question, questions
from labelwalk.engine.engine import Engine
from labelwalk.engine.explanation import Explanation, explain
from labelwalk.engine.health_report import Event, Health, events, report_health
from labelwalk.engine.label_conflicts import warn_of_conflicts
from labelwalk.engine.leave_one_out import LeftOut, predict_left_out
from labelwalk.engine.persistence import LearnerParts
from labelwalk.engine.scaling import Scale
from labelwalk.engine.sources import Sources, as_sources
from labelwalk.engine.state import create_state
from labelwalk.kernels.answer import KernelAnswers
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.settings import (
    AdjustableSettings,
    Settings,
    adjust_settings,
    check_covers,
    reject_removed,
    shares,
)
from labelwalk.similarity import Gaussian, SelfTuning, Similarity
from labelwalk.storage import model_file
from labelwalk.verdicts import Verdict, Verdicts, decide, decide_one

Row: TypeAlias = Sequence[float]
"""One example. An array of one dimension is one example too, which its type does not say."""
SourceNames: TypeAlias = Label | Iterable[Label] | None


class OnlineLearner:
    """Label a stream from a few labels, in memory that depends on `n_centroids` only.

    At most `n_centroids` weighted vertices represent all examples. Their labels are the harmonic
    function on the graph of their similarities: the probability that a random walk reaches a label
    of each class before it ends in the sink, which means "I don't know". Several threads may use a
    learner: their calls are executed one at a time, and other threads of the program are not
    blocked. Ctrl-C takes effect between two examples, or at the end of any other change; `n_seen`
    is the number of examples that were learned.

    Examples X are an array of shape (n, d), or a single row of shape (d,), for which a method
    returns a single answer or id. Data frames are examples too: the first one names the features,
    and the columns of later ones are matched by name. Rows without names are not reordered.

    Parameters
    ----------
    n_centroids : int or None
        k, the maximum number of unlabelled vertices. None keeps every distinct example.
    similarity : SelfTuning or Gaussian
        Similarity between two examples. The default, `SelfTuning()`, measures its bandwidths.
    scale : "none" or "robust"
        "none" compares features unscaled. "robust" centres each feature at its median and divides
        it by its robust spread. Both are measured after 1, 2, 4, ... and 128 examples, and what has
        been learned is then learned again in the new units. The scale is fixed after 128 examples,
        or as soon as an example is taught later, retracted or forgotten. `radius`, `bandwidth` and
        the reach of vertices are in scaled units.
    sink : float
        γ: the weight of the sink at each vertex, in units of similarity, from 1e-300 to 1e100. The
        larger it is, the sooner a walk ends without a label. Below about 1e-12 rounding may prevent
        proofs: the bounds show it.
    growth : float
        m > 1. "doubling" multiplies R by it. "just-enough" continues to merge below k vertices
        while the next distance is at most m times the last one.
    coarsening : "just-enough" or "doubling"
        How vertices merge when there are more than k. The paper uses "doubling".
    labelled : "pure" or "absorb"
        "pure": labelled vertices represent taught examples only. "absorb": they also represent
        unlabelled examples within R, as in the paper.
    label_weight : float or None
        Weight of a labelled vertex, as a multiple of the mean vertex. The sink is scaled alike, so
        that labels and sink keep their influence in an endless stream. None: every vertex has the
        weight of the examples it represents, as in the paper.
    weight_cap : float or None
        Maximum weight of an unlabelled vertex, as a multiple of the mean vertex, so that a source
        that repeats one example cannot dominate. None: no maximum. It has an effect only together
        with `label_weight`.
    labels_per_class : int
        Maximum number of labelled vertices per class. Above it, the closest ones merge.
    representative : "mean" or "founder"
        The point of a vertex from which similarities are measured: the running mean of its
        examples, or the example that created it, as in the paper.
    readout : "example" or "vertex"
        Where the answer is computed: at the example itself, from all similar vertices, before it is
        learned; or at the vertex that it joined, as in the paper.
    unreached : "nearest" or "abstain"
        The answer where no label can be reached: the nearest label, with the confidence of a guess
        among the classes and one unknown class; or no label.
    quarantine : int or None
        Number of outliers close together that create a vertex; until then, outliers are not
        learned. None: outliers are never learned, as in the paper.
    source_share : float or None
        Maximum share of one source among the learned examples, over about the last thousand, if
        `observe` is given sources. Examples that exceed it are answered, and neither learned nor
        remembered. None: no maximum.
    remember : int
        Number of recent examples that are stored unchanged, so that they can be taught later, asked
        about, or retracted by their ids.
    half_life : float or None
        Number of examples after which an unlabelled example's weight halves. Vertices that have
        become too light are removed. None: no example fades. Labels do not fade.
    calibrate : bool
        Whether scores are raised to the power that best predicts left-out labels. It changes the
        confidence, never the best class.
    prior : None, "uniform" or dict
        Expected share of each class in the stream. The scores of classes that exceed their share
        are reduced before the best one is chosen.
    tolerance : float
        Maximum error of a probability, compared with the exact solution on the learner's own graph.
        0 solves exactly at each step.
    abstain_below : float
        Abstain if the confidence is below this value.

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

    _lock: threading.RLock
    _classes: dict[Label, int]
    _engine: Engine
    _feature_names: tuple[str, ...]

    def __init__(
        self,
        n_centroids: int | None = 500,
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
        source_share: float | None = None,
        remember: int = 1000,
        half_life: float | None = None,
        calibrate: bool = True,
        prior: Literal["uniform"] | dict[Label, float] | None = None,
        tolerance: float = 1e-2,
        abstain_below: float = 0.0,
        **removed: Never,
    ) -> None:
        reject_removed(removed)
        arguments = locals() | {"similarity": SelfTuning() if similarity is None else similarity}
        settings = Settings(**{field.name: arguments[field.name] for field in fields(Settings)})
        units = Scale(frozen=scale == "none")
        self._become(LearnerParts(Engine(settings, create_state(0, 0, 0), units), [], Sources()))

    @classmethod
    def paper(
        cls,
        n_centroids: int | None = 200,
        bandwidth: float | Literal["cover", "scale"] = "scale",
        sink: float = 0.1,
        growth: float = 1.5,
        threshold: float | None = None,
        *,
        labelled: Literal["absorb", "pure"] = "absorb",
        tolerance: float = 1e-2,
    ) -> Self:
        """Return the learner of Figure 1 of the paper, with the numbered corrections.

        Parameters
        ----------
        n_centroids, bandwidth, sink, growth
            k, σ, γ_g and m of the paper.
        threshold : float, optional
            ε of section 5.2, which sets it to 0.1 γ_g; section 5.1 has none.
        labelled, tolerance
            As in `OnlineLearner`; the paper uses "absorb".

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
            labelled=labelled,
            label_weight=None,
            weight_cap=None,
            labels_per_class=10_000,
            representative="founder",
            readout="vertex",
            unreached="abstain",
            quarantine=None,
            remember=0,
            calibrate=False,
            tolerance=tolerance,
        )

    @overload
    @synchronized
    def teach(
        self, X: ArrayLike, labels: Label | Iterable[Label], *, ids: Literal[False] = False
    ) -> None: ...
    @overload
    @synchronized
    def teach(self, X: Row, labels: Label, *, ids: Literal[True]) -> int: ...  # type: ignore[overload-overlap]
    @overload
    @synchronized
    def teach(self, X: ArrayLike, labels: Iterable[Label], *, ids: Literal[True]) -> Ints: ...
    @synchronized
    def teach(
        self, X: ArrayLike, labels: Label | Iterable[Label], *, ids: bool = False
    ) -> int | Ints | None:
        """Learn labelled examples. They may come at any time and may add classes.

        If an example already has a different label, both count and a `LabelConflictWarning`
        names them.

        Parameters
        ----------
        X : examples
        labels : n labels, or one label if X is a single row
            Strings or integers.
        ids : bool
            Whether to return the ids of the examples, for `retract`.

        Returns
        -------
        ids : array of n integers, or one integer if X is a single row; None unless `ids` is true

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([[0.0, 0.0], [9.0, 9.0]], ["low", "high"])
        >>> learner.teach([8.0, 9.0], "high", ids=True)
        2
        """
        rows, single = self._as_rows(X)
        names = validation.as_labels(labels, len(rows))
        check_covers(self.settings.prior, names)
        first, n_conflicts = self.n_seen, int(self._engine.state.counters.n_conflicts)
        _compile_loop()
        with defer_interrupts(), self._naming(names, X) as codes:
            self._engine.teach(rows, codes, self._shares)
        if self._engine.state.counters.n_conflicts > n_conflicts:
            scaled = self._engine.scale.scaled(rows)
            warn_of_conflicts(self._engine.state, self.classes, scaled, codes)
        return self._ids(first, single) if ids else None

    @synchronized
    def teach_later(self, example_id: int, label: Label) -> None:
        """Label an example that was seen earlier.

        It is taught as if it arrived again now, with its label, and keeps its id.

        Parameters
        ----------
        example_id : int
            Id from `observe(X, ids=True)` or `ask`, of one of the last `remember` examples.
        label : str or int

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([0.0, 0.0], "low")
        >>> verdicts, ids = learner.observe([[0.5, 0.0], [9.0, 9.0], [8.5, 9.0]], ids=True)
        >>> learner.teach_later(ids[1], "high")
        >>> learner.predict([8.0, 9.0]).label
        'high'
        """
        number, names = validation.as_id(example_id), [validation.as_label(label)]
        check_covers(self.settings.prior, names)
        state = self._engine.state
        x = label_removal.find_example(state, number)
        code, n_conflicts = self._engine.find_label(number), int(state.counters.n_conflicts)
        if code != UNLABELLED:
            if self.classes[code] == names[0]:
                return
            raise ValueError(
                f"example_id={number} was taught as {self.classes[code]!r} before, not as "
                f"{names[0]!r}. Remove that label first, with retract(example_id={number})."
            )
        _compile_loop()
        with defer_interrupts(), self._naming(names, x) as codes:
            self._engine.teach_later(number, x, int(codes[0]), self._shares())
        if self._engine.state.counters.n_conflicts > n_conflicts:
            warn_of_conflicts(self._engine.state, self.classes, x, codes)

    @synchronized
    def retract(self, example_id: int | None = None, *, label: Label | None = None) -> None:
        """Remove the label of one example, or all labels of a class.

        The labelled vertices are removed, and later answers do not depend on them. If nothing was
        observed after the label, the cover and its weights are byte for byte as if it had never
        been taught, unless the label merged with others, was taught at a step of fading, or was
        taught while a robust scale was being measured. Otherwise, other examples stay where they
        were assigned in the meantime; their vertices are the same unless the label decided whether
        an example was an outlier. With labelled="absorb", the examples that joined a labelled
        vertex are removed with it.

        Parameters
        ----------
        example_id : int, optional
            The id of an example that was taught.
        label : str or int, optional
            A class. Its name stays in `classes`; `forget` removes it too.
        """
        if (example_id is None) == (label is None):
            raise ValueError(
                f"example_id={example_id!r} and label={label!r}: pass exactly one of them, such as "
                "retract(example_id=3) or retract(label='cat')."
            )
        with defer_interrupts():
            if label is not None:
                self._engine.retract_class(self._code(label))
            else:
                self._engine.retract(validation.as_id(example_id))

    @synchronized
    def forget(self, label: Label) -> None:
        """Remove a class: its labelled vertices, the examples that they represent, and its name.

        Parameters
        ----------
        label : str or int
            One of `classes`.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([[0.0, 0.0], [9.0, 9.0]], ["low", "high"])
        >>> learner.forget("high")
        >>> learner.classes
        ('low',)
        """
        code = self._code(label)
        with defer_interrupts():
            self._engine.forget_class(code)
            names = [name for name in self.classes if self._classes[name] != code]
            self._classes = {name: i for i, name in enumerate(names)}

    @overload
    @synchronized
    def observe(  # type: ignore[overload-overlap]
        self, X: Row, *, source: SourceNames = None, ids: Literal[False] = False
    ) -> Verdict: ...
    @overload
    @synchronized
    def observe(
        self, X: ArrayLike, *, source: SourceNames = None, ids: Literal[False] = False
    ) -> Verdicts: ...
    @overload
    @synchronized
    def observe(  # type: ignore[overload-overlap]
        self, X: Row, *, source: SourceNames = None, ids: Literal[True]
    ) -> tuple[Verdict, int]: ...
    @overload
    @synchronized
    def observe(
        self, X: ArrayLike, *, source: SourceNames = None, ids: Literal[True]
    ) -> tuple[Verdicts, Ints]: ...
    @synchronized
    def observe(
        self, X: ArrayLike, *, source: SourceNames = None, ids: bool = False
    ) -> Verdict | Verdicts | tuple[Verdict, int] | tuple[Verdicts, Ints]:
        """Learn unlabelled examples in order, and answer each at its own step.

        Parameters
        ----------
        X : examples
        source : a name, or n names, optional
            The sources of the examples: strings or integers; see `source_share`.
        ids : bool
            Whether to also return the ids of the examples, for `teach_later`.

        Returns
        -------
        verdicts : Verdicts, or Verdict where X is a single row
        ids : array of n integers, or one integer if X is a single row; only if `ids` is true

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([[0.0, 0.0], [9.0, 9.0]], ["low", "high"])
        >>> learner.observe([[1.0, 0.5], [8.0, 9.0]]).label.tolist()
        ['low', 'high']
        """
        rows, single = self._as_rows(X)
        first, share = self.n_seen, self.settings.source_share or 1.0
        names: list[Label] = []
        if source is None:
            codes = np.empty(len(rows), dtype=np.int64)
            codes.fill(UNLABELLED)  # np.full takes half a microsecond more
        else:
            names = as_sources(source, len(rows), self.settings.source_share)
            codes = self._sources.codes(names, share)
        _compile_loop()
        with defer_interrupts():
            try:
                answers = self._engine.learn(rows, codes, len(self._classes), self._shares)
            finally:
                if type(X) is not np.ndarray:
                    self._keep_names(X, first)
                if names:
                    for name in names[: self.n_seen - first]:
                        self._sources.admit(name, share)
        verdicts = self._verdicts(answers, single)
        return (verdicts, self._ids(first, single)) if ids else verdicts

    @overload
    @synchronized
    def predict(self, X: Row) -> Verdict: ...  # type: ignore[overload-overlap]
    @overload
    @synchronized
    def predict(self, X: ArrayLike) -> Verdicts: ...
    @synchronized
    def predict(self, X: ArrayLike) -> Verdict | Verdicts:
        """Answer examples without learning, by the harmonic extension of the graph to each.

        Parameters
        ----------
        X : array of shape (n, d) or (d,)

        Returns
        -------
        verdicts : Verdicts, or Verdict where X is a single row

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([[0.0, 0.0], [9.0, 9.0]], ["low", "high"])
        >>> learner.predict([[0.5, 0.0], [8.0, 9.0]]).label.tolist()
        ['low', 'high']
        """
        rows, single = self._as_rows(X)
        answers = self._engine.extend(rows, self._shares())
        verdicts: Verdict | Verdicts = self._verdicts(answers, single)
        return verdicts

    def scaled(self, X: ArrayLike) -> Floats:
        """Return examples in the units in which distances are measured.

        Parameters
        ----------
        X : array of shape (n, d) or (d,)

        Returns
        -------
        rows : array of shape (n, d)

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(scale="robust")
        >>> learner.teach([[0.0, 1000.0], [2.0, 5000.0]], ["low", "high"])
        >>> learner.scaled([2.0, 1000.0]).tolist(), learner.vertices.points[1].tolist()
        ([[1.0, -1.0]], [2.0, 5000.0])
        """
        return self._engine.scale.scaled(self._as_rows(X)[0])

    @synchronized
    def ask(
        self, n: int = 1, *, by: Literal["error", "uncertainty", "variance"] = "error"
    ) -> list[Question]:
        """Return the questions whose answers would help most: what to label next.

        Parameters
        ----------
        n : int
            Maximum number of questions; they do not overlap.
        by : "error", "uncertainty" or "variance"
            What a label should reduce: the expected number of errors at all vertices; the
            uncertainty at the vertex itself; or the variance of all vertices (V-optimality), which
            needs no labels and is used while there are none.

        Returns
        -------
        questions : list of Question
            The most useful first, those with a remembered example before all others; fewer than n
            if there are fewer unlabelled vertices. Answer with ``teach_later(example_id, label)``,
            or with ``teach(example, label)`` if that id is None.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([0.0, 0.0], "low")
        >>> _ = learner.observe([[0.5, 0.0], [9.0, 9.0], [8.5, 9.0], [9.0, 8.5]])
        >>> question = learner.ask()[0]
        >>> print(question.example_id, question.example)
        2 [9. 9.]
        >>> learner.teach_later(question.example_id, "high")
        """
        validation.check_whole("n", n, "10")
        validation.check_choice("by", by, RULES)
        return questions(self._engine, self.classes, self._shares(), n, by)

    @synchronized
    def explain(self, x: ArrayLike) -> Explanation:
        """Explain the answer to an example; nothing is learned.

        Parameters
        ----------
        x : array of shape (d,)

        Returns
        -------
        explanation : Explanation
            The labels that a walk from x reaches, with their probabilities, and the most probable
            path. Summed by class, these are the probabilities of `predict`, solved exactly.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([[0.0, 0.0], [9.0, 9.0]], ["low", "high"])
        >>> _ = learner.observe([[0.5, 0.0], [1.0, 0.5], [1.5, 0.5]])
        >>> print(learner.explain([2.0, 0.5]))
          99.6%  low: example 0
           0.4%  high: example 1
           0.0%  no label
        most probable path: example 0
        """
        rows, _ = self._as_rows(x)
        if len(rows) > 1:
            raise ValueError(f"x has {len(rows)} rows. Pass one example, such as explain(x[0]).")
        return explain(self._engine, rows[0], self.classes)

    @contextmanager
    def _naming(self, names: list[Label], X: ArrayLike) -> Iterator[Ints]:
        """Yield the codes of labels, new ones included; drop new ones that were not learned."""
        first = self.n_seen
        for name in names:
            self._classes.setdefault(name, len(self._classes))
        try:
            yield np.array([self._classes[name] for name in names], dtype=np.int64)
        finally:
            self._keep_names(X, first)
            for name in self.classes[self._engine.state.n_classes :]:
                del self._classes[name]

    def _keep_names(self, X: ArrayLike, first: int) -> None:
        """Store the names of the first data frame of which examples were learned."""
        if not self._feature_names and self.n_seen > first:
            self._feature_names = validation.column_names(X)

    def _as_rows(self, X: ArrayLike) -> tuple[Floats, bool]:
        return validation.as_rows(X, self.n_features, self._feature_names)

    def _ids(self, first: int, single: bool) -> Any:
        return first if single else np.arange(first, self.n_seen)

    def _code(self, label: Label) -> int:
        name = validation.as_label(label)
        if name not in self._classes:
            raise ValueError(
                f"label={validation.shown(label)} is not a class of this learner. Choose one of "
                f"{list(self.classes)}."
            )
        return self._classes[name]

    def _shares(self, n_classes: int | None = None) -> Floats:
        return shares(self.settings.prior, self.classes[:n_classes])

    def _verdicts(self, answers: KernelAnswers, single: bool) -> Any:
        to_verdict = decide_one if single else decide
        return to_verdict(answers, self.classes, self.settings.abstain_below)

    @property
    def settings(self) -> Settings:
        """The parameters, as given or adjusted."""
        return self._engine.settings

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels taught so far, in order of first appearance."""
        return tuple(self._classes)

    @property
    def n_features(self) -> int | None:
        """Number of features of an example; None before the first example."""
        return self._engine.state.n_features or None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in order; empty if no example had names.

        Assign new names to rename features, or () to remove the names. All numbers of a list
        column of a stream have the name of the column.
        """
        return self._feature_names

    @feature_names.setter
    def feature_names(self, names: Sequence[str]) -> None:
        persistence.check_feature_names(tuple(names), self.n_features or 0)
        self._feature_names = tuple(names)

    @property
    def n_seen(self) -> int:
        """Number of examples taught or observed, outliers included."""
        return int(self._engine.state.progress["n_seen"][0])

    @property
    def n_outliers(self) -> int:
        """Number of examples that were similar to no vertex and did not change the graph."""
        return int(self._engine.state.counters.n_outliers)

    @property
    def n_gone(self) -> int:
        """Number of examples that no longer count: faded, retracted, or not learned.

        The counts of all vertices, `n_outliers` and this number sum to `n_seen`.
        """
        return int(self._engine.state.counters.n_removed)

    @property
    def n_vertices(self) -> int:
        """Number of vertices of the graph, labelled ones included."""
        return self._engine.state.n

    @property
    def radius(self) -> float:
        """R: unlabelled vertices are at least this far apart; a closer example joins a vertex."""
        return float(self._engine.state.counters.radius)

    @property
    @synchronized
    def bandwidth(self) -> float:
        """Current σ of the Gaussian; 0 before it is measured."""
        return float(self._engine.state.counters.sigma)

    @property
    @synchronized
    def distortion(self) -> float:
        """The largest reach: a bound on the distance of any example to its vertex."""
        return float(self.vertices.reach.max(initial=0.0))

    @property
    @synchronized
    def certificate(self) -> float:
        """The largest proven error of the present probabilities of any vertex."""
        return self._engine.certificate()

    @property
    @synchronized
    def vertices(self) -> tables.VertexTable:
        """A copy of the vertices, oldest first; points and means are in original units."""
        return tables.vertex_table(self._engine.state, self._engine.scale, self.classes)

    @property
    @synchronized
    def graph(self) -> tables.GraphTable:
        """A copy of the graph that is solved: similarities, weights, sinks and labels.

        Examples
        --------
        >>> from labelwalk import Gaussian, OnlineLearner
        >>> learner = OnlineLearner(similarity=Gaussian(1.0))
        >>> _ = learner.observe([[0.0], [1.0], [3.0]])
        >>> print(learner.graph.similarity.round(2))
        [[0.   0.61 0.01]
         [0.61 0.   0.14]
         [0.01 0.14 0.  ]]
        """
        return tables.graph_table(self._engine.state, self.classes)

    @property
    @synchronized
    def remembered(self) -> tables.ExampleTable:
        """A copy of the remembered examples, oldest first, in original units.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> _ = learner.observe([[0.0], [9.0]])
        >>> learner.teach([0.5], "low")
        >>> learner.remembered.id.tolist(), learner.remembered.label.tolist()
        ([0, 1, 2], [None, None, 'low'])
        """
        return tables.example_table(self._engine.state, self._engine.scale, self.classes)

    @property
    @synchronized
    def newest(self) -> Ints:
        """The id of the newest remembered example of each vertex; -1 if there is none."""
        return tables.newest(self._engine.state)

    @property
    @synchronized
    def quarantined(self) -> Floats:
        """The first outlier of each group in quarantine."""
        return tables.list_quarantined(self._engine.state, self._engine.scale)

    @property
    def nbytes(self) -> int:
        """Size of the learner's arrays in bytes."""
        return self._engine.state.nbytes + self._engine.scale.nbytes

    @synchronized
    def health(self) -> Health:
        """Return the health metrics of the learner, with a sentence about each; nothing changes.

        Returns
        -------
        health : Health
            One `Sign` for each metric, by name; `print` shows them as a table.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(50)
        >>> _ = learner.observe([[0.0], [1.0], [2.0]])
        >>> metric = learner.health()["sink"]
        >>> metric.value, metric.ok, metric.meaning
        (1.0, False, 'No label has been taught: teach some.')
        """
        return report_health(self._engine.state, self.settings)

    @synchronized
    def left_out(self) -> LeftOut:
        """Predict each taught label from the others, without the label itself; nothing changes.

        Labels that are alone in their class are omitted, since nothing could predict them. If all
        labels come from one moment of the stream, each predicts the next, and the result is too
        good.

        Returns
        -------
        label : array of the n taught labels
        verdicts : Verdicts, the answers without the label

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([[0.0], [0.4], [9.0], [9.4]], ["low", "low", "high", "high"])
        >>> _ = learner.observe([[0.2], [9.2]])
        >>> label, verdicts = learner.left_out()
        >>> (verdicts.label == label).tolist()
        [True, True, True, True]
        """
        state = self._engine.state
        bias = self._engine.settle(self._shares())[0].bias if state.n else state.system.bias
        return predict_left_out(state, bias, self.settings, self.classes)

    @property
    @synchronized
    def events(self) -> list[Event]:
        """The last 64 times that a health metric crossed its limit, oldest first.

        Metrics are measured every 256 examples, those over all vertices every 1024, and those that
        require a direct solution (certificate and graph) whenever the examples have doubled.
        """
        return events(self._engine.state)

    @synchronized
    def adjust(self, **changes: Unpack[AdjustableSettings]) -> None:
        """Change settings of a learner in use; settings that are not given keep their values.

        What it has learned does not change: it answers from the same graph. A new sink takes effect
        as in the exact solution, and a new prior as if there had been none before. From now on
        examples fade with the new half-life. A half-life can be introduced, but not removed, since
        examples that have faded cannot be restored. A learner that has seen nothing becomes equal
        to one made with the new settings. While a robust scale is being measured, all examples are
        learned again with them.

        Parameters
        ----------
        sink, prior, half_life, abstain_below
            As in `OnlineLearner`.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner = OnlineLearner(n_centroids=50)
        >>> learner.teach([[0.0, 0.0], [9.0, 9.0]], ["low", "high"])
        >>> verdict = learner.observe([4.0, 4.0])
        >>> learner.adjust(abstain_below=0.99)
        >>> print(verdict.label, learner.predict([4.0, 4.0]).label)
        low None
        """
        new = adjust_settings(self.settings, changes, begun=self.n_features is not None)
        check_covers(new.prior, self.classes)
        with defer_interrupts():
            self._engine.adjust(new)

    def merge(self, other: OnlineLearner) -> None:
        """Merge another learner with the same settings into this one.

        The union of the vertices is reduced to the maximum numbers, closest pairs first. A learner
        that has seen nothing has no effect. Outliers in the other learner's quarantine and its
        events are dropped, and drift detection starts again. If features are scaled, both learners
        must have the same scale, such as learners that started from one file; it is then fixed.
        Features are matched by name if both learners have names, otherwise by their order. The ids
        of the other learner's examples and its counts of sources are lost, and examples from before
        the merge cannot be taught later.

        Examples
        --------
        >>> from labelwalk import OnlineLearner
        >>> learner, other = OnlineLearner(n_centroids=50), OnlineLearner(n_centroids=50)
        >>> learner.teach([0.0, 0.0], "low")
        >>> other.teach([9.0, 9.0], "high")
        >>> learner.merge(other)
        >>> learner.predict([8.0, 9.0]).label
        'high'
        """
        if not isinstance(other, OnlineLearner):
            raise ValueError(
                f"other={validation.shown(other)} is not an OnlineLearner. Pass a learner, such as "
                "load(path)."
            )
        first, second = sorted((self, other), key=id)  # one order, so that no threads deadlock
        with first._lock, second._lock:
            self._merge(other)

    def _merge(self, other: OnlineLearner) -> None:
        if self.settings != other.settings:
            raise ValueError(
                f"other has the settings {other.settings}, this learner {self.settings}. Merge "
                "learners with the same settings."
            )
        if other.n_features is None:
            return
        if self.n_features not in (None, other.n_features):
            raise ValueError(
                f"other has {other.n_features} features, but this learner has {self.n_features}. "
                "Merge learners with the same columns."
            )
        names = self._feature_names or other._feature_names
        given = other._feature_names or names
        order = validation.places(given, names) or [*range(other.n_features)]
        classes = dict(self._classes)
        for name in other.classes:
            classes.setdefault(name, len(classes))
        codes = np.array([classes[name] for name in other.classes], dtype=np.int32)
        with defer_interrupts():
            self._engine.merge(other._engine, codes, len(classes), order)
            self._classes, self._feature_names = classes, names

    @synchronized
    def save(self, path: str | os.PathLike[str], *, note: dict[str, Any] | None = None) -> None:
        """Write the learner to a file, atomically.

        Parameters
        ----------
        path : path
        note : dict, optional
            JSON values to store in the file; `labelwalk.storage.model_file.read` returns them in
            the header. `load` ignores them.

        Raises
        ------
        labelwalk.storage.model_file.ModelFileError
            The file cannot be written, or the learner failed in the middle of an example and could
            not be loaded again. An existing file at `path` is then unchanged.
        """
        model_file.write(path, *persistence.to_checked_contents(self._parts(), str(path), note))

    @synchronized
    def to_bytes(self, *, note: dict[str, Any] | None = None) -> bytes:
        """Return the file that `save` would write.

        Examples
        --------
        >>> from labelwalk.learner import OnlineLearner, from_bytes
        >>> learner = OnlineLearner(n_centroids=10)
        >>> from_bytes(learner.to_bytes()).digest() == learner.digest()
        True
        """
        return model_file.pack(*persistence.to_checked_contents(self._parts(), "the learner", note))

    @synchronized
    def digest(self) -> str:
        """Return a SHA-256 of the state and the settings: learners with equal digests are equal."""
        return model_file.digest(*self._contents())

    def __repr__(self) -> str:
        return (
            f"<OnlineLearner: {self.n_seen} examples seen, {self.n_vertices} vertices, "
            f"{len(self.classes)} classes>"
        )

    @synchronized
    def __getstate__(self) -> dict[str, Any]:
        header, arrays = self._contents()
        return header | {"settings": self.settings, "arrays": arrays}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        self._become(persistence.from_trusted_contents(pickled))

    def _become(self, parts: LearnerParts) -> None:
        self._lock = threading.RLock()
        self._engine, classes, self._sources, self._feature_names = parts
        self._classes = {name: code for code, name in enumerate(classes)}

    def _parts(self) -> LearnerParts:
        return LearnerParts(self._engine, list(self.classes), self._sources, self._feature_names)

    def _contents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return persistence.to_contents(self._parts())


@cache
def _compile_loop() -> None:
    """Compile the loop before interrupts are held: it may take a minute."""
    with recover_interrupts():
        Engine.start(OnlineLearner().settings, 1, Scale(frozen=True)).compile()


def load(path: str | os.PathLike[str]) -> OnlineLearner:
    """Load a learner from a file; it continues exactly where the saved one stopped.

    Parameters
    ----------
    path : path
        A file written by `OnlineLearner.save`.

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
    return _restore(persistence.from_contents(*model_file.read(path), str(path)))


def from_bytes(content: bytes) -> OnlineLearner:
    """Load a learner from the content of its file."""
    return _restore(persistence.from_contents(*model_file.unpack(content), "the content"))


def _restore(parts: LearnerParts) -> OnlineLearner:
    learner = OnlineLearner.__new__(OnlineLearner)
    learner._become(parts)
    return learner
