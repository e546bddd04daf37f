"""Health report: each metric with its limit and a sentence about its value."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from labelwalk.engine.health_metrics import (
    HEALTH_METRICS,
    GraphBenefit,
    Measurement,
    graph_gain,
    measure_graph_benefit,
)
from labelwalk.engine.state import State
from labelwalk.kernels.drift import DRIFT_BLOCK_ROWS, WARM_UP_BLOCKS
from labelwalk.settings import Settings

WIDTH = 100  # characters of a printed line

# Sentences about a value within its limit, and about one that exceeds it.
SENTENCES: dict[str, tuple[str, str]] = {
    "radius": ("Examples closer than {value:.3g} to a vertex join it.", ""),
    "distortion": (
        "No example is farther than {value:.3g} bandwidths from its vertex.",
        "A vertex may represent dissimilar examples, at {value:.3g} bandwidths: increase "
        "n_centroids.",
    ),
    "outliers": (
        "{value:.1%} of all examples were outliers.",
        "{value:.1%} of all examples were outliers without an answer: scale the features, "
        "increase the bandwidth, or lower the threshold.",
    ),
    "recent outliers": (
        "{value:.1%} of the recent examples are outliers.",
        "{value:.1%} of the recent examples are outliers: check whether the source has changed, "
        "and label new examples.",
    ),
    "new vertices": (
        "{value:.1%} of the recent examples founded a vertex.",
        "{value:.1%} of the recent examples founded a vertex, although the graph has its full "
        "size: the stream is changing, or n_centroids is too small.",
    ),
    "sink": (
        "On average, {value:.1%} of random walks end in the sink, without a label.",
        "On average, {value:.1%} of random walks end in the sink, without a label: label more "
        "examples, lower the sink, or use a longer half-life.",
    ),
    "certificate": (
        "Every probability can be proven to within {value:.2g} of the exact solution.",
        "Probabilities can only be proven to within {value:.2g} of the exact solution: the sink "
        "is too small for double precision; increase it.",
    ),
    "classes": (
        "The answers are as diverse as {value:.3g} classes of equal size.",
        "Nearly all answers belong to few classes; they are only as diverse as {value:.3g} classes "
        "of equal size. If the stream is more diverse, set a prior, or label more examples of the "
        "other classes.",
    ),
    "absorbed": (
        "Labelled vertices represent {value:.1%} of all examples.",
        "Labelled vertices represent {value:.1%} of all examples, so most answers are those of the "
        'nearest label: use labelled="pure", or increase n_centroids.',
    ),
    "graph": (
        "Accuracy of the graph on left-out labels: {value:+.1%} compared with the nearest label.",
        "The graph does not help here: its accuracy on left-out labels is {value:+.1%} compared "
        'with the nearest label. Try scale="robust", another bandwidth or more labels, or use '
        "the nearest label.",
    ),
    "conflicts": (
        "No two labels contradict each other.",
        "Labels contradict each other ({value:.0f} times): identical examples were taught "
        "different labels. Retract the wrong ones.",
    ),
    "drift": (
        "No change of the stream has been detected (detection begins after "
        f"{(1 + WARM_UP_BLOCKS) * DRIFT_BLOCK_ROWS} examples).",
        "The stream has changed: its features are distributed differently. Check the recent "
        "verdicts, and label recent examples.",
    ),
}
NO_LABELS = "No label has been taught: teach some."
TOO_EARLY = (
    "There are too few labels or examples to tell whether the graph helps: {n} labels can be left "
    "out."
)
LEFT_OUT = (
    "Of {n} labels, each left out in turn, the graph predicts {graph:.1%} correctly, the nearest "
    "label {nearest:.1%}."
)
BLIND = (
    "All labels come from one moment of the stream and predict each other on any graph, so this "
    "metric may be uninformative."
)


@dataclass(frozen=True, slots=True)
class Sign:
    """A health metric with its value.

    Attributes
    ----------
    name : str
    value : float
    limit : float or None
        Limit of the value; None if there is no limit.
    ok : bool
    meaning : str
        The meaning of the value, and what to do if it exceeds the limit.
    """

    name: str
    value: float
    limit: float | None
    ok: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Event:
    """A health metric that crossed its limit, in either direction.

    Attributes
    ----------
    at : int
        Number of examples seen at that time.
    name : str
        Name of the metric.
    value : float
    ok : bool
        Whether the value is within the limit again.
    meaning : str
    """

    at: int
    name: str
    value: float
    ok: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Health:
    """The health metrics of a learner by name; `print` shows a report.

    Attributes
    ----------
    signs : tuple of Sign

    Examples
    --------
    >>> from labelwalk import OnlineLearner
    >>> learner = OnlineLearner(50)
    >>> learner.teach([[0.0], [0.0]], ["left", "right"])
    >>> health = learner.health()
    >>> health.ok, health["conflicts"].value
    (False, 1.0)
    >>> [metric.name for metric in health if not metric.ok]
    ['conflicts']
    """

    signs: tuple[Sign, ...]

    @property
    def ok(self) -> bool:
        """Whether all metrics are within their limits."""
        return all(sign.ok for sign in self.signs)

    def __getitem__(self, name: str) -> Sign:
        for sign in self.signs:
            if sign.name == name:
                return sign
        names = ", ".join(sign.name for sign in self.signs)
        raise KeyError(f"no health metric is named {name!r}. Choose one of {names}.")

    def __iter__(self) -> Iterator[Sign]:
        return iter(self.signs)

    def __len__(self) -> int:
        return len(self.signs)

    def __str__(self) -> str:
        return "\n".join([_line("", "metric", "value", "limit", "meaning"), *map(_row, self.signs)])


def report_health(state: State, settings: Settings) -> Health:
    """Measure all metrics of a state, and describe them."""
    benefit = measure_graph_benefit(state, settings)
    signs = []
    for name, measure in HEALTH_METRICS.items():
        measured = graph_gain(benefit) if name == "graph" else measure(state, settings)
        meaning = _describe_metric(name, measured)
        if name == "graph":
            meaning = _describe_benefit(benefit, meaning)
        elif name in ("sink", "classes") and not state.system.clamped[: state.n].any():
            meaning = NO_LABELS
        signs.append(Sign(name, measured.value, measured.limit, measured.ok, meaning))
    return Health(tuple(signs))


def events(state: State) -> list[Event]:
    """Return the logged events, oldest first."""
    return [
        Event(at, name, value, ok, _describe_metric(name, Measurement(value, limit, ok)))
        for at, name, ok, value, limit in state.events.events
    ]


def _describe_metric(name: str, measured: Measurement) -> str:
    if name == "radius" and measured.value == 0:
        return "Only examples equal to a vertex join it."
    fine, wrong = SENTENCES[name]
    return (fine if measured.ok else wrong).format(value=measured.value)


def _describe_benefit(benefit: GraphBenefit, meaning: str) -> str:
    if not benefit.enough:
        return TOO_EARLY.format(n=benefit.n_labels)
    details = LEFT_OUT.format(n=benefit.n_labels, graph=benefit.graph, nearest=benefit.nearest)
    return " ".join([meaning, details, *([BLIND] if benefit.one_moment else [])])


def _row(sign: Sign) -> str:
    limit = "" if sign.limit is None else f"{sign.limit:.3g}"
    mark = "" if sign.ok else "!"
    return _line(mark, sign.name, f"{sign.value:.3g}", limit, sign.meaning)


def _line(mark: str, name: str, value: str, limit: str, meaning: str) -> str:
    start = f"{mark:1} {name:15} {value:>9} {limit:>7}  "
    return textwrap.fill(meaning, WIDTH, initial_indent=start, subsequent_indent=" " * len(start))
