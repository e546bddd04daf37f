"""The words of JSON Schema from which the shapes of bodies and answers are put together."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

LABEL: Schema = {"type": ["string", "integer"]}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
ONE_OR_MORE: Schema = {"type": "integer", "minimum": 1}
TEXT: Schema = {"type": "string"}
TRUTH: Schema = {"type": "boolean"}


def ref(name: str) -> Schema:
    """Return a reference to a shape that has a name."""
    return {"$ref": f"#/components/schemas/{name}"}


def many(one: Schema) -> Schema:
    """Return any number of a shape."""
    return {"type": "array", "items": one}


def named(one: Schema) -> Schema:
    """Return any number of a shape, each under a name of its own."""
    return {"type": "object", "additionalProperties": one}


def pair(one: Schema, other: Schema) -> Schema:
    """Return one shape and then another."""
    return {"type": "array", "prefixItems": [one, other], "minItems": 2, "maxItems": 2}


def either(*shapes: Schema) -> Schema:
    """Return what has one of several shapes."""
    return {"anyOf": list(shapes)}


def or_nothing(one: Schema) -> Schema:
    """Return a shape, or null."""
    return either(one, {"type": "null"})


def record(required: Schema, optional: Schema | None = None) -> Schema:
    """Return fields with their shapes, and no other fields.

    Examples
    --------
    >>> record({"name": TEXT})["required"]
    ['name']
    """
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def choice(*words: str) -> Schema:
    """Return one of several words."""
    return {"type": "string", "enum": list(words)}


def between(least: float, most: float) -> Schema:
    """Return a number between two others, or one of them."""
    return {"type": "number", "minimum": least, "maximum": most}


def above(least: float, most: float) -> Schema:
    """Return a number above another, and at most a third."""
    return {"type": "number", "exclusiveMinimum": least, "maximum": most}
