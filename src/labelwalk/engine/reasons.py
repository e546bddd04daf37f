"""Why an example gets its answer: the labels a walk from it meets, and the way it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.engine.explanation import ends, strongest_path
from labelwalk.engine.state import State

SHOWN = 0.0005  # what is less likely is not printed


@dataclass(frozen=True, slots=True, eq=False)
class Waypoint:
    """A vertex on the way.

    Attributes
    ----------
    probability : float
        That a walk ends here, for a label met; that the step to here is taken, on a path.
    label : str, int or None
        What was taught here; None where unlabelled.
    example_id : int
        The id of the example it was founded on; -1 where unknown.
    point : array
        Its representative.
    count : int
        How many examples it stands for.
    vertex : int
        The row of `learner.vertices`.
    """

    probability: float
    label: Label | None
    example_id: int
    point: Floats
    count: int
    vertex: int


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Why an example gets its answer.

    Attributes
    ----------
    met : list of Waypoint
        The labelled vertices a random walk from the example may end at, most probable first.
    sink : float
        The probability that it meets none: "I don't know".
    path : list of Waypoint
        The most probable way to the first of `met`, which is its last vertex. Empty where there is
        none.
    """

    met: list[Waypoint]
    sink: float
    path: list[Waypoint]

    def __str__(self) -> str:
        likely = [end for end in self.met if end.probability >= SHOWN]
        lines = [f"{end.probability:7.1%}  {end.label}: {_known_as(end)}" for end in likely]
        lines.append(f"{self.sink:7.1%}  no label")
        if self.path:
            way = " -> ".join(_known_as(point) for point in self.path)
            lines.append(f"most probable way: {way}")
        return "\n".join(lines)


def _known_as(point: Waypoint) -> str:
    return "a merged vertex" if point.example_id < 0 else f"example {point.example_id}"


def explain(now: State, similar: Floats, sink: float, classes: Sequence[Label]) -> Explanation:
    """Explain the answer to an example with these similarities and this sink."""
    graph = now.graph
    labelled = np.flatnonzero(graph.labelled)
    chances = np.minimum(ends(graph, similar, sink), 1.0)
    order = [int(a) for a in np.argsort(-chances, kind="stable") if chances[a] > 0.0]
    met = [_waypoint(now, classes, int(labelled[a]), float(chances[a])) for a in order]
    path = []
    if met:
        way = strongest_path(graph, similar, sink, met[0].vertex)
        path = [_waypoint(now, classes, i, p) for i, p in zip(way.vertices, way.steps, strict=True)]
    return Explanation(met, max(0.0, 1.0 - float(chances.sum())), path)


def _waypoint(now: State, classes: Sequence[Label], i: int, probability: float) -> Waypoint:
    vertices = now.vertices
    code = int(vertices.label[i])
    return Waypoint(
        probability=probability,
        label=classes[code] if code >= 0 else None,
        example_id=int(vertices.founder[i]),
        point=np.array(now.representatives[:, i]),
        count=int(vertices.examples[i]),
        vertex=i,
    )
