"""Learners for data sets of many files: sketch files separately, merge, solve, label."""

from labelwalk.distributed.job import Job, JobResult, Outcome, Step, run
from labelwalk.distributed.job_tasks import label
from labelwalk.distributed.model import Model, model_from_bytes, model_of, model_to_bytes
from labelwalk.distributed.sketches import (
    Sketch,
    from_arrow,
    merge,
    sketch,
    sketch_from_bytes,
    sketch_to_bytes,
    to_arrow,
)

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
