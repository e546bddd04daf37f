"""The shapes of what is sent and answered, in the words of JSON Schema."""

from __future__ import annotations

from labelwalk._extensions import load_extension
from labelwalk.service import page_schemas, setting_schemas
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
    or_nothing,
    record,
    ref,
)

ROWS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "array", "minItems": 1, "items": NUMBER},
    "description": "All of one length.",
}
_GUESSES: Schema = {
    "label": many(or_nothing(LABEL)),
    "confidence": many(SHARE),
    "outlier": many(TRUTH),
}
_OWN: dict[str, Schema] = {
    "Error": record({"error": TEXT}),
    "Alive": record({"alive": {"const": True}}),
    "Ready": record({"ready": {"const": True}}, {"damage": TEXT}),
    "Session": record({"may": choice("read", "write")}),
    "Named": record({"name": TEXT}),
    "Rows": record({"rows": ROWS}, {"sources": many(LABEL)}),
    "OneRow": record({"rows": ROWS | {"maxItems": 1}}),
    "LabelledRows": record({"rows": ROWS, "labels": many(LABEL) | {"minItems": 1}}),
    "First": record({"first": COUNT}),
    "Guesses": record(_GUESSES),
    "Verdicts": record({"first": COUNT} | _GUESSES),
    "Erased": record({"erased": COUNT, "older": TRUTH, "meaning": TEXT}),
    "Facts": record(
        {
            "name": TEXT,
            "examples": COUNT,
            "features": or_nothing(COUNT),
            "classes": many(LABEL),
            "vertices": COUNT,
            "radius": NUMBER,
            "settings": ref("SettingsTold"),
        }
    ),
    "Question": record(
        {
            "example": or_nothing(COUNT),
            "row": many(NUMBER),
            "guess": or_nothing(LABEL),
            "confidence": SHARE,
            "count": COUNT,
        }
    ),
    "Sign": record(
        {
            "name": TEXT,
            "value": NUMBER,
            "limit": or_nothing(NUMBER),
            "ok": TRUTH,
            "meaning": TEXT,
        }
    ),
    "Vertices": record(
        {
            "label": many(or_nothing(LABEL)),
            "count": many(COUNT),
            "probabilities": many(many(SHARE)),
            "point": many(many(NUMBER)),
        }
    ),
}
SCHEMAS: dict[str, Schema] = (
    _OWN | setting_schemas.SCHEMAS | page_schemas.SCHEMAS | load_extension("schemas faces")
)
EXAMPLES: dict[str, Schema] = {
    "Rows": {"rows": [[1.0, 0.0], [8.0, 9.0]]},
    "OneRow": {"rows": [[1.0, 0.0]]},
    "LabelledRows": {"rows": [[0.0, 0.0], [9.0, 9.0]], "labels": ["open", "shut"]},
}
