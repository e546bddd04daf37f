"""The shapes of what is told of faces."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from labelwalk.service.schemas import (
    BOOLEAN,
    COUNT,
    NUMBER,
    POSITIVE_INTEGER,
    SHARE,
    TEXT,
    ExampleId,
    Schema,
    array,
    make_config,
    nullable,
    record,
    ref,
)

_ABOVE_NOTHING: Schema = {"type": "number", "exclusiveMinimum": 0}
_NOT_NEGATIVE: Schema = {"type": "number", "minimum": 0}
_BOX: Schema = {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4}
_SINK: Schema = {
    "sink": _NOT_NEGATIVE,
    "automatic": BOOLEAN,
    "cliff": nullable(_ABOVE_NOTHING),
    "chosen": nullable(_ABOVE_NOTHING),
    "sinks": array(_ABOVE_NOTHING),
    "claimed": array(SHARE),
}
SCHEMAS: dict[str, Schema] = {
    "Everybody": record(
        {
            "on": BOOLEAN,
            "representation": nullable(TEXT),
            "keeps_crops": BOOLEAN,
            "people": array(ref("Person")),
            "strangers": array(ref("Stranger")),
            "examples": COUNT,
            "vertices": COUNT,
            "source": nullable(record({"name": TEXT, "error": nullable(TEXT)})),
        }
    ),
    "Person": record({"name": TEXT, "taught": COUNT, "examples": COUNT, "views": array(COUNT)}),
    "Stranger": record(
        {
            "number": POSITIVE_INTEGER,
            "examples": COUNT,
            "newest": nullable(COUNT),
            "views": array(COUNT),
        }
    ),
    "Frame": record(
        {
            "width": POSITIVE_INTEGER,
            "height": POSITIVE_INTEGER,
            "faces": array(ref("Face")),
            "milliseconds": _NOT_NEGATIVE,
        }
    ),
    "Face": record(
        {
            "box": _BOX,
            "track": POSITIVE_INTEGER,
            "name": nullable(TEXT),
            "stranger": nullable(POSITIVE_INTEGER),
            "confidence": NUMBER,
            "example": COUNT,
        }
    ),
    "NamedViews": record({"name": TEXT, "examples": array(COUNT)}),
    "UndoneViews": record({"undone": POSITIVE_INTEGER}),
    "SinkTold": record(_SINK),
    "SinkSet": record(_SINK | {"warning": nullable(TEXT)}),
}


class NamedFace(BaseModel):
    """The name of a face."""

    model_config = make_config({"example": 1203, "name": "Ada"})
    example: ExampleId
    name: Annotated[str, Field(min_length=1, max_length=100)]


class Undone(BaseModel):
    """Faces whose names are removed."""

    model_config = make_config({"examples": [1203, 1190]})
    examples: list[ExampleId] = Field(min_length=1, max_length=100)


class ForgottenPerson(BaseModel):
    """A person to erase by name, or a stranger by number."""

    model_config = make_config({"name": "Ada"})
    name: str | None = None
    stranger: int | None = Field(None, ge=1, lt=2**62)


class Sink(BaseModel):
    """The sink as a number, or chosen automatically."""

    model_config = make_config({"sink": "auto"})
    sink: Literal["auto"] | float
