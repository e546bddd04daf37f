"""Learn from a stream with a handful of labels: online harmonic functions on quantized graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labelwalk.conflicts import LabelConflictWarning
from labelwalk.decision import Verdict, Verdicts
from labelwalk.learner import OnlineLearner, load
from labelwalk.modelfile import ModelFileError
from labelwalk.similarity import Gaussian, Pairwise, SelfTuning

if TYPE_CHECKING:
    from labelwalk.estimator import QuantizedHarmonicClassifier

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


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and only the estimator needs it
    if name == "QuantizedHarmonicClassifier":
        from labelwalk.estimator import QuantizedHarmonicClassifier

        return QuantizedHarmonicClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
