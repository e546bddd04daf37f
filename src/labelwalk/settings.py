"""What a learner was told: checked once, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from labelwalk.kernels.progress import NEVER, Rules
from labelwalk.parameters import check_choice, check_number, check_whole, plain_numbers, shown
from labelwalk.similarity import Gaussian, Pairwise

WARM_UP = 100  # examples, where the bandwidth is measured, before any can be an outlier
LARGEST = 1e100  # of a parameter that is multiplied with data


@dataclass(frozen=True)
class Settings:
    """Parameters of `OnlineLearner`, documented there."""

    n_centroids: int | None
    similarity: Gaussian | Pairwise
    sink: float
    growth: float
    coarsening: Literal["just-enough", "doubling"]
    labelled: Literal["pure", "absorb"]
    label_weight: float | None
    labels_per_class: int
    tolerance: float
    abstain_below: float

    def __post_init__(self) -> None:
        plain_numbers(self)
        if self.n_centroids is not None:
            check_whole("n_centroids", self.n_centroids, "500, or None to keep all examples")
        if not isinstance(self.similarity, Gaussian | Pairwise):
            raise ValueError(
                f"similarity={shown(self.similarity)} is not a Gaussian or Pairwise. "
                "Wrap a function of your own as Pairwise(similarity=function)."
            )
        check_number("sink", self.sink, 1e-300, LARGEST, "a small one such as 1e-4")
        check_number("growth", self.growth, 1, LARGEST, "the paper's 1.5", above=True)
        check_choice("coarsening", self.coarsening, ("just-enough", "doubling"))
        check_choice("labelled", self.labelled, ("pure", "absorb"))
        if self.label_weight is not None:
            check_number("label_weight", self.label_weight, 1 / LARGEST, LARGEST, "3, or None")
        check_whole("labels_per_class", self.labels_per_class, "64")
        check_number("tolerance", self.tolerance, 0, 1, "0.01, or 0 to solve exactly at each step")
        check_number("abstain_below", self.abstain_below, 0, 1, "0 never to abstain for doubt")

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
            own_distances=graded or self.similarity.distance is not None,
            own_similarities=graded,
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
