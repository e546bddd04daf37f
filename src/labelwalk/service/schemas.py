"""The shapes of what is sent and answered, in the words of JSON Schema."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

LABEL: Schema = {"type": ["string", "integer"]}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}
ROWS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "array", "minItems": 1, "items": NUMBER},
    "description": "All of one length.",
}


def ref(name: str) -> Schema:
    """Return a reference to one of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


def _many(one: Schema) -> Schema:
    return {"type": "array", "items": one}


def _or_nothing(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "null"}]}


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


_GUESSES: Schema = {
    "label": _many(_or_nothing(LABEL)),
    "confidence": _many(SHARE),
    "outlier": _many({"type": "boolean"}),
}


def _choice(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def _between(least: float, most: float) -> Schema:
    return {"type": "number", "minimum": least, "maximum": most}


_LARGE = 1e100
_ONE_OR_MORE: Schema = {"type": "integer", "minimum": 1}
# Bounds as `labelwalk.settings` has them; what two settings must not be together is said there.
SETTINGS: dict[str, Schema] = {
    "n_centroids": _or_nothing(_ONE_OR_MORE),
    "scale": _choice("none", "robust"),
    "sink": _between(1e-300, _LARGE),
    "growth": {"type": "number", "exclusiveMinimum": 1, "maximum": _LARGE},
    "coarsening": _choice("just-enough", "doubling"),
    "labelled": _choice("pure", "absorb"),
    "label_weight": _or_nothing(_between(1e-100, _LARGE)),
    "weight_cap": _or_nothing({"type": "number", "exclusiveMinimum": 1, "maximum": _LARGE}),
    "labels_per_class": _ONE_OR_MORE,
    "representative": _choice("mean", "founder"),
    "readout": _choice("example", "vertex"),
    "unreached": _choice("nearest", "abstain"),
    "quarantine": _or_nothing(_ONE_OR_MORE),
    "source_share": _or_nothing({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
    "remember": {"type": "integer", "minimum": 0, "maximum": 10_000_000},
    "half_life": _or_nothing(_between(1, _LARGE)),
    "window": _or_nothing({"type": "integer", "minimum": 1, "maximum": 9_999_999}),
    "calibrate": {"type": "boolean"},
    "prior": _or_nothing(
        {"anyOf": [_choice("uniform"), {"type": "object", "additionalProperties": SHARE}]}
    ),
    "tolerance": SHARE,
    "abstain_below": SHARE,
}
SCHEMAS: dict[str, Schema] = {
    "Settings": _object({}, SETTINGS),
    "Error": _object({"error": TEXT}),
    "Alive": _object({"alive": {"const": True}}),
    "Ready": _object({"ready": {"const": True}}, {"damage": TEXT}),
    "Named": _object({"name": TEXT}),
    "Rows": _object({"rows": ROWS}, {"sources": _many(LABEL)}),
    "LabelledRows": _object({"rows": ROWS, "labels": _many(LABEL) | {"minItems": 1}}),
    "First": _object({"first": COUNT}),
    "Guesses": _object(_GUESSES),
    "Verdicts": _object({"first": COUNT} | _GUESSES),
    "Facts": _object(
        {
            "name": TEXT,
            "examples": COUNT,
            "features": _or_nothing(COUNT),
            "classes": _many(LABEL),
            "vertices": COUNT,
            "radius": NUMBER,
            "settings": {"type": "object"},
        }
    ),
    "Question": _object(
        {
            "example": _or_nothing(COUNT),
            "row": _many(NUMBER),
            "guess": _or_nothing(LABEL),
            "confidence": SHARE,
            "count": COUNT,
        }
    ),
    "Sign": _object(
        {
            "name": TEXT,
            "value": NUMBER,
            "limit": _or_nothing(NUMBER),
            "ok": {"type": "boolean"},
            "meaning": TEXT,
        }
    ),
    "Vertices": _object(
        {
            "label": _many(_or_nothing(LABEL)),
            "count": _many(COUNT),
            "probabilities": _many(_many(SHARE)),
            "point": _many(_many(NUMBER)),
        }
    ),
}
EXAMPLES: dict[str, Schema] = {
    "Rows": {"rows": [[1.0, 0.0], [8.0, 9.0]]},
    "LabelledRows": {"rows": [[0.0, 0.0], [9.0, 9.0]], "labels": ["open", "shut"]},
}
