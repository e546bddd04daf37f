"""The shapes of what is told of faces."""

from __future__ import annotations

from labelwalk.service.shapes import (
    COUNT,
    NUMBER,
    ONE_OR_MORE,
    SHARE,
    TEXT,
    TRUTH,
    Schema,
    many,
    or_nothing,
    record,
    ref,
)

_ABOVE_NOTHING: Schema = {"type": "number", "exclusiveMinimum": 0}
_NOT_NEGATIVE: Schema = {"type": "number", "minimum": 0}
_BOX: Schema = {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4}
_SINK: Schema = {
    "sink": _NOT_NEGATIVE,
    "automatic": TRUTH,
    "cliff": or_nothing(_ABOVE_NOTHING),
    "chosen": or_nothing(_ABOVE_NOTHING),
    "sinks": many(_ABOVE_NOTHING),
    "claimed": many(SHARE),
}
SCHEMAS: dict[str, Schema] = {
    "Everybody": record(
        {
            "on": TRUTH,
            "representation": or_nothing(TEXT),
            "keeps_crops": TRUTH,
            "people": many(ref("Person")),
            "strangers": many(ref("Stranger")),
            "examples": COUNT,
            "vertices": COUNT,
            "source": or_nothing(record({"name": TEXT, "error": or_nothing(TEXT)})),
        }
    ),
    "Person": record({"name": TEXT, "taught": COUNT, "examples": COUNT, "views": many(COUNT)}),
    "Stranger": record(
        {
            "number": ONE_OR_MORE,
            "examples": COUNT,
            "newest": or_nothing(COUNT),
            "views": many(COUNT),
        }
    ),
    "Frame": record(
        {
            "width": ONE_OR_MORE,
            "height": ONE_OR_MORE,
            "faces": many(ref("Face")),
            "milliseconds": _NOT_NEGATIVE,
        }
    ),
    "Face": record(
        {
            "box": _BOX,
            "track": ONE_OR_MORE,
            "name": or_nothing(TEXT),
            "stranger": or_nothing(ONE_OR_MORE),
            "confidence": NUMBER,
            "example": COUNT,
        }
    ),
    "NamedViews": record({"name": TEXT, "examples": many(COUNT)}),
    "UndoneViews": record({"undone": ONE_OR_MORE}),
    "SinkTold": record(_SINK),
    "SinkSet": record(_SINK | {"warning": or_nothing(TEXT)}),
}
