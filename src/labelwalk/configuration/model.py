"""All settings of the command line: their types, defaults and words, and what they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

if TYPE_CHECKING:
    from labelwalk.io import Columns
    from labelwalk.learner import OnlineLearner
    from labelwalk.similarity import Gaussian, SelfTuning

SIMILARITY = ("similarity", "bandwidth", "threshold")
REMOVED_SETTINGS = {"window": "Use half_life."}
NO_SETTINGS = ("profile", *SIMILARITY)  # of a learner, as they are called here


class ConfigurationError(ValueError):
    """A setting that is unknown or cannot be used; says where it came from."""


def _nothing(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


def _words(value: Any) -> Any:
    return [word for word in value.split(",") if word] if isinstance(value, str) else value


def _shares(value: Any) -> Any:
    if not isinstance(value, str) or "=" not in value:
        return value
    pairs = (part.partition("=") for part in value.split(","))
    return {name.strip(): share for name, _, share in pairs}


Maybe = BeforeValidator(_nothing)
Words = Annotated[list[str], BeforeValidator(_words)]
LEARNER, COLUMNS, ROWS = "Learner", "Columns", "Rows"


def _setting(default: Any, panel: str, help: str) -> Any:
    return Field(default, description=help, json_schema_extra={"panel": panel})


class Configuration(BaseModel):
    """All settings of the command line that may stand in a file or in the environment.

    Examples
    --------
    >>> Configuration(n_centroids="200", prior="cat=0.5,dog=0.5").prior
    {'cat': 0.5, 'dog': 0.5}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    features: Words = _setting(
        [], COLUMNS, "Names or patterns, such as 'f*,age'; by default all that is nothing else."
    )
    label_column: Annotated[str | None, Maybe] = _setting(
        None, COLUMNS, "Labels, empty where there is none; 'label' if there is such a column."
    )
    id_column: Annotated[str | None, Maybe] = _setting(
        None, COLUMNS, "A name for each row; checked to differ."
    )
    truth_column: Annotated[str | None, Maybe] = _setting(
        None, COLUMNS, "Labels that are only compared with the answers, for accuracy."
    )
    source_column: Annotated[str | None, Maybe] = _setting(
        None, COLUMNS, "Where a row comes from, for --source-share."
    )
    drop: Words = _setting([], COLUMNS, "Names or patterns of columns that are no features.")
    unlabeled: str = _setting("", COLUMNS, "What stands for no label, beside nothing at all.")

    on_error: Literal["stop", "skip", "report"] = _setting(
        "stop", ROWS, "A row that cannot be understood: stop; skip it; skip it and say so."
    )

    profile: Literal["default", "paper"] = _setting(
        "default", LEARNER, "What all else starts from: our defaults, or Figure 1 of the paper."
    )
    n_centroids: Annotated[int | None, Maybe] = _setting(
        500, LEARNER, "The most unlabelled vertices that are kept; none keeps every example."
    )
    similarity: Literal["self-tuning", "gaussian"] = _setting(
        "self-tuning", LEARNER, "How alike two examples are."
    )
    bandwidth: float | Literal["cover", "scale"] = _setting(
        "cover", LEARNER, "σ of a gaussian: a number, or how it is measured."
    )
    threshold: Annotated[float | None, Maybe] = _setting(
        None, LEARNER, "ε: similarities below it are zero; by default that of the similarity."
    )
    scale: Literal["none", "robust"] = _setting(
        "none", LEARNER, "Compare features as they come, or each in units of its robust spread."
    )
    sink: float = _setting(1e-4, LEARNER, "γ: how readily a walk gives up.")
    growth: float = _setting(1.5, LEARNER, "m: how far coarsening goes on past k.")
    coarsening: Literal["just-enough", "doubling"] = _setting(
        "just-enough", LEARNER, "How vertices merge when there are more than k."
    )
    labelled: Literal["pure", "absorb"] = _setting(
        "pure", LEARNER, "Whether labelled vertices also take in unlabelled examples."
    )
    label_weight: Annotated[float | None, Maybe] = _setting(
        3.0, LEARNER, "What a labelled vertex weighs, in mean vertices."
    )
    weight_cap: Annotated[float | None, Maybe] = _setting(
        2.0, LEARNER, "The most an unlabelled vertex weighs, in mean vertices."
    )
    labels_per_class: int = _setting(64, LEARNER, "The most labelled vertices of one class.")
    representative: Literal["mean", "founder"] = _setting(
        "mean", LEARNER, "What similarities are measured from."
    )
    readout: Literal["example", "vertex"] = _setting(
        "example", LEARNER, "Where the answer is read."
    )
    unreached: Literal["nearest", "abstain"] = _setting(
        "nearest", LEARNER, "What is said where no label can be reached."
    )
    quarantine: Annotated[int | None, Maybe] = _setting(
        5, LEARNER, "How many outliers must come close together to be believed."
    )
    source_share: Annotated[float | None, Maybe] = _setting(
        None, LEARNER, "The most that one source may have of what is learned."
    )
    remember: int = _setting(1000, LEARNER, "How many of the last examples can be taught later.")
    half_life: Annotated[float | None, Maybe] = _setting(
        None, LEARNER, "After so many examples an unlabelled one weighs half."
    )
    calibrate: bool = _setting(True, LEARNER, "Whether confidence is sharpened by left-out labels.")
    prior: Annotated[
        Literal["uniform"] | dict[str, float] | None, Maybe, BeforeValidator(_shares)
    ] = _setting(None, LEARNER, "Shares of the classes: uniform, or cat=0.7,dog=0.3.")
    tolerance: float = _setting(1e-2, LEARNER, "The largest error of a probability.")
    abstain_below: float = _setting(0.0, LEARNER, "Abstain where the confidence is below this.")

    def remember_origins(self, origins: Mapping[str, str]) -> None:
        """Keep where settings came from, for complaints."""
        self._origins.update(origins)

    @property
    def columns(self) -> Columns:
        """What is said of the columns."""
        from labelwalk.io import Columns

        return Columns(
            tuple(self.features),
            self.label_column,
            self.id_column,
            self.truth_column,
            self.source_column,
            tuple(self.drop),
        )

    def learner(self) -> OnlineLearner:
        """Return a new learner.

        Raises
        ------
        ConfigurationError
            A setting is out of its range, or does not go with another.
        """
        from labelwalk.learner import OnlineLearner

        base = OnlineLearner.paper() if self.profile == "paper" else OnlineLearner()
        try:
            similarity = self._similarity(base.settings.similarity)
            return OnlineLearner(
                **base.settings.parameters() | self._given() | {"similarity": similarity}
            )
        except ValueError as error:
            name = str(error).partition("=")[0]
            origin = self._origins.get(name)
            where = f" It comes from {origin}." if origin else ""
            raise ConfigurationError(f"{error}{where}") from error

    def check_fits(self, learner: OnlineLearner, path: str) -> None:
        """Refuse settings that a learner from a file does not have.

        Raises
        ------
        ConfigurationError
            One was given that differs.
        """
        wanted = self.learner().settings.parameters()
        has = learner.settings.parameters()
        chosen = set(self._given()) | ({"similarity"} if self._given_similarity() else set())
        if "profile" in self.model_fields_set:
            chosen = set(wanted)
        for name in sorted(chosen):
            if wanted[name] != has[name]:
                raise ConfigurationError(
                    f"{path} was made with {name}={has[name]!r}, and {wanted[name]!r} is wanted "
                    "now. A learner keeps its settings: leave that out, or make a new one."
                )

    def _given(self) -> dict[str, Any]:
        """Return the settings of a learner that were given, under the names they have there."""
        fields = type(self).model_fields
        return {
            name: getattr(self, name)
            for name in self.model_fields_set
            if panel_of(fields[name]) == LEARNER and name not in NO_SETTINGS
        }

    def _given_similarity(self) -> set[str]:
        return self.model_fields_set & set(SIMILARITY)

    def _similarity(self, base: Gaussian | SelfTuning) -> Gaussian | SelfTuning:
        from labelwalk.similarity import Gaussian, SelfTuning

        given = self._given_similarity()
        kinds = {"gaussian": Gaussian, "self-tuning": SelfTuning}
        kind: Any = kinds[self.similarity] if "similarity" in given else type(base)
        if "bandwidth" in given and kind is SelfTuning:
            raise ConfigurationError(
                f"bandwidth={self.bandwidth!r} is that of a gaussian, and self-tuning measures its "
                "own. Give similarity='gaussian' too."
            )
        start = asdict(base) if kind is type(base) else {}
        chosen = {name: getattr(self, name) for name in given if name != "similarity"}
        made: Gaussian | SelfTuning = kind(**(start | chosen))
        return made


def panel_of(field: Any) -> str:
    """Return the group of settings that one belongs to."""
    return str(field.json_schema_extra["panel"])
