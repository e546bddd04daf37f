"""Learn from a stream with a handful of labels: online harmonic functions on quantized graphs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labelwalk import _aliases

if TYPE_CHECKING:
    from labelwalk.conflicts import LabelConflictWarning
    from labelwalk.decision import Verdict, Verdicts
    from labelwalk.estimator import QuantizedHarmonicClassifier
    from labelwalk.learner import OnlineLearner, load
    from labelwalk.modelfile import ModelFileError
    from labelwalk.similarity import Gaussian, Pairwise, SelfTuning

__all__ = [
    "Gaussian",
    "LabelConflictWarning",
    "ModelFileError",
    "OnlineLearner",
    "Pairwise",
    "QuantizedHarmonicClassifier",
    "SelfTuning",
    "Verdict",
    "Verdicts",
    "load",
]

# The compiler takes a second to import, and `labelwalk --help` does without it.
_HOMES = {
    "Gaussian": "similarity",
    "LabelConflictWarning": "conflicts",
    "ModelFileError": "modelfile",
    "OnlineLearner": "learner",
    "Pairwise": "similarity",
    "QuantizedHarmonicClassifier": "estimator",
    "SelfTuning": "similarity",
    "Verdict": "decision",
    "Verdicts": "decision",
    "load": "learner",
}

_aliases.install()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"labelwalk.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
