"""What a learner was told: checked once, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelwalk.arrays import Label
from labelwalk.kernels.progress import NEVER, Rules
from labelwalk.parameters import (
    LARGEST,
    check_choice,
    check_number,
    check_whole,
    plain_numbers,
    shown,
)
from labelwalk.prior import check_prior
from labelwalk.similarity import Gaussian, Pairwise, SelfTuning, Similarity

WARM_UP = 100  # examples, where the bandwidth is measured, before any can be an outlier
MOST_REMEMBERED = 10_000_000
FAR = 5.0  # local distances of a self-tuning graph past which an example is like nothing known


@dataclass(frozen=True)
class Settings:
    """Parameters of `OnlineLearner`, documented there."""

    n_centroids: int | None
    similarity: Similarity
    scale: Literal["none", "robust"]
    sink: float
    growth: float
    coarsening: Literal["just-enough", "doubling"]
    labelled: Literal["pure", "absorb"]
    label_weight: float | None
    weight_cap: float | None
    labels_per_class: int
    representative: Literal["mean", "founder"]
    readout: Literal["example", "vertex"]
    unreached: Literal["nearest", "abstain"]
    quarantine: int | None
    source_share: float | None
    remember: int
    half_life: float | None
    window: int | None
    calibrate: bool
    prior: Literal["uniform"] | dict[Label, float] | None
    tolerance: float
    abstain_below: float

    def __post_init__(self) -> None:
        plain_numbers(self)
        if self.n_centroids is not None:
            check_whole("n_centroids", self.n_centroids, "500, or None to keep all examples")
        if not isinstance(self.similarity, Similarity):
            raise ValueError(
                f"similarity={shown(self.similarity)} is not a SelfTuning, Gaussian or Pairwise. "
                "Wrap a function of your own as Pairwise(similarity=function)."
            )
        check_choice("scale", self.scale, ("none", "robust"))
        check_number("sink", self.sink, 1e-300, LARGEST, "a small one such as 1e-4")
        check_number("growth", self.growth, 1, LARGEST, "the paper's 1.5", above=True)
        check_choice("coarsening", self.coarsening, ("just-enough", "doubling"))
        check_choice("labelled", self.labelled, ("pure", "absorb"))
        if self.label_weight is not None:
            check_number("label_weight", self.label_weight, 1 / LARGEST, LARGEST, "3, or None")
        if self.weight_cap is not None:
            check_number("weight_cap", self.weight_cap, 1, LARGEST, "2, or None", above=True)
        check_whole("labels_per_class", self.labels_per_class, "64")
        check_choice("representative", self.representative, ("mean", "founder"))
        check_choice("readout", self.readout, ("example", "vertex"))
        check_choice("unreached", self.unreached, ("nearest", "abstain"))
        if self.quarantine is not None:
            check_whole("quarantine", self.quarantine, "5, or None to drop outliers")
        check_whole("remember", self.remember, "1000, or 0", least=0, most=MOST_REMEMBERED)
        if self.source_share is not None:
            check_number("source_share", self.source_share, 0, 1, "0.5, or None", above=True)
            if self.readout == "vertex":
                raise ValueError(
                    f"source_share={self.source_share} needs readout='example': what is not "
                    "learned has no vertex to be read at."
                )
        self._check_forgetting()
        if not isinstance(self.calibrate, bool):
            raise ValueError(f"calibrate={shown(self.calibrate)} is not True or False. Try True.")
        check_prior(self.prior)
        if isinstance(self.prior, dict):
            object.__setattr__(self, "prior", dict(self.prior))
        check_number("tolerance", self.tolerance, 0, 1, "0.01, or 0 to solve exactly at each step")
        check_number("abstain_below", self.abstain_below, 0, 1, "0 never to abstain for doubt")

    def _check_forgetting(self) -> None:
        if self.window is not None:
            check_whole("window", self.window, "10_000, or None", most=MOST_REMEMBERED - 1)
        if self.half_life is None:
            return
        check_number("half_life", self.half_life, 1, LARGEST, "1000 examples, or None")
        if self.window is not None:
            raise ValueError(
                f"half_life={self.half_life} and window={self.window} exclude each other. "
                "Give half_life for examples that fade, or window for those that leave at once."
            )
        if self.label_weight is None:
            raise ValueError(
                f"half_life={self.half_life} needs a label_weight, which is None: labels do not "
                "fade with the rest. Give label_weight=3.0, or window=... in place of half_life."
            )
        if isinstance(self.similarity, Pairwise):
            raise ValueError(
                f"half_life={self.half_life} needs similarities that can be drawn again, which "
                "those of a Pairwise cannot. Give window=... in its place."
            )

    @property
    def room(self) -> int:
        """How many examples are remembered: as many as asked for, and all of a window."""
        return max(self.remember, 0 if self.window is None else self.window + 1)

    @property
    def measures_bandwidth(self) -> bool:
        """Whether the bandwidth is measured from the stream rather than given."""
        if isinstance(self.similarity, Gaussian):
            return isinstance(self.similarity.bandwidth, str)
        return isinstance(self.similarity, SelfTuning)

    @property
    def own_distances(self) -> bool:
        """Whether distances or similarities are measured by a function of the user's."""
        return isinstance(self.similarity, Pairwise) or self.similarity.distance is not None

    @property
    def moving(self) -> bool:
        """Whether representatives are means: only Euclidean examples have any."""
        return not self.own_distances and self.representative == "mean"

    def rules(self) -> Rules:
        """Return what the compiled loop needs to know."""
        graded = isinstance(self.similarity, Pairwise)
        tuned = self.similarity if isinstance(self.similarity, SelfTuning) else None
        cut = np.inf if isinstance(self.similarity, Pairwise) else self.similarity.cut
        return Rules(
            n_centroids=NEVER if self.n_centroids is None else int(self.n_centroids),
            absorb=self.labelled == "absorb",
            sink=float(self.sink),
            label_weight=float(self.label_weight or 0.0),
            weight_cap=np.inf if self.weight_cap is None else float(self.weight_cap),
            labels_per_class=int(self.labels_per_class),
            tolerance=float(self.tolerance),
            own_distances=self.own_distances,
            own_similarities=graded,
            cut=cut,
            neighbour=tuned.neighbour if tuned else 0,
            far=FAR if tuned else 0.0,
            read_first=self.readout == "example",
            guess=self.unreached == "nearest",
            balanced=self.prior is not None,
            support=0 if self.own_distances else int(self.quarantine or 0),
            together=1.0 if tuned else min(cut, FAR),
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
        prior: Any = self.prior
        if isinstance(prior, dict):
            prior = [list(pair) for pair in prior.items()]
        return self.parameters() | {"similarity": similarity, "prior": prior}

    @classmethod
    def from_description(
        cls, description: dict[str, Any], similarity: Similarity | None
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
            kinds = {"Gaussian": Gaussian, "SelfTuning": SelfTuning}
            if described["kind"] not in kinds:
                raise ValueError("its similarity is unknown. Upgrade labelwalk.")
            similarity = kinds[described.pop("kind")](**described)
        prior = description["prior"]
        prior = dict(prior) if isinstance(prior, list) else prior
        settings = cls(**(description | {"similarity": similarity, "prior": prior}))
        if settings.describe()["similarity"] != description["similarity"]:
            raise ValueError(
                f"similarity={similarity!r} is not the one it was saved with, "
                f"{description['similarity']}. Give that one."
            )
        return settings


def _name_of(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
