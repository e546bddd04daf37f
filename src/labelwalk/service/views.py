"""Views of a learner as JSON: summary, vertices, recent examples, and a preview of settings."""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from labelwalk.arrays import Floats, Label
from labelwalk.engine.tables import VertexTable
from labelwalk.learner import OnlineLearner, from_bytes
from labelwalk.service.commands import Adjust, apply_command
from labelwalk.service.errors import NoVertexError
from labelwalk.service.managed_learner import ManagedLearner

MAX_NEAR_EXAMPLES = 8  # shown with a vertex
MAX_SHOWN_LABELS = 50
VERTEX_DIGEST_BYTES = 6  # JavaScript represents an integer of this size exactly


def summarize(managed: ManagedLearner) -> dict[str, Any]:
    """Return the main facts of a learner."""
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


def list_health_metrics(managed: ManagedLearner) -> list[dict[str, Any]]:
    """Return the health metrics of a learner."""
    fields = ("name", "value", "limit", "ok", "meaning")
    metrics = managed.learner.health()
    return [{field: getattr(metric, field) for field in fields} for metric in metrics]


def list_vertices(managed: ManagedLearner) -> dict[str, list[Any]]:
    """Return all vertices as columns."""
    table = managed.learner.vertices
    return {
        "label": table.label.tolist(),
        "count": table.count.tolist(),
        "probabilities": table.probabilities.tolist(),
        "point": table.means.tolist(),
    }


def draw_map(managed: ManagedLearner) -> dict[str, Any]:
    """Return all vertices in the plane with their answers, and the rows in quarantine."""
    learner, axes = managed.learner, managed.axes
    table = learner.vertices
    label, confidence = _answer_vertices(managed, table)
    newest = zip(managed.to_public_ids(learner.newest).tolist(), learner.newest >= 0, strict=True)
    points, quarantine = _project(managed, table.means), _project(managed, learner.quarantined)
    return {
        "learner": managed.name,
        "examples": managed.next_example_id,
        "classes": list(learner.classes),
        "axes": 0 if axes is None else axes.version,
        "vertices": {
            "id": _list_vertex_ids(managed, table),
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
            "count": table.count.tolist(),
            "label": label,
            "confidence": confidence,
            "taught": [name is not None for name in table.label],
            "example": [example if is_known else None for example, is_known in newest],
        },
        "quarantine": {"x": quarantine[:, 0].tolist(), "y": quarantine[:, 1].tolist()},
        "outliers": learner.n_outliers,
        "radius": learner.radius,
    }


def describe_vertex(managed: ManagedLearner, vertex_id: int) -> dict[str, Any]:
    """Return a vertex in detail, with the remembered examples that are nearest to it."""
    learner, table = managed.learner, managed.learner.vertices
    ids = _list_vertex_ids(managed, table)
    if vertex_id not in ids:
        raise NoVertexError(f"Vertex {vertex_id} no longer exists. Reload the map.")
    i = ids.index(vertex_id)
    row, label = table.means[i], table.label[i]
    verdict = learner.predict(row)
    shares = verdict.probabilities
    if label is not None:
        shares = [float(label == name) for name in learner.classes]
    return {
        "id": vertex_id,
        "count": int(table.count[i]),
        "label": verdict.label if label is None else label,
        "confidence": verdict.confidence if label is None else 1.0,
        "taught": label is not None,
        "row": row.tolist(),
        "probabilities": {
            str(name): float(share) for name, share in zip(learner.classes, shares, strict=True)
        },
        "examples": _list_near_examples(managed, row),
        "why": str(learner.explain(row)),
    }


def list_recent(managed: ManagedLearner, n: int) -> list[dict[str, Any]]:
    """Return the last observed examples with their verdicts, newest first."""
    seen = managed.history.get_examples().last(n)
    labels = {taught.id: taught.label for taught in managed.history.labels}
    points = _project(managed, np.asarray(seen.row, dtype=np.float64))
    columns = {
        "example": managed.to_public_ids(seen.id).tolist(),
        "label": seen.label.tolist(),
        "confidence": seen.confidence.tolist(),
        "outlier": seen.outlier.tolist(),
        "taught": [labels.get(i) for i in seen.id.tolist()],
        "x": points[:, 0].tolist(),
        "y": points[:, 1].tolist(),
    }
    return _to_records(columns)[::-1]


def list_labels(managed: ManagedLearner) -> list[dict[str, Any]]:
    """Return the last labels that were taught and are in effect, newest first."""
    labels = managed.history.labels[: -1 - MAX_SHOWN_LABELS : -1]
    ids = managed.to_public_ids(np.array([label.id for label in labels], dtype=np.int64)).tolist()
    return [
        {"example": example, "label": label.label, "how": label.how}
        for example, label in zip(ids, labels, strict=True)
    ]


def _to_records(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return a dictionary for each row of columns."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _answer_vertices(
    managed: ManagedLearner, table: VertexTable
) -> tuple[list[Label | None], list[float]]:
    """Return label and confidence of each vertex; those that were taught have their own label."""
    if not len(table):
        return [], []
    verdicts = managed.learner.predict(table.means)
    is_free = np.array([label is None for label in table.label])
    return (
        np.where(is_free, verdicts.label, table.label).tolist(),
        np.where(is_free, verdicts.confidence, 1.0).tolist(),
    )


def _project(managed: ManagedLearner, rows: Floats) -> Floats:
    if managed.axes is None or not len(rows):
        return np.zeros((len(rows), 2))
    return managed.axes.project(managed.learner, rows)


def _list_vertex_ids(managed: ManagedLearner, table: VertexTable) -> list[int]:
    """Return ids of vertices that do not change while a vertex exists.

    An id is twice the id of the founding example, plus one if the vertex was taught: an example
    that is taught later founds a second vertex. If the founder is unknown, because learners were
    merged or a label was removed, the id is negative and derived from the position.
    """
    is_taught = [label is not None for label in table.label]
    ids: list[int] = (2 * managed.to_public_ids(table.founder) + is_taught).tolist()
    for i in np.flatnonzero(table.founder < 0).tolist():
        content = table.points[i].tobytes() + repr(table.label[i]).encode()
        ids[i] = -1 - int.from_bytes(blake2b(content, digest_size=VERTEX_DIGEST_BYTES).digest())
    return ids


def _list_near_examples(managed: ManagedLearner, row: Floats) -> list[dict[str, Any]]:
    learner, remembered = managed.learner, managed.learner.remembered
    if not len(remembered):
        return []
    distances = np.linalg.norm(learner.scaled(remembered.row) - learner.scaled(row), axis=1)
    nearest = np.argsort(distances, kind="stable")[:MAX_NEAR_EXAMPLES]
    rows = remembered.row[nearest]
    verdicts = learner.predict(rows)
    columns = {
        "example": managed.to_public_ids(remembered.id[nearest]).tolist(),
        "row": rows.tolist(),
        "distance": distances[nearest].tolist(),
        "label": verdicts.label.tolist(),
        "confidence": verdicts.confidence.tolist(),
    }
    return _to_records(columns)


def copy_learner(managed: ManagedLearner) -> tuple[bytes, Floats]:
    """Return the file of a learner, and the last examples that it observed."""
    rows = managed.history.get_examples().row
    return managed.learner.to_bytes(), np.asarray(rows, dtype=np.float64)


def preview_settings(content: bytes, rows: Floats, command: Adjust) -> dict[str, Any]:
    """Compare the answers of a learner before and after its settings change.

    The change is applied to a copy, which is read from `content`.
    """
    learner = from_bytes(content)
    before, old_labels = _measure_answers(learner, rows)
    apply_command(command, learner)
    after, new_labels = _measure_answers(learner, rows)
    n_changed = sum(old != new for old, new in zip(old_labels, new_labels, strict=True))
    return {"before": before, "after": after, "changed": n_changed, "of": len(rows)}


def parse_settings(values: Mapping[str, Any], classes: Sequence[Label]) -> Adjust:
    """Return the command that changes settings; names of classes in JSON are always strings.

    Examples
    --------
    >>> parse_settings({"prior": {"3": 0.4, "cat": 0.6}}, [3, "cat"]).settings
    {'prior': [[3, 0.4], ['cat', 0.6]]}
    """
    settings = dict(values)
    prior = settings.get("prior")
    if isinstance(prior, Mapping):
        labels: dict[str, Label] = {str(label): label for label in classes}
        labels |= {label: label for label in classes if isinstance(label, str)}
        settings["prior"] = [[labels.get(name, name), share] for name, share in prior.items()]
    elif isinstance(prior, list):
        for label, n in Counter(label for label, _ in prior).items():
            if n > 1:
                raise ValueError(f"prior has {n} shares for {label!r}. Give each class one share.")
    return Adjust(settings)


def _measure_answers(
    learner: OnlineLearner, rows: Floats
) -> tuple[dict[str, Any], list[Label | None]]:
    labels: list[Label | None] = []
    confidence = 0.0
    if len(rows):
        verdicts = learner.predict(rows)
        labels, confidence = verdicts.label.tolist(), float(verdicts.confidence.mean())
    answers = [str(label) for label in labels if label is not None]
    measures = {
        "answered": len(answers) / max(1, len(labels)),
        "confidence": confidence,
        "labels": dict(Counter(answers)),
        "silent": len(labels) - len(answers),
    }
    return measures | _estimate_quality(learner), labels


def _estimate_quality(learner: OnlineLearner) -> dict[str, float | None]:
    """Return precision and recall by leave-one-out of the labels taught; empty without labels."""
    labels, verdicts = learner.left_out()
    if not len(labels):
        return {}
    n_answered = sum(label is not None for label in verdicts.label)
    n_right = int(np.count_nonzero(verdicts.label == labels))
    precision = n_right / n_answered if n_answered else None
    return {"precision": precision, "recall": n_right / len(labels)}
