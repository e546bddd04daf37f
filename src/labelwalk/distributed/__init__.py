"""Learners for data sets of many files: sketch files separately, merge, solve, label."""

from labelwalk.distributed.job import Job, JobResult, Outcome, Step, run
from labelwalk.distributed.label_files import label
from labelwalk.distributed.model import Model, model_from_bytes, model_of, model_to_bytes
from labelwalk.distributed.sketch_files import (
    from_arrow,
    sketch_from_bytes,
    sketch_to_bytes,
    to_arrow,
)
from labelwalk.distributed.sketches import Sketch, merge, sketch

__all__ = [
    "Job",
    "JobResult",
    "Model",
    "Outcome",
    "Sketch",
    "Step",
    "from_arrow",
    "label",
    "merge",
    "model_from_bytes",
    "model_of",
    "model_to_bytes",
    "run",
    "sketch",
    "sketch_from_bytes",
    "sketch_to_bytes",
    "to_arrow",
]
