"""`labelwalk inspect`: what a learner knows, and how it is doing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwalk.cli import reading as read
from labelwalk.cli.failures import told

if TYPE_CHECKING:
    from labelwalk.learner import OnlineLearner

SHOWN = 8  # features of a vertex


def inspect(
    model: read.Model,
    vertices: Annotated[bool, typer.Option("--vertices", help="List the vertices too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Say what a learner knows: counts, classes, proven bounds, health and events.

    \b
    Examples:
      labelwalk inspect learner.lw
      labelwalk inspect learner.lw --vertices --json
    """  # noqa: D301
    with told():
        from labelwalk.learner import load

        learner = load(model)
        if as_json:
            typer.echo(json.dumps(_everything(learner, vertices), indent=2, ensure_ascii=False))
            return
        for name, value in _facts(learner).items():
            typer.echo(f"{name:22} {_shown(value)}")
        typer.echo(f"\n{learner.health()}")
        for event in learner.events:
            typer.echo(f"at example {event.at}: {event.meaning}")
        if vertices:
            typer.echo("")
            for vertex in _vertices(learner):
                label, count, reach = vertex["label"], vertex["count"], vertex["reach"]
                name = "-" if label is None else str(label)
                point = ", ".join(f"{x:.4g}" for x in vertex["point"][:SHOWN])
                more = ", ..." if len(vertex["point"]) > SHOWN else ""
                typer.echo(f"{name:16} {count:>8} within {reach:.4g} of ({point}{more})")


def _everything(learner: OnlineLearner, vertices: bool) -> dict[str, Any]:
    found = _facts(learner) | {
        "feature_names": list(learner.feature_names),
        "settings": learner.settings.describe(),
        "health": [
            {name: getattr(sign, name) for name in ("name", "value", "limit", "ok", "meaning")}
            for sign in learner.health()
        ],
        "events": [
            {name: getattr(event, name) for name in ("at", "name", "value", "ok", "meaning")}
            for event in learner.events
        ],
    }
    return found | ({"vertices": _vertices(learner)} if vertices else {})


def _facts(learner: OnlineLearner) -> dict[str, Any]:
    return {
        "examples": learner.n_seen,
        "outliers": learner.n_outliers,
        "features": learner.n_features,
        "classes": list(learner.classes),
        "vertices in all": learner.n_vertices,
        "radius": learner.radius,
        "distortion": learner.distortion,
        "bytes": learner.nbytes,
    }


def _vertices(learner: OnlineLearner) -> list[dict[str, Any]]:
    table = learner.vertices
    return [
        {
            "label": table.label[i],
            "count": int(table.count[i]),
            "reach": float(table.reach[i]),
            "point": table.means[i].tolist(),
        }
        for i in range(len(table.reach))
    ]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
