"""Migration of model files of version 0.7: stored values of removed features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelwalk.kernels.counters import NEVER
from labelwalk.settings import REMOVED_PARAMETERS
from labelwalk.storage.model_file import RemovedFeatureError

_N_EVENTS, _N_SIGNS = 64, 16


def create_removed_arrays(n: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of removed features, empty, so that version 0.7 reads the file."""
    arrays: dict[str, NDArray[Any]] = {
        "mesh": np.zeros((0, n, n)),
        "leak": np.zeros((0, n)),
        "event_at": np.zeros(_N_EVENTS, dtype=np.int64),
        "event_sign": np.zeros(_N_EVENTS, dtype=np.int64),
        "event_ok": np.zeros(_N_EVENTS, dtype=np.bool_),
        "event_value": np.zeros(_N_EVENTS),
        "event_limit": np.zeros(_N_EVENTS),
        "sign_ok": np.ones(_N_SIGNS, dtype=np.bool_),
    }
    for record in ("here", "before"):
        arrays[f"{record}.n_forgotten"] = np.zeros(1, dtype=np.int64)
        arrays[f"{record}.n_events"] = np.zeros(1, dtype=np.int64)
        arrays[f"{record}.leap"] = np.zeros(1)
    return arrays


def check_removed_features(settings: dict[str, Any]) -> None:
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


def without_window(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the contents of a model file made with `window`, for a learner that only predicts."""
    arrays = arrays | {"here.forget_at": np.array([NEVER])}
    settings = header["settings"] | {"window": None, "remember": len(arrays["seen_rows"])}
    return header | {"settings": settings}, arrays


def had_eliminated_vertices(arrays: dict[str, NDArray[Any]]) -> bool:
    """Return whether similarities contain edges that replaced faded vertices."""
    return len(arrays.get("leak", ())) > 0
