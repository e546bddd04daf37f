"""Schemas of request and response bodies: JSON Schema, and pydantic models of small requests."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

from labelwalk._validation import MAX_PARAMETER
from labelwalk.service.commands import Teach, TeachLater
from labelwalk.settings import MOST_REMEMBERED

JSON, RAW = "application/json", "application/octet-stream"
ARROW = "application/vnd.apache.arrow.stream"
MAX_SAFE_INTEGER = 2**53  # JavaScript represents integers up to this one exactly
Schema = dict[str, Any]

LABEL: Schema = {"type": ["string", "integer"]}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
COUNT: Schema = {"type": "integer", "minimum": 0}
POSITIVE_INTEGER: Schema = {"type": "integer", "minimum": 1}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}


def ref(name: str) -> Schema:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def array(items: Schema) -> Schema:
    """Return an array of any length."""
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    """Return an object with any names."""
    return {"type": "object", "additionalProperties": values}


def any_of(*schemas: Schema) -> Schema:
    """Return alternatives."""
    return {"anyOf": list(schemas)}


def nullable(schema: Schema) -> Schema:
    """Return a schema, or null."""
    return any_of(schema, {"type": "null"})


def record(optional: Schema | None = None, /, **required: Schema) -> Schema:
    """Return an object with these fields only."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def enum(*values: str) -> Schema:
    """Return one of several strings."""
    return {"type": "string", "enum": list(values)}


def number(minimum: float, maximum: float | None = None, *, is_above: bool = False) -> Schema:
    """Return a number from an interval; with `is_above`, without its minimum."""
    upper = {} if maximum is None else {"maximum": maximum}
    return {"type": "number", "exclusiveMinimum" if is_above else "minimum": minimum} | upper


# Settings. The bounds are those of `labelwalk.settings`, which also checks combinations.
_PRIOR_WEIGHT = number(0, MAX_PARAMETER, is_above=True)  # weights need not add up to 1
_UNIFORM = enum("uniform")
_PRIOR_OBJECT = mapping(_PRIOR_WEIGHT) | {"minProperties": 1}
_PRIOR_PAIR: Schema = {
    "type": "array",
    "prefixItems": [LABEL, _PRIOR_WEIGHT],
    "minItems": 2,
    "maxItems": 2,
}
_PRIOR_PAIRS = array(_PRIOR_PAIR) | {"minItems": 1}
# Responses do not use prefixItems: Schemathesis misreads it there.
_PRIOR_PAIR_IN_RESPONSE = array(any_of(LABEL, _PRIOR_WEIGHT)) | {"minItems": 2, "maxItems": 2}
SETTINGS: dict[str, Schema] = {
    "n_centroids": nullable(POSITIVE_INTEGER),
    "scale": enum("none", "robust"),
    "sink": number(1e-300, MAX_PARAMETER),
    "growth": number(1, MAX_PARAMETER, is_above=True),
    "coarsening": enum("just-enough", "doubling"),
    "labelled": enum("pure", "absorb"),
    "label_weight": nullable(number(1 / MAX_PARAMETER, MAX_PARAMETER)),
    "weight_cap": nullable(number(1, MAX_PARAMETER, is_above=True)),
    "labels_per_class": POSITIVE_INTEGER,
    "representative": enum("mean", "founder"),
    "readout": enum("example", "vertex"),
    "unreached": enum("nearest", "abstain"),
    "quarantine": nullable(POSITIVE_INTEGER),
    "source_share": nullable(number(0, 1, is_above=True)),
    "remember": {"type": "integer", "minimum": 0, "maximum": MOST_REMEMBERED},
    "half_life": nullable(number(1, MAX_PARAMETER)),
    "calibrate": BOOLEAN,
    "prior": nullable(any_of(_UNIFORM, _PRIOR_OBJECT)),
    "tolerance": SHARE,
    "abstain_below": SHARE,
}
TUNABLE_SETTINGS: dict[str, Schema] = {
    "sink": SETTINGS["sink"],
    "prior": nullable(any_of(_UNIFORM, _PRIOR_OBJECT, _PRIOR_PAIRS)),
    "half_life": SETTINGS["half_life"],
    "abstain_below": SETTINGS["abstain_below"],
}
_GAUSSIAN = record(
    kind=enum("Gaussian"),
    bandwidth=any_of(enum("cover", "scale"), number(0, is_above=True)),
    threshold=SHARE,
    distance={"type": "null"},
)
_SELF_TUNING = record(
    kind=enum("SelfTuning"),
    neighbour={"type": "integer", "minimum": 1, "maximum": 64},
    width=any_of(enum("auto"), number(1e-3, 1e3)),
    evenness=any_of(enum("auto"), SHARE),
    threshold=SHARE,
    distance={"type": "null"},
)
_CURRENT_SETTINGS: dict[str, Schema] = SETTINGS | {
    "similarity": any_of(_GAUSSIAN, _SELF_TUNING),
    "window": {"type": "null"},  # removed, but clients may still read it
    "prior": nullable(any_of(_UNIFORM, array(_PRIOR_PAIR_IN_RESPONSE))),
}

_ROWS: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "array", "minItems": 1, "items": NUMBER},
    "description": "Rows of equal length.",
}
_PREDICTIONS: Schema = {
    "label": array(nullable(LABEL)),
    "confidence": array(SHARE),
    "outlier": array(BOOLEAN),
}
_ANSWER = nullable(LABEL)
_POINTS: Schema = {"x": array(NUMBER), "y": array(NUMBER)}
_MILLISECONDS = nullable(number(0))
_MIB = number(0, is_above=True)
# Data of the server-sent events by name.
LIVE_EVENTS: dict[str, Schema] = {
    "map": record(version=COUNT, examples=COUNT),
    "verdicts": record(verdicts=array(ref("Verdict")), passed=COUNT),
    "standing": record(
        examples=COUNT,
        vertices=COUNT,
        radius=NUMBER,
        alarms=array(TEXT),
        rate=NUMBER,
        latency_ms=record(p50=_MILLISECONDS, p99=_MILLISECONDS),
        memory_mib=_MIB,
        waiting=COUNT,
    ),
}
EVENT_STREAM: Schema = TEXT | {
    "description": f"Events named {', '.join(LIVE_EVENTS)}, each with data in JSON: "
    + ", ".join(f"{name.capitalize()}Event" for name in LIVE_EVENTS)
}
SCHEMAS: dict[str, Schema] = {
    "Error": record(error=TEXT),
    "Alive": record(alive={"const": True}),
    "Ready": record({"damage": TEXT}, ready={"const": True}),
    "Session": record(may=enum("read", "write")),
    "Named": record(name=TEXT),
    "Rows": record({"sources": array(LABEL)}, rows=_ROWS),
    "OneRow": record(rows=_ROWS | {"maxItems": 1}),
    "LabelledRows": record(rows=_ROWS, labels=array(LABEL) | {"minItems": 1}),
    "First": record(first=COUNT),
    "Predictions": record(**_PREDICTIONS),
    "Verdicts": record(first=COUNT, **_PREDICTIONS),
    "Erased": record(erased=COUNT, older=BOOLEAN, meaning=TEXT),
    "Settings": record(SETTINGS),
    "CurrentSettings": record(**_CURRENT_SETTINGS),
    "LearnerSummary": record(
        name=TEXT,
        examples=COUNT,
        features=nullable(COUNT),
        classes=array(LABEL),
        vertices=COUNT,
        radius=NUMBER,
        settings=ref("CurrentSettings"),
    ),
    "Question": record(
        example=nullable(COUNT), row=array(NUMBER), guess=_ANSWER, confidence=SHARE, count=COUNT
    ),
    "HealthMetric": record(
        name=TEXT, value=NUMBER, limit=nullable(NUMBER), ok=BOOLEAN, meaning=TEXT
    ),
    "Vertices": record(
        label=array(_ANSWER),
        count=array(COUNT),
        probabilities=array(array(SHARE)),
        point=array(array(NUMBER)),
    ),
    "Map": record(
        learner=TEXT,
        examples=COUNT,
        classes=array(LABEL),
        axes=COUNT,
        vertices=record(
            id=array({"type": "integer"}),
            **_POINTS,
            count=array(COUNT),
            label=array(_ANSWER),
            confidence=array(SHARE),
            taught=array(BOOLEAN),
            example=array(nullable(COUNT)),
        ),
        quarantine=record(**_POINTS),
        outliers=COUNT,
        radius=NUMBER,
    ),
    "Vertex": record(
        id={"type": "integer"},
        count=COUNT,
        label=_ANSWER,
        confidence=SHARE,
        taught=BOOLEAN,
        row=array(NUMBER),
        probabilities=mapping(SHARE),
        examples=array(ref("NearExample")),
        why=TEXT,
    ),
    "NearExample": record(
        example=COUNT,
        row=array(NUMBER),
        distance=number(0),
        label=_ANSWER,
        confidence=SHARE,
    ),
    "Verdict": record(
        example=COUNT,
        label=_ANSWER,
        confidence=SHARE,
        outlier=BOOLEAN,
        taught=_ANSWER,
        x=NUMBER,
        y=NUMBER,
    ),
    "Recent": record(verdicts=array(ref("Verdict"))),
    "Taught": record(example=COUNT, label=LABEL, how=enum(Teach.kind, TeachLater.kind)),
    "History": record(
        at=array(NUMBER),
        signs=mapping(array(nullable(NUMBER))),
        rate=array(NUMBER),
        latency_ms=array(_MILLISECONDS),
        memory_mib=array(_MIB),
    ),
    "Answers": record(
        {"precision": nullable(SHARE), "recall": SHARE},
        answered=SHARE,
        confidence=SHARE,
        labels=mapping(COUNT),
        silent=COUNT,
    ),
    "SettingsPreview": record(before=ref("Answers"), after=ref("Answers"), changed=COUNT, of=COUNT),
    **{f"{name.capitalize()}Event": schema for name, schema in LIVE_EVENTS.items()},
}
BODY_EXAMPLES: dict[str, Schema] = {
    "Rows": {"rows": [[1.0, 0.0], [8.0, 9.0]]},
    "OneRow": {"rows": [[1.0, 0.0]]},
    "LabelledRows": {"rows": [[0.0, 0.0], [9.0, 9.0]], "labels": ["open", "shut"]},
}

# Small requests are parsed by pydantic; rows are parsed by `labelwalk.service.request_bodies`.
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\x00-\x1f\x7f]+$")]
ExampleId = Annotated[int, Field(ge=0, lt=2**62)]
PriorPair = Annotated[tuple[str | int, float], Strict(False)]  # a JSON array is not a tuple


def make_config(example: Schema) -> ConfigDict:
    """Return the configuration of a request model, with an example for the documentation."""
    return ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [example]})


class CreateLearnerBody(BaseModel):
    """The name and the settings of a new learner."""

    model_config = make_config({"name": "doorbell", "settings": {"n_centroids": 500}})
    name: Name
    settings: dict[str, Any] = Field(default_factory=dict)


class TeachLaterBody(BaseModel):
    """The label of an example that was observed."""

    model_config = make_config({"example": 17, "label": "cat"})
    example: ExampleId
    label: str | int


class RetractBody(BaseModel):
    """A taught example, or a class, whose label is wrong."""

    model_config = make_config({"example": 17})
    example: ExampleId | None = None
    label: str | int | None = None


class ForgetBody(BaseModel):
    """A class with all examples that were taught as it, or examples to erase."""

    model_config = make_config({"label": "cat"})
    label: str | int | None = None
    examples: list[ExampleId] = Field([], max_length=10_000)


class TunableSettings(BaseModel):
    """Settings to change; those that are missing keep their values."""

    model_config = make_config({"sink": 0.001, "prior": "uniform"})
    sink: float = 0.0
    prior: Literal["uniform"] | dict[str, float] | list[PriorPair] | None = None
    half_life: float | None = None
    abstain_below: float = 0.0
