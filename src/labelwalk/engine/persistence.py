"""Persistence: a learner as the header and arrays of a model file, validated when read.

Files of version 0.7 may contain values of removed features; new files contain empty ones.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwalk._validation import as_labels, shown
from labelwalk.arrays import Label
from labelwalk.engine.engine import Engine
from labelwalk.engine.health_metrics import HEALTH_METRICS
from labelwalk.engine.invariants import check_scale, check_state
from labelwalk.engine.scaling import Scale
from labelwalk.engine.sources import Sources
from labelwalk.engine.state import EventLog, from_arrays, to_arrays
from labelwalk.kernels.counters import NEVER
from labelwalk.settings import REMOVED_PARAMETERS, Settings
from labelwalk.storage.model_file import ModelFileError, RemovedFeatureError

Header = dict[str, Any]
Arrays = dict[str, NDArray[Any]]
N_STORED_EVENTS, N_STORED_SIGNS = 64, 16  # in a file of version 0.7


class LearnerParts(NamedTuple):
    """The parts of a learner."""

    engine: Engine
    classes: list[Label]
    sources: Sources
    feature_names: tuple[str, ...] = ()


def to_contents(parts: LearnerParts) -> tuple[Header, Arrays]:
    """Return the header and arrays of the model file of a learner."""
    state = parts.engine.state
    header: Header = {
        "settings": parts.engine.settings.describe(),
        "classes": parts.classes,
        "sources": [list(pair) for pair in parts.sources.counts.items()],
    }
    header |= state.events.to_header()
    if parts.feature_names:
        header["feature_names"] = list(parts.feature_names)
    arrays = to_arrays(state) | create_removed_arrays(state.n)
    return header, arrays | parts.engine.scale.to_arrays()


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
        _read_engine(header, arrays, parts.engine.settings)
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
        engine = _read_engine(header, arrays, settings)
        sources = Sources.from_pairs(header["sources"])
        names = tuple(header.get("feature_names", ()))
        check_feature_names(names, engine.state.n_features)
    except RemovedFeatureError as error:
        raise RemovedFeatureError(f"{path} {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} does not contain a valid learner: {error}") from error
    return LearnerParts(engine, classes, sources, names)


def from_trusted_contents(contents: dict[str, Any]) -> LearnerParts:
    """Return the learner of a pickle."""
    # copied: arrays that joblib maps from a file cannot be written to
    arrays, classes = contents["arrays"], contents["classes"]
    state, scale = from_arrays(arrays, len(classes)), Scale.from_arrays(arrays)
    state.events = EventLog.from_header(contents, HEALTH_METRICS)
    engine = Engine(contents["settings"], state, scale)
    sources, names = Sources(dict(contents["sources"])), contents.get("feature_names", ())
    return LearnerParts(engine, classes, sources, tuple(names))


def check_feature_names(names: tuple[str, ...], n_features: int) -> None:
    """Raise a ValueError unless there is one string per feature, or no names at all."""
    if len(names) not in (0, n_features) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"feature_names={shown(names)} does not have one string for each of {n_features} "
            "features. Pass one name per feature, or none; a new learner takes them from its first "
            "data frame."
        )


def _read_engine(header: Header, arrays: Arrays, settings: Settings) -> Engine:
    state, scale = from_arrays(arrays, len(header["classes"])), Scale.from_arrays(arrays)
    check_state(state, settings)
    check_scale(scale, state, settings)
    state.events = EventLog.from_header(header, HEALTH_METRICS)
    engine = Engine(settings, state, scale)
    if len(arrays.get("leak", ())):  # similarities contain edges that replaced faded vertices
        engine.rebuild_graph()
    return engine


def create_removed_arrays(n: int) -> Arrays:
    """Return the arrays of removed features, empty, so that version 0.7 reads the file."""
    arrays: Arrays = {
        "mesh": np.zeros((0, n, n)),
        "leak": np.zeros((0, n)),
        "event_at": np.zeros(N_STORED_EVENTS, dtype=np.int64),
        "event_sign": np.zeros(N_STORED_EVENTS, dtype=np.int64),
        "event_ok": np.zeros(N_STORED_EVENTS, dtype=np.bool_),
        "event_value": np.zeros(N_STORED_EVENTS),
        "event_limit": np.zeros(N_STORED_EVENTS),
        "sign_ok": np.ones(N_STORED_SIGNS, dtype=np.bool_),
    }
    for record in ("here", "before"):
        arrays[f"{record}.n_forgotten"] = np.zeros(1, dtype=np.int64)
        arrays[f"{record}.n_events"] = np.zeros(1, dtype=np.int64)
        arrays[f"{record}.leap"] = np.zeros(1)
    return arrays


def check_removed_features(settings: Header) -> None:
    """Raise an error if stored settings use a removed feature.

    Raises
    ------
    RemovedFeatureError
    """
    similarity = settings["similarity"]
    if settings.get("window") is not None:
        raise RemovedFeatureError(
            f"was made with window={settings['window']}. {REMOVED_PARAMETERS['window']}"
        )
    if similarity["kind"] == "Pairwise" or similarity.get("distance") is not None:
        raise RemovedFeatureError(
            f"was made with a distance or similarity function. {REMOVED_PARAMETERS['distance']}"
        )


def without_window(header: Header, arrays: Arrays) -> tuple[Header, Arrays]:
    """Return the contents of a model file made with `window`, for a learner that only predicts."""
    arrays = arrays | {"here.forget_at": np.array([NEVER])}
    settings = header["settings"] | {"window": None, "remember": len(arrays["seen_rows"])}
    return header | {"settings": settings}, arrays
