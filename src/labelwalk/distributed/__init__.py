"""The same learner where rows are too many for one core: cover apart, merge, solve, label apart."""

from labelwalk.distributed.job import Job, Outcome, Step, run
from labelwalk.distributed.labelling import label
from labelwalk.distributed.model import Model, model_from_bytes, model_of, model_to_bytes
from labelwalk.distributed.sketch_tables import (
    from_arrow,
    sketch_from_bytes,
    sketch_to_bytes,
    to_arrow,
)
from labelwalk.distributed.sketches import Sketch, merge
from labelwalk.distributed.sketching import sketch

__all__ = [
    "Job",
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
