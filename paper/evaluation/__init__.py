"""How learners are judged: protocols, measures, and results that are written down."""

from __future__ import annotations

from labelwalk.evaluation import cumulative_accuracy, windowed_accuracy
from paper.datasets.dataset import OUTSIDER
from paper.evaluation.curve import (
    CurvePoint,
    confidence_curve,
    precision_at_recall,
    precision_recall_curve,
)
from paper.evaluation.measures import (
    Confusion,
    PrecisionRecall,
    accuracy,
    calibration_error,
    confusion,
    precision_recall,
)
from paper.evaluation.running import NOBODY, Outcome, StreamLearner, evaluate
from paper.evaluation.streams import (
    Stream,
    labels_at_first_appearance,
    labels_at_random,
    labels_first,
)

__all__ = [
    "NOBODY",
    "OUTSIDER",
    "Confusion",
    "CurvePoint",
    "Outcome",
    "PrecisionRecall",
    "Stream",
    "StreamLearner",
    "accuracy",
    "calibration_error",
    "confidence_curve",
    "confusion",
    "cumulative_accuracy",
    "evaluate",
    "labels_at_first_appearance",
    "labels_at_random",
    "labels_first",
    "precision_at_recall",
    "precision_recall",
    "precision_recall_curve",
    "windowed_accuracy",
]
