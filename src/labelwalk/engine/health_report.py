"""The signs of a learner's health, in words."""

from __future__ import annotations

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
from labelwalk.settings import Settings

WIDTH = 100  # characters of a printed line

# What a value says: where it keeps its limit, and where not, with what to do then.
SENTENCES: dict[str, tuple[str, str]] = {
    "radius": ("Examples closer than {value:.3g} to a vertex join it.", ""),
    "distortion": (
        "No example is further than {value:.3g} bandwidths from its vertex.",
        "Some vertex may stand for examples {value:.3g} bandwidths away, which the graph would not "
        "call alike: raise n_centroids.",
    ),
    "outliers": (
        "{value:.1%} of all examples were like nothing known.",
        "{value:.1%} of all examples were like nothing known and got no answer: scale the "
        "features, widen the bandwidth, or lower the threshold.",
    ),
    "recent outliers": (
        "{value:.1%} of the recent examples are like nothing known.",
        "{value:.1%} of the recent examples are like nothing known: look whether the source has "
        "changed, and teach what is new.",
    ),
    "new vertices": (
        "{value:.1%} of the recent examples founded a vertex.",
        "{value:.1%} of the recent examples founded a vertex, though the graph is grown up: the "
        "stream is moving to new places, or n_centroids is too small for it.",
    ),
    "sink": (
        "{value:.1%} of what the vertices are asked is answered by nobody.",
        "{value:.1%} of what the vertices are asked is answered by nobody: teach labels where "
        "there are none, lower the sink, or, where it forgets, forget more slowly.",
    ),
    "certificate": (
        "Every probability can be proven to within {value:.2g} of the exact solution.",
        "Probabilities can only be proven to within {value:.2g} of the exact solution: the sink is "
        "too small for double precision, raise it.",
    ),
    "classes": (
        "The answers are spread over the classes as over {value:.3g} equal ones.",
        "Nearly all answers are of few classes, as if there were {value:.3g} equal ones: if the "
        "stream is not like that, give a prior, or teach the other classes more labels.",
    ),
    "absorbed": (
        "Labelled vertices stand for {value:.1%} of all examples.",
        "Labelled vertices stand for {value:.1%} of all examples, so most answers are those of the "
        'nearest label: use labelled="pure", or raise n_centroids.',
    ),
    "graph": (
        "The graph names {value:+.1%} of the left-out labels rightly, compared with the nearest "
        "label.",
        "The graph does not help here: it names {value:+.1%} of the left-out labels rightly, "
        'compared with the nearest label. Try scale="robust", another bandwidth or more labels; or '
        "use the nearest label.",
    ),
    "conflicts": (
        "No two labels contradict each other.",
        "Labels contradict each other ({value:.0f} times): the very same example was taught two. "
        "Retract the wrong ones.",
    ),
    "drift": (
        "No change of the stream has been noticed (that takes 2500 examples to begin with).",
        "The stream has changed: its features are not distributed as before. Look at the recent "
        "verdicts, and teach labels from now.",
    ),
}
NO_LABELS = "No label has been taught: teach some."
TOO_EARLY = (
    "There are too few labels, or too few examples yet, to tell whether the graph helps: {n} "
    "labels can be left out."
)
LEFT_OUT = (
    "Of {n} labels, each left out in turn, it names {graph:.1%} rightly, the nearest label "
    "{nearest:.1%}."
)
BLIND = (
    "All labels come from one moment of the stream, where each foretells the next whatever the "
    "graph: this sign may be blind."
)


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign of health.

    Attributes
    ----------
    name : str
    value : float
    limit : float or None
        What the value should keep to; None where any value will do.
    ok : bool
    meaning : str
        What the value says, and what to do where it is not ok.
    """

    name: str
    value: float
    limit: float | None
    ok: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Event:
    """A sign that crossed its limit, one way or the other.

    Attributes
    ----------
    at : int
        Examples seen by then.
    name : str
        Of the sign.
    value : float
    ok : bool
        Whether it is well again.
    meaning : str
    """

    at: int
    name: str
    value: float
    ok: bool
    meaning: str


@dataclass(frozen=True, slots=True)
class Health:
    """How a learner is doing: signs by name, and a report for people.

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
    >>> [sign.name for sign in health if not sign.ok]
    ['conflicts']
    """

    signs: tuple[Sign, ...]

    @property
    def ok(self) -> bool:
        """Whether every sign is."""
        return all(sign.ok for sign in self.signs)

    def __getitem__(self, name: str) -> Sign:
        for sign in self.signs:
            if sign.name == name:
                return sign
        names = ", ".join(sign.name for sign in self.signs)
        raise KeyError(f"there is no sign {name!r}; there are {names}")

    def __iter__(self) -> Iterator[Sign]:
        return iter(self.signs)

    def __len__(self) -> int:
        return len(self.signs)

    def __str__(self) -> str:
        return "\n".join([_line("", "sign", "value", "limit", "meaning"), *map(_row, self.signs)])


def report_health(state: State, settings: Settings) -> Health:
    """Measure all signs of a state, and say what they mean."""
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
    """Return the events that are logged, oldest first."""
    return [
        Event(at, name, value, ok, _describe_metric(name, Measurement(value, limit, ok)))
        for at, name, ok, value, limit in state.events.events
    ]


def _describe_metric(name: str, measured: Measurement) -> str:
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
