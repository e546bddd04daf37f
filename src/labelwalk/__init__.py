"""Learn from a stream with a handful of labels: online harmonic functions on quantized graphs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labelwalk import _aliases

if TYPE_CHECKING:
    from labelwalk.engine.label_conflicts import LabelConflictWarning
    from labelwalk.errors import LabelwalkError
    from labelwalk.integrations.sklearn import QuantizedHarmonicClassifier
    from labelwalk.learner import OnlineLearner, load
    from labelwalk.similarity import Gaussian, SelfTuning
    from labelwalk.storage.model_file import ModelFileError
    from labelwalk.verdicts import Verdict, Verdicts

__all__ = [
    "Gaussian",
    "LabelConflictWarning",
    "LabelwalkError",
    "ModelFileError",
    "OnlineLearner",
    "QuantizedHarmonicClassifier",
    "SelfTuning",
    "Verdict",
    "Verdicts",
    "__version__",
    "load",
]
__version__: str

# The compiler takes a second to import, and `labelwalk --help` does without it.
_HOMES = {
    "Gaussian": "similarity",
    "LabelConflictWarning": "engine.label_conflicts",
    "LabelwalkError": "errors",
    "ModelFileError": "storage.model_file",
    "OnlineLearner": "learner",
    "QuantizedHarmonicClassifier": "integrations.sklearn",
    "SelfTuning": "similarity",
    "Verdict": "verdicts",
    "Verdicts": "verdicts",
    "load": "learner",
}

_aliases.install()


def __getattr__(name: str) -> Any:
    if name == "Pairwise":
        from labelwalk.similarity import REMOVED_FUNCTIONS

        raise ImportError(f"Pairwise was removed. {REMOVED_FUNCTIONS}")
    if name == "__version__":
        from importlib import metadata

        try:
            value = metadata.version("labelwalk")
        except metadata.PackageNotFoundError:
            value = "run from its sources"
    elif name in _HOMES:
        value = getattr(import_module(f"labelwalk.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
