"""The shapes of what a page is shown and told of a learner."""

from __future__ import annotations

from labelwalk.service.commands import Teach, TeachLater
from labelwalk.service.shapes import (
    COUNT,
    LABEL,
    NUMBER,
    SHARE,
    TEXT,
    TRUTH,
    Schema,
    choice,
    many,
    named,
    or_nothing,
    record,
    ref,
)

_ANSWER = or_nothing(LABEL)
_PLACES: Schema = {"x": many(NUMBER), "y": many(NUMBER)}
_EXAMPLES = many(ref("NearExample"))
_VERDICTS = many(ref("Verdict"))
_MILLISECONDS = or_nothing({"type": "number", "minimum": 0})
_MIB: Schema = {"type": "number", "exclusiveMinimum": 0}
LOOKS: dict[str, Schema] = {
    "Map": record(
        {
            "learner": TEXT,
            "examples": COUNT,
            "classes": many(LABEL),
            "axes": COUNT,
            "vertices": record(
                {
                    "id": many({"type": "integer"}),
                    **_PLACES,
                    "count": many(COUNT),
                    "label": many(_ANSWER),
                    "confidence": many(SHARE),
                    "taught": many(TRUTH),
                    "example": many(or_nothing(COUNT)),
                }
            ),
            "quarantine": record(_PLACES),
            "outliers": COUNT,
            "radius": NUMBER,
        }
    ),
    "Vertex": record(
        {
            "id": {"type": "integer"},
            "count": COUNT,
            "label": _ANSWER,
            "confidence": SHARE,
            "taught": TRUTH,
            "row": many(NUMBER),
            "probabilities": named(SHARE),
            "examples": _EXAMPLES,
            "why": TEXT,
        }
    ),
    "NearExample": record(
        {
            "example": COUNT,
            "row": many(NUMBER),
            "distance": {"type": "number", "minimum": 0},
            "label": _ANSWER,
            "confidence": SHARE,
        }
    ),
    "Verdict": record(
        {
            "example": COUNT,
            "label": _ANSWER,
            "confidence": SHARE,
            "outlier": TRUTH,
            "taught": _ANSWER,
            "x": NUMBER,
            "y": NUMBER,
        }
    ),
    "Recent": record({"verdicts": _VERDICTS}),
    "Taught": record(
        {"example": COUNT, "label": LABEL, "how": choice(Teach.kind, TeachLater.kind)}
    ),
    "History": record(
        {
            "at": many(NUMBER),
            "signs": named(many(or_nothing(NUMBER))),
            "rate": many(NUMBER),
            "latency_ms": many(_MILLISECONDS),
            "memory_mib": many(_MIB),
        }
    ),
}
TRIALS: dict[str, Schema] = {
    "Measured": record(
        {"answered": SHARE, "confidence": SHARE, "labels": named(COUNT), "silent": COUNT},
        {"precision": or_nothing(SHARE), "recall": SHARE},
    ),
    "Tried": record(
        {"before": ref("Measured"), "after": ref("Measured"), "changed": COUNT, "of": COUNT}
    ),
}
EVENTS: dict[str, Schema] = {
    "map": record({"version": COUNT, "examples": COUNT}),
    "verdicts": record({"verdicts": _VERDICTS, "passed": COUNT}),
    "standing": record(
        {
            "examples": COUNT,
            "vertices": COUNT,
            "radius": NUMBER,
            "alarms": many(TEXT),
            "rate": NUMBER,
            "latency_ms": record({"p50": _MILLISECONDS, "p99": _MILLISECONDS}),
            "memory_mib": _MIB,
            "waiting": COUNT,
        }
    ),
}
SCHEMAS: dict[str, Schema] = (
    LOOKS | TRIALS | {f"{name.capitalize()}Event": event for name, event in EVENTS.items()}
)
