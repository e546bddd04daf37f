"""What a learner was told: checked once, never changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from labelwalk.kernels.progress import NEVER, Rules
from labelwalk.similarity import Gaussian, Pairwise, plain_numbers

WARM_UP = 100  # examples, where the bandwidth is measured, before any can be an outlier
SMALLEST_SINK = 1e-300


@dataclass(frozen=True)
class Settings:
    """Parameters of `OnlineLearner`, documented there."""

    n_centroids: int | None = 500
    similarity: Gaussian | Pairwise = field(default_factory=Gaussian)
    sink: float = 1e-4
    growth: float = 1.5
    coarsening: Literal["just-enough", "doubling"] = "just-enough"
    labelled: Literal["pure", "absorb"] = "pure"
    label_weight: float | None = 3.0
    labels_per_class: int = 64
    tolerance: float = 1e-2
    abstain_below: float = 0.0

    def __post_init__(self) -> None:
        plain_numbers(self)
        _whole("n_centroids", self.n_centroids, "None to keep every distinct example", none=True)
        _whole("labels_per_class", self.labels_per_class, "64")
        if not isinstance(self.similarity, Gaussian | Pairwise):
            raise ValueError(
                f"similarity={self.similarity!r} is not a Gaussian or Pairwise. "
                "Wrap a function of your own as Pairwise(similarity=function)."
            )
        _choice("coarsening", self.coarsening, ("just-enough", "doubling"))
        _choice("labelled", self.labelled, ("pure", "absorb"))
        _number("sink", self.sink, SMALLEST_SINK, math.inf, "a small one such as 1e-4")
        _number("growth", self.growth, 1, math.inf, "the paper's 1.5", above=True)
        if self.label_weight is not None:
            _number("label_weight", self.label_weight, 0, math.inf, "3, or None", above=True)
        _number("tolerance", self.tolerance, 0, 1, "0.01, or 0 to solve exactly at each step")
        _number("abstain_below", self.abstain_below, 0, 1, "0 never to abstain for doubt")

    @property
    def measures_bandwidth(self) -> bool:
        """Whether the bandwidth is measured from the stream rather than given."""
        return isinstance(self.similarity, Gaussian) and isinstance(self.similarity.bandwidth, str)

    def rules(self) -> Rules:
        """Return what the compiled loop needs to know."""
        graded = isinstance(self.similarity, Pairwise)
        return Rules(
            n_centroids=NEVER if self.n_centroids is None else int(self.n_centroids),
            absorb=self.labelled == "absorb",
            sink=float(self.sink),
            label_weight=float(self.label_weight or 0.0),
            labels_per_class=int(self.labels_per_class),
            tolerance=float(self.tolerance),
            pairwise=graded or self.similarity.distance is not None,
            graded=graded,
            warm_up=WARM_UP if self.measures_bandwidth else 0,
        )

    def parameters(self) -> dict[str, Any]:
        """Return the settings as the arguments they were made from."""
        return dict(vars(self))

    def describe(self) -> dict[str, Any]:
        """Return the settings as JSON can hold them; functions of the user's are named only."""
        similarity: dict[str, Any] = {"kind": type(self.similarity).__name__}
        for name, value in vars(self.similarity).items():
            similarity[name] = {"function": _name_of(value)} if callable(value) else value
        return self.parameters() | {"similarity": similarity}

    @classmethod
    def from_description(
        cls, description: dict[str, Any], similarity: Gaussian | Pairwise | None
    ) -> Settings:
        """Return the settings described; functions of the user's must be given again."""
        described = dict(description["similarity"])
        functions = [value for value in described.values() if isinstance(value, dict)]
        if similarity is None:
            if functions:
                names = ", ".join(str(value["function"]) for value in functions)
                raise ValueError(
                    f"it uses functions of your own ({names}), which no file can hold. "
                    "Give them again, as in load(path, similarity=...)."
                )
            if described.pop("kind") != "Gaussian":
                raise ValueError("its similarity is unknown. Upgrade labelwalk.")
            similarity = Gaussian(**described)
        settings = cls(**(description | {"similarity": similarity}))
        if settings.describe() != description:
            raise ValueError(
                f"similarity={similarity!r} is not the one it was saved with, "
                f"{description['similarity']}. Give that one."
            )
        return settings


def _name_of(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown. Choose one of {', '.join(choices)}.")


def _whole(name: str, value: object, repair: str, *, none: bool = False) -> None:
    if none and value is None:
        return
    whole = isinstance(value, int) or hasattr(value, "__index__")
    if isinstance(value, bool) or not whole or int(value) < 1:  # type: ignore[call-overload]
        raise ValueError(f"{name}={value!r} is not a whole number >= 1. Try {repair}.")


def _number(
    name: str, value: object, low: float, high: float, repair: str, *, above: bool = False
) -> None:
    try:
        number = float(value) if not isinstance(value, bool | str) else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    inside = low < number if above else low <= number
    if not (inside and number <= high and math.isfinite(number)):
        wanted = f"a number > {low}" if above else f"a number from {low} to {high}"
        raise ValueError(f"{name}={value!r} is not {wanted}. Try {repair}.")
