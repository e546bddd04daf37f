"""Persistence: a learner as the header and arrays of a model file, validated when read."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

from labelwalk._validation import as_labels, shown
from labelwalk.arrays import Label
from labelwalk.engine.engine import Engine
from labelwalk.engine.event_log import EventLog
from labelwalk.engine.health_metrics import HEALTH_METRICS
from labelwalk.engine.invariants import check_scale, check_state
from labelwalk.engine.migration import check_removed_features, had_eliminated_vertices
from labelwalk.engine.scaling import Scale
from labelwalk.engine.sources import Sources
from labelwalk.engine.state import State, from_arrays, to_arrays
from labelwalk.settings import Settings
from labelwalk.storage.model_file import ModelFileError, RemovedFeatureError

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]


class LearnerParts(NamedTuple):
    """The parts of a learner."""

    settings: Settings
    classes: list[Label]
    state: State
    scale: Scale
    sources: Sources
    feature_names: tuple[str, ...] = ()


def to_contents(parts: LearnerParts) -> tuple[Header, Arrays]:
    """Return the header and arrays of the model file of a learner."""
    header: Header = {
        "settings": parts.settings.describe(),
        "classes": parts.classes,
        "sources": [list(pair) for pair in parts.sources.counts.items()],
    }
    header |= parts.state.events.to_header()
    if parts.feature_names:
        header["feature_names"] = list(parts.feature_names)
    return header, to_arrays(parts.state) | parts.scale.to_arrays()


def to_checked_contents(
    parts: LearnerParts, path: str, note: dict[str, Any] | None
) -> tuple[Header, Arrays]:
    """Return the contents with a note; raise an error if `from_contents` would reject them.

    Raises
    ------
    ModelFileError
    """
    header, arrays = to_contents(parts)
    header |= {} if note is None else {"note": note}
    try:
        _read_state(header, arrays, parts.settings)
    except ValueError as error:
        raise ModelFileError(
            f"{path} is not written, because the learner could not be loaded from it: {error}. "
            "Load the learner from its last file."
        ) from error
    return header, arrays


def from_contents(header: Header, arrays: Arrays, path: str) -> LearnerParts:
    """Return the learner of a model file.

    Raises
    ------
    ModelFileError
        The contents are not those of a learner.
    """
    try:
        check_removed_features(header["settings"])
        settings = Settings.from_description(header["settings"])
        classes = as_labels(header["classes"], len(set(header["classes"])))
        state, scale = _read_state(header, arrays, settings)
        sources = Sources.from_pairs(header["sources"])
        names = tuple(header.get("feature_names", ()))
        check_feature_names(names, state.n_features)
    except RemovedFeatureError as error:
        raise RemovedFeatureError(f"{path} {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not contain a valid learner: {error}") from error
    return LearnerParts(settings, classes, state, scale, sources, names)


def from_trusted_contents(contents: dict[str, Any]) -> LearnerParts:
    """Return the learner of a pickle."""
    # copied: arrays that joblib maps from a file cannot be written to
    arrays, classes = contents["arrays"], contents["classes"]
    state, scale = from_arrays(arrays, len(classes)), Scale.from_arrays(arrays)
    state.events = EventLog.from_header(contents, HEALTH_METRICS)
    sources, names = Sources(dict(contents["sources"])), contents.get("feature_names", ())
    return LearnerParts(contents["settings"], classes, state, scale, sources, tuple(names))


def check_feature_names(names: tuple[str, ...], n_features: int) -> None:
    """Raise a ValueError unless there is one string per feature, or no names at all."""
    if len(names) not in (0, n_features) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"feature_names={shown(names)} is not a string for each of {n_features} features. Pass "
            "one name per feature, or none; a new learner takes them from its first data frame."
        )


def _read_state(header: Header, arrays: Arrays, settings: Settings) -> tuple[State, Scale]:
    state, scale = from_arrays(arrays, len(header["classes"])), Scale.from_arrays(arrays)
    check_state(state, settings)
    check_scale(scale, state, settings)
    state.events = EventLog.from_header(header, HEALTH_METRICS)
    if had_eliminated_vertices(arrays):
        Engine(settings, state).rebuild_graph()
    return state, scale
