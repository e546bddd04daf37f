"""Settings of a learner: validated once, immutable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from types import NoneType
from typing import Any, Literal, Self, TypeAlias, TypedDict, get_args, get_origin

import numpy as np

from labelwalk._validation import (
    MAX_PARAMETER,
    check_choice,
    check_number,
    check_whole,
    is_number,
    plain_numbers,
    shown,
)
from labelwalk.arrays import Floats, Label
from labelwalk.kernels.counters import NEVER, KernelParams
from labelwalk.similarity import REMOVED_FUNCTIONS, Gaussian, SelfTuning, Similarity

WARM_UP = 100  # examples, where the bandwidth is measured, before any can be an outlier
MOST_REMEMBERED = 10_000_000
REMOVED_PARAMETERS = {
    "window": "window was removed: use half_life=n / 3 to let about the last n examples count.",
    "distance": REMOVED_FUNCTIONS,
}
FAR = 5.0  # local distances of a self-tuning graph past which an example is like nothing known


def reject_removed(parameters: Mapping[str, object]) -> None:
    """Reject unknown or removed keyword arguments of a constructor."""
    for name, value in parameters.items():
        if name in REMOVED_PARAMETERS:
            raise TypeError(f"{name}={shown(value)} is not supported. {REMOVED_PARAMETERS[name]}")
        raise TypeError(f"unexpected keyword argument {name!r}. Check its spelling.")


Check: TypeAlias = Callable[[str, object], None]


def _number(low: float, high: float, repair: str, *, above: bool = False) -> Check:
    return partial(check_number, low=low, high=high, repair=repair, above=above)


CHECKS: dict[str, Check] = {
    "n_centroids": partial(check_whole, repair="500, or None to keep all examples"),
    "sink": _number(1e-300, MAX_PARAMETER, "a small one such as 1e-4"),
    "growth": _number(1, MAX_PARAMETER, "the paper's 1.5", above=True),
    "label_weight": _number(1 / MAX_PARAMETER, MAX_PARAMETER, "3, or None"),
    "weight_cap": _number(1, MAX_PARAMETER, "2, or None", above=True),
    "labels_per_class": partial(check_whole, repair="64"),
    "quarantine": partial(check_whole, repair="5, or None to drop outliers"),
    "source_share": _number(0, 1, "0.5, or None", above=True),
    "remember": partial(check_whole, repair="1000, or 0", least=0, most=MOST_REMEMBERED),
    "half_life": _number(1, MAX_PARAMETER, "1000 examples, or None"),
    "tolerance": _number(0, 1, "0.01, or 0 to solve exactly at each step"),
    "abstain_below": _number(0, 1, "0 to answer at any confidence"),
}


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
    calibrate: bool
    prior: Literal["uniform"] | dict[Label, float] | None
    tolerance: float
    abstain_below: float

    def __post_init__(self) -> None:
        plain_numbers(self)
        for field in fields(self):
            value, kinds = getattr(self, field.name), get_args(field.type)
            if get_origin(field.type) is Literal:
                check_choice(field.name, value, kinds)
            elif field.name in CHECKS and not (value is None and NoneType in kinds):
                CHECKS[field.name](field.name, value)
        if not isinstance(self.similarity, Similarity):
            raise ValueError(
                f"similarity={shown(self.similarity)} is neither a SelfTuning nor a Gaussian. "
                f"{REMOVED_FUNCTIONS}"
            )
        if self.source_share is not None and self.readout == "vertex":
            raise ValueError(f"source_share={self.source_share} requires readout='example'.")
        if self.half_life is not None and self.label_weight is None:
            raise ValueError(
                f"half_life={self.half_life} requires a label_weight, since labels do not fade. "
                "Try label_weight=3.0."
            )
        if not isinstance(self.calibrate, bool):
            raise ValueError(f"calibrate={shown(self.calibrate)} is not True or False. Try True.")
        check_prior(self.prior)
        if isinstance(self.prior, dict):
            object.__setattr__(self, "prior", dict(self.prior))

    @property
    def measures_bandwidth(self) -> bool:
        """Whether the bandwidth is measured from the stream rather than given."""
        similarity = self.similarity
        return not isinstance(similarity, Gaussian) or isinstance(similarity.bandwidth, str)

    @property
    def moving(self) -> bool:
        """Whether representatives are means."""
        return self.representative == "mean"

    def rules(self) -> KernelParams:
        """Return the parameters of the compiled loop."""
        tuned = self.similarity if isinstance(self.similarity, SelfTuning) else None
        return KernelParams(
            n_centroids=NEVER if self.n_centroids is None else int(self.n_centroids),
            absorb=self.labelled == "absorb",
            sink=float(self.sink),
            label_weight=float(self.label_weight or 0.0),
            weight_cap=np.inf if self.weight_cap is None else float(self.weight_cap),
            labels_per_class=int(self.labels_per_class),
            tolerance=float(self.tolerance),
            cut=self.similarity.cut,
            neighbour=tuned.neighbour if tuned else 0,
            outlier_distance=FAR if tuned else 0.0,
            read_first=self.readout == "example",
            nearest_fallback=self.unreached == "nearest",
            balanced=self.prior is not None,
            quarantine_size=int(self.quarantine or 0),
            group_distance=1.0 if tuned else min(self.similarity.cut, FAR),
            warm_up=WARM_UP if self.measures_bandwidth else 0,
        )

    def parameters(self) -> dict[str, Any]:
        """Return the settings as arguments of the constructor."""
        return dict(vars(self))

    def describe(self) -> dict[str, Any]:
        """Return the settings as JSON values, with removed ones that version 0.7 expects."""
        kind = type(self.similarity).__name__
        similarity = {"kind": kind, **vars(self.similarity), "distance": None}
        prior: Any = self.prior
        if isinstance(prior, dict):
            prior = [list(pair) for pair in prior.items()]
        return self.parameters() | {"similarity": similarity, "window": None, "prior": prior}

    @classmethod
    def from_description(cls, description: dict[str, Any]) -> Self:
        """Return the settings from the result of `describe`."""
        kinds = {"Gaussian": Gaussian, "SelfTuning": SelfTuning}
        described = dict(description["similarity"])
        kind = described.pop("kind")
        if kind not in kinds:
            raise ValueError("its similarity is unknown: upgrade labelwalk")
        similarity = kinds[kind](**described)
        prior = description["prior"]
        prior = dict(prior) if isinstance(prior, list) else prior
        given = {name: value for name, value in description.items() if name != "window"}
        return cls(**(given | {"similarity": similarity, "prior": prior}))


REPAIR = 'Try prior="uniform", or a share above 0 for every class, such as {"cat": 0.7, "dog": 0.3}'


def check_prior(prior: object) -> None:
    """Raise ValueError unless a prior is None, "uniform" or positive shares of classes."""
    if prior is None or (isinstance(prior, str) and prior == "uniform"):
        return
    shares = prior if isinstance(prior, dict) else {}
    for label, share in shares.items():
        if not isinstance(label, str | int) or isinstance(label, bool):
            raise ValueError(
                f"prior has a share for {shown(label)}, which is neither a string nor an integer. "
                f"{REPAIR}."
            )
        if not is_number(share) or not 0 < share <= MAX_PARAMETER:
            raise ValueError(f"prior gives {shown(label)} the share {shown(share)}. {REPAIR}.")
    if not shares:
        raise ValueError(f"prior={shown(prior)} is not None, 'uniform' or a dictionary. {REPAIR}.")


def check_covers(prior: object, labels: Sequence[Label]) -> None:
    """Raise ValueError if a prior has no share for a label."""
    if isinstance(prior, dict):
        for label in labels:
            if label not in prior:
                raise ValueError(
                    f"label {shown(label)} has no share in prior={shown(prior)}. Create the "
                    "learner with a share for every class."
                )


def shares(prior: object, classes: Sequence[Label]) -> Floats:
    """Return the share of each class, summing to 1."""
    if isinstance(prior, dict):
        given = np.array([float(prior[label]) for label in classes])
        total: float = given.sum()
        return given / total
    uniform = np.empty(len(classes))
    uniform.fill(1.0 / max(1, len(classes)))  # np.full takes half a microsecond more
    return uniform


class AdjustableSettings(TypedDict, total=False):
    """Settings that can be changed while a learner is in use."""

    sink: float
    prior: Literal["uniform"] | dict[Label, float] | None
    half_life: float | None
    abstain_below: float


def adjust_settings(settings: Settings, changes: Mapping[str, Any], *, begun: bool) -> Settings:
    """Return the settings with some changed; raise ValueError for what cannot be changed."""
    for name in changes:
        if name not in AdjustableSettings.__annotations__:
            names = ", ".join(AdjustableSettings.__annotations__)
            raise ValueError(f"{name} cannot be adjusted. Choose from {names}.")
    new = replace(settings, **changes)
    if begun and new.half_life is None and settings.half_life is not None:
        raise ValueError(
            "half_life=None cannot restore examples that have faded with "
            f"half_life={settings.half_life}. Use a very long half-life, such as 1e12, to stop the "
            "fading."
        )
    return new
