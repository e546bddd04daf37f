"""Settings of the command line: from options, a TOML file and the environment, in that order."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from labelwalk.errors import LabelwalkError

if TYPE_CHECKING:
    from labelwalk.io import Columns
    from labelwalk.learner import OnlineLearner
    from labelwalk.settings import Settings
    from labelwalk.similarity import Gaussian, SelfTuning

CONFIG_FILE = "labelwalk.toml"
VARIABLE_PREFIX = "LABELWALK_"
SIMILARITY_FIELDS = ("similarity", "bandwidth", "threshold")
REMOVED_SETTINGS = {"window": "half_life"}  # with the setting to use instead


class ConfigurationError(LabelwalkError, ValueError):
    """A setting that is unknown or cannot be used. The message names its origin."""


def _parse_none(value: Any) -> Any:
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


def _split_names(value: Any) -> Any:
    return [name for name in value.split(",") if name] if isinstance(value, str) else value


def _parse_shares(value: Any) -> Any:
    if not isinstance(value, str) or "=" not in value:
        return value
    pairs = (part.partition("=") for part in value.split(","))
    return {name.strip(): share for name, _, share in pairs}


T = TypeVar("T")
Maybe = Annotated[T | None, BeforeValidator(_parse_none)]
Names = Annotated[list[str], BeforeValidator(_split_names)]


def _option(default: Any, help: str) -> Any:
    return Field(default, description=help)


class ColumnOptions(BaseModel):
    """The roles of columns."""

    features: Names = _option(
        [],
        "Feature columns (names or glob patterns, e.g. 'f*,age'). Default: every column without "
        "another role.",
    )
    label_column: Maybe[str] = _option(
        None, "Column of labels, empty where a row has none. Default: 'label', if present."
    )
    id_column: Maybe[str] = _option(None, "Column with a unique row id; duplicates are rejected.")
    truth_column: Maybe[str] = _option(
        None, "Column of true labels, used only to measure accuracy."
    )
    source_column: Maybe[str] = _option(
        None, "Column with the source of each row, for --source-share."
    )
    drop: Names = _option([], "Columns that are not features (names or glob patterns).")
    unlabeled: str = _option("", 'Value that means "unlabelled", in addition to an empty cell.')


class RowOptions(BaseModel):
    """The treatment of rows."""

    on_error: Literal["stop", "skip", "report"] = _option(
        "stop", "What to do with faulty rows: stop the run, skip them, or skip and report them."
    )


class LearnerOptions(BaseModel):
    """The settings of a learner."""

    profile: Literal["default", "paper"] = _option(
        "default", "Defaults of all other settings: those of labelwalk, or of the paper."
    )
    n_centroids: Maybe[int] = _option(
        500, "Maximum number of unlabelled vertices; none keeps every example."
    )
    similarity: Literal["self-tuning", "gaussian"] = _option(
        "self-tuning", "Similarity between two examples."
    )
    bandwidth: float | Literal["cover", "scale"] = _option(
        "cover", "σ of the gaussian similarity: a number, or how to measure it."
    )
    threshold: Maybe[float] = _option(
        None, "ε: similarities below it are zero. Default: depends on --similarity."
    )
    scale: Literal["none", "robust"] = _option(
        "none", "Feature scaling: none, or divide each feature by a robust spread."
    )
    sink: float = _option(1e-4, 'γ: weight of the sink ("don\'t know") at each vertex.')
    growth: float = _option(1.5, "m: how far coarsening continues below n-centroids.")
    coarsening: Literal["just-enough", "doubling"] = _option(
        "just-enough", "How vertices merge when there are too many."
    )
    labelled: Literal["pure", "absorb"] = _option(
        "pure", "Whether labelled vertices absorb unlabelled examples."
    )
    label_weight: Maybe[float] = _option(3.0, "Weight of a labelled vertex, relative to the mean.")
    weight_cap: Maybe[float] = _option(
        2.0, "Maximum weight of an unlabelled vertex, relative to the mean."
    )
    labels_per_class: int = _option(64, "Maximum number of labelled vertices per class.")
    representative: Literal["mean", "founder"] = _option(
        "mean", "Point of a vertex from which similarities are measured."
    )
    readout: Literal["example", "vertex"] = _option(
        "example", "Point at which the answer is computed."
    )
    unreached: Literal["nearest", "abstain"] = _option(
        "nearest", "Answer if no label can be reached."
    )
    quarantine: Maybe[int] = _option(5, "Number of outliers close together that create a vertex.")
    source_share: Maybe[float] = _option(
        None, "Maximum share of a single source among the learned examples."
    )
    remember: int = _option(1000, "Number of recent examples that can be taught later.")
    half_life: Maybe[float] = _option(
        None, "Number of examples after which an unlabelled example's weight halves."
    )
    calibrate: bool = _option(True, "Whether confidence is calibrated by leaving out labels.")
    prior: Annotated[
        Maybe[Literal["uniform"] | dict[str, float]], BeforeValidator(_parse_shares)
    ] = _option(None, "Class shares: uniform, or cat=0.7,dog=0.3.")
    tolerance: float = _option(1e-2, "Maximum error of a probability.")
    abstain_below: float = _option(0.0, "Abstain if the confidence is below this.")


PANELS: dict[str, type[BaseModel]] = {
    "Columns": ColumnOptions,
    "Rows": RowOptions,
    "Learner": LearnerOptions,
}
"""Groups of options in the help."""


class Configuration(LearnerOptions, RowOptions, ColumnOptions):
    """All settings of the command line that a file or the environment can hold.

    Examples
    --------
    >>> Configuration(n_centroids="200", prior="cat=0.5,dog=0.5").prior
    {'cat': 0.5, 'dog': 0.5}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    @property
    def columns(self) -> Columns:
        """Roles of the columns."""
        from labelwalk.io import Columns

        return Columns(
            tuple(self.features),
            self.label_column,
            self.id_column,
            self.truth_column,
            self.source_column,
            tuple(self.drop),
        )

    def settings(self) -> Settings:
        """Return the validated settings of a learner."""
        from labelwalk.learner import OnlineLearner
        from labelwalk.settings import Settings
        from labelwalk.similarity import SelfTuning

        base: dict[str, Any]
        learner_fields = LearnerOptions.model_fields.keys() - {"profile", *SIMILARITY_FIELDS}
        try:
            if self.profile == "paper":
                base = OnlineLearner.paper().settings.parameters()
                learner_fields &= self.model_fields_set
            else:
                base = {"similarity": SelfTuning()}
            values = {name: getattr(self, name) for name in learner_fields}
            similarity = self._choose_similarity(base["similarity"])
            return Settings(**base | values | {"similarity": similarity})
        except ValueError as error:
            origin = self._origins.get(str(error).partition("=")[0])
            where = f" It comes from {origin}." if origin else ""
            raise ConfigurationError(f"{error}{where}") from error

    def learner(self) -> OnlineLearner:
        """Return a new learner."""
        from labelwalk.learner import OnlineLearner

        return OnlineLearner(**self.settings().parameters())

    def check_fits(self, learner: OnlineLearner, path: str) -> None:
        """Reject explicit settings that differ from those of a saved learner."""
        requested, present = self.settings().parameters(), learner.settings.parameters()
        explicit = self.model_fields_set & LearnerOptions.model_fields.keys()
        if "profile" in explicit:
            explicit = set(requested)
        elif explicit & set(SIMILARITY_FIELDS):
            explicit = explicit.difference(SIMILARITY_FIELDS) | {"similarity"}
        for name in sorted(explicit):
            if requested[name] != present[name]:
                raise ConfigurationError(
                    f"{path} has {name}={present[name]!r}, not {requested[name]!r}. Settings of a "
                    "saved learner cannot be changed here. Omit the setting, or create a new "
                    "learner."
                )

    def _choose_similarity(self, base: Any) -> Gaussian | SelfTuning:
        from labelwalk.similarity import Gaussian, SelfTuning

        explicit = self.model_fields_set & set(SIMILARITY_FIELDS)
        kinds = {"gaussian": Gaussian, "self-tuning": SelfTuning}
        kind: Any = kinds[self.similarity] if "similarity" in explicit else type(base)
        if "bandwidth" in explicit and kind is SelfTuning:
            raise ConfigurationError(
                f"bandwidth={self.bandwidth!r} requires similarity='gaussian', because the "
                "self-tuning similarity measures its bandwidths. Set similarity='gaussian' too."
            )
        start = asdict(base) if kind is type(base) else {}
        chosen = {name: getattr(self, name) for name in explicit if name != "similarity"}
        similarity: Gaussian | SelfTuning = kind(**(start | chosen))
        return similarity


def load_configuration(
    options: Mapping[str, Any], path: str | None, environment: Mapping[str, str]
) -> Configuration:
    """Combine settings: options take precedence over the file, and the file over the environment.

    Without a path, the file is `labelwalk.toml`, if it exists.
    """
    names = [*Configuration.model_fields, *REMOVED_SETTINGS]
    variables = {name: VARIABLE_PREFIX + name.upper() for name in names}
    from_environment = {name: environment[v] for name, v in variables.items() if v in environment}
    from_file, file = _read_file(path)
    origins = {
        **{name: f"the environment ({variables[name]})" for name in from_environment},
        **dict.fromkeys(from_file, file),
        **{name: f"--{name.replace('_', '-')}" for name in options},
    }
    _check_spelling(environment, variables)
    values = from_environment | from_file | dict(options)
    for name in REMOVED_SETTINGS.keys() & values:
        place, other = f"{name} in {origins[name]}", REMOVED_SETTINGS[name]
        if name in options:
            place, other = (f"--{setting.replace('_', '-')}" for setting in (name, other))
        raise ConfigurationError(f"{place} was removed. Use {other}.")
    try:
        configuration = Configuration(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise ConfigurationError(_describe_error(name, origins[name], first)) from None
    configuration._origins.update(origins)
    return configuration


def _read_file(path: str | None) -> tuple[dict[str, Any], str]:
    chosen = path or CONFIG_FILE
    if path is None and not Path(CONFIG_FILE).is_file():
        return {}, chosen
    try:
        return tomllib.loads(Path(chosen).read_text("utf-8")), chosen
    except OSError as error:
        raise ConfigurationError(
            f"{chosen} cannot be read ({error.strerror}). Check --config."
        ) from error
    except ValueError as error:
        raise ConfigurationError(f"{chosen} is not valid TOML: {error}. Correct it.") from error


def _check_spelling(environment: Mapping[str, str], variables: Mapping[str, str]) -> None:
    """Reject a misspelt variable, which would be ignored silently."""
    for name in environment:
        if name.startswith(VARIABLE_PREFIX) and name not in variables.values():
            close = get_close_matches(name, variables.values(), 1, cutoff=0.9)
            if close:
                raise ConfigurationError(f"{name} in the environment: did you mean {close[0]}?")


def _describe_error(name: str, origin: str, error: Any) -> str:
    if error["type"] == "extra_forbidden":
        close = get_close_matches(name, list(Configuration.model_fields), 1)
        hint = f"Did you mean {close[0]}?" if close else "`labelwalk label --help` lists them."
        return f"Unknown setting {name} in {origin}. {hint}"
    return f"{name}={error['input']!r} from {origin}: {error['msg'].lower()}."
