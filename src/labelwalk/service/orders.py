"""What a request may order, where it is not rows: the shapes of its JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^/\x00-\x1f\x7f]+$")]
Pair = Annotated[tuple[str | int, float], Strict(False)]  # JSON has no tuples, but lists


def _shaped(example: dict[str, Any]) -> ConfigDict:
    return ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [example]})


class NewLearner(BaseModel):
    """A learner to be made."""

    model_config = _shaped({"name": "doorbell", "settings": {"n_centroids": 500}})
    name: Name
    settings: dict[str, Any] = Field(default_factory=dict)


class LateLabel(BaseModel):
    """The label of an example that was observed."""

    model_config = _shaped({"example": 17, "label": "cat"})
    example: int = Field(ge=0, lt=2**62)
    label: str | int


class TakenBack(BaseModel):
    """What was taught and is wrong: an example, or a class."""

    model_config = _shaped({"example": 17})
    example: int | None = Field(None, ge=0, lt=2**62)
    label: str | int | None = None


class Forgotten(BaseModel):
    """What is to be erased: a class with all examples taught as it, or examples."""

    model_config = _shaped({"label": "cat"})
    label: str | int | None = None
    examples: list[Annotated[int, Field(ge=0, lt=2**62)]] = Field([], max_length=10_000)


class Dials(BaseModel):
    """Settings to be changed; what is not named stays."""

    model_config = _shaped({"sink": 0.001, "prior": "uniform"})
    sink: float = 0.0
    prior: Literal["uniform"] | dict[str, float] | list[Pair] | None = None
    half_life: float | None = None
    abstain_below: float = 0.0


class NamedFace(BaseModel):
    """Who a face is."""

    model_config = _shaped({"example": 1203, "name": "Ada"})
    example: int = Field(ge=0, lt=2**62)
    name: Annotated[str, Field(min_length=1, max_length=100)]


class Undone(BaseModel):
    """Faces whose names are taken back."""

    model_config = _shaped({"examples": [1203, 1190]})
    examples: list[Annotated[int, Field(ge=0, lt=2**62)]] = Field(min_length=1, max_length=100)


class ForgottenPerson(BaseModel):
    """Who is to be erased: somebody with a name, or a stranger by number."""

    model_config = _shaped({"name": "Ada"})
    name: str | None = None
    stranger: int | None = Field(None, ge=1, lt=2**62)


class Sink(BaseModel):
    """How readily a walk gives up: a number, or found by itself."""

    model_config = _shaped({"sink": "auto"})
    sink: Literal["auto"] | float
