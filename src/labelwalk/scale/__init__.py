"""The same learner where rows are too many for one core: cover apart, merge, solve, label apart."""

from labelwalk.scale.job import Job, Outcome, Step, run
from labelwalk.scale.labelling import label
from labelwalk.scale.model import Model, model_from_bytes, model_of, model_to_bytes
from labelwalk.scale.sketch_tables import from_arrow, sketch_from_bytes, sketch_to_bytes, to_arrow
from labelwalk.scale.sketches import Sketch, merge
from labelwalk.scale.sketching import sketch

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
