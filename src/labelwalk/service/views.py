"""A learner as others see it: its facts, its vertices, one of them closely, and what came last."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.engine.table import VertexTable
from labelwalk.service.managed_learner import ManagedLearner

NEAREST = 8  # examples shown with a vertex
LABELS = 50  # that can be seen, and taken back
DIGEST = 6  # bytes: a number that JavaScript holds exactly


class NoVertexError(LookupError):
    """There is no such vertex."""


def facts(managed: ManagedLearner) -> dict[str, Any]:
    """Return what a learner is, in a few numbers."""
    learner = managed.learner
    return {
        "name": managed.name,
        "examples": managed.next_example_id,
        "features": learner.n_features,
        "classes": list(learner.classes),
        "vertices": learner.n_vertices,
        "radius": learner.radius,
        "settings": learner.settings.describe(),
    }


def health(managed: ManagedLearner) -> list[dict[str, Any]]:
    """Return the signs by which a learner says how it is."""
    fields = ("name", "value", "limit", "ok", "meaning")
    return [{field: getattr(sign, field) for field in fields} for sign in managed.learner.health()]


def vertices(managed: ManagedLearner) -> dict[str, list[Any]]:
    """Return all vertices as they are, in columns."""
    table = managed.learner.vertices
    return {
        "label": table.label.tolist(),
        "count": table.count.tolist(),
        "probabilities": table.probabilities.tolist(),
        "point": table.means.tolist(),
    }


def the_map(managed: ManagedLearner) -> dict[str, Any]:
    """Return all vertices in the plane, with their answers."""
    learner, axes = managed.learner, managed.axes
    table = learner.vertices
    label, confidence = _answers(managed, table)
    newest = zip(managed.to_public_ids(learner.newest).tolist(), learner.newest >= 0, strict=True)
    places, waiting = _places(managed, table.means), _places(managed, learner.quarantined)
    return {
        "learner": managed.name,
        "examples": managed.next_example_id,
        "classes": list(learner.classes),
        "axes": 0 if axes is None else axes.version,
        "vertices": {
            "id": _ids(managed, table),
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "count": table.count.tolist(),
            "label": label,
            "confidence": confidence,
            "taught": [name is not None for name in table.label],
            "example": [number if known else None for number, known in newest],
        },
        "quarantine": {"x": waiting[:, 0].tolist(), "y": waiting[:, 1].tolist()},
        "outliers": learner.n_outliers,
        "radius": learner.radius,
    }


def vertex(managed: ManagedLearner, wanted: int) -> dict[str, Any]:
    """Return a vertex closely, with the remembered examples that lie nearest.

    Raises
    ------
    NoVertexError
        It has merged with another or faded away, or never was.
    """
    learner, table = managed.learner, managed.learner.vertices
    ids = _ids(managed, table)
    if wanted not in ids:
        raise NoVertexError(f"there is no vertex {wanted} any more. Look at the map again.")
    i = ids.index(wanted)
    row, name = table.means[i], table.label[i]
    said = learner.predict(row)
    shares = said.probabilities if name is None else [float(name == c) for c in learner.classes]
    return {
        "id": wanted,
        "count": int(table.count[i]),
        "label": said.label if name is None else name,
        "confidence": said.confidence if name is None else 1.0,
        "taught": name is not None,
        "row": row.tolist(),
        "probabilities": {
            str(one): float(share) for one, share in zip(learner.classes, shares, strict=True)
        },
        "examples": _nearest(managed, row),
        "why": str(learner.explain(row)),
    }


def recent(managed: ManagedLearner, n: int) -> list[dict[str, Any]]:
    """Return the last examples that were observed, newest first, and what was said of them."""
    seen = managed.past.seen().last(n)
    if not len(seen.id):
        return []
    told = {one.id: one.label for one in managed.past.taught}
    places = _places(managed, np.asarray(seen.row, dtype=np.float64))
    rows = zip(
        managed.to_public_ids(seen.id).tolist(),
        seen.label,
        seen.confidence.tolist(),
        seen.outlier.tolist(),
        [told.get(i) for i in seen.id.tolist()],
        places.tolist(),
        strict=True,
    )
    found = [
        {
            "example": example,
            "label": label,
            "confidence": confidence,
            "outlier": outlier,
            "taught": taught,
            "x": x,
            "y": y,
        }
        for example, label, confidence, outlier, taught, (x, y) in rows
    ]
    return found[::-1]


def taught(managed: ManagedLearner) -> list[dict[str, Any]]:
    """Return the last labels that a person gave and that stand, newest first."""
    given = managed.past.taught[: -1 - LABELS : -1]
    numbers = managed.to_public_ids(np.array([one.id for one in given], dtype=np.int64)).tolist()
    return [
        {"example": number, "label": one.label, "how": one.how}
        for number, one in zip(numbers, given, strict=True)
    ]


def _answers(managed: ManagedLearner, table: VertexTable) -> tuple[list[Label | None], list[float]]:
    """Return what each vertex is called and how surely; those that were taught, as they were."""
    if not len(table):
        return [], []
    said = managed.learner.predict(table.means)
    free = np.array([name is None for name in table.label])
    return (
        np.where(free, said.label, table.label).tolist(),
        np.where(free, said.confidence, 1.0).tolist(),
    )


def _places(managed: ManagedLearner, rows: Floats) -> Floats:
    if managed.axes is None or not len(rows):
        return np.zeros((len(rows), 2))
    return managed.axes.place(managed.learner, rows)


def _ids(managed: ManagedLearner, table: VertexTable) -> list[int]:
    """Return numbers by which vertices are known as long as they live.

    That of the founder, twice, and one more where it was taught: an example that is taught later
    founds a second vertex. Where the founder is unknown, since learners were merged or a label was
    taken back, a negative number from where it lies.
    """
    numbers = 2 * managed.to_public_ids(table.founder)
    found: list[int] = (numbers + [name is not None for name in table.label]).tolist()
    for i in np.flatnonzero(table.founder < 0).tolist():
        where = table.points[i].tobytes() + repr(table.label[i]).encode()
        found[i] = -1 - int.from_bytes(blake2b(where, digest_size=DIGEST).digest())
    return found


def _nearest(managed: ManagedLearner, row: Floats) -> list[dict[str, Any]]:
    kept, learner = managed.learner.remembered, managed.learner
    if not len(kept):
        return []
    away = np.linalg.norm(learner.scaled(kept.row) - learner.scaled(row), axis=1)
    near = np.argsort(away, kind="stable")[:NEAREST]
    said = learner.predict(kept.row[near])
    return [
        {
            "example": number,
            "row": one.tolist(),
            "distance": float(far),
            "label": verdict.label,
            "confidence": verdict.confidence,
        }
        for number, one, far, verdict in zip(
            managed.to_public_ids(kept.id[near]).tolist(),
            kept.row[near],
            away[near],
            said,
            strict=True,
        )
    ]
