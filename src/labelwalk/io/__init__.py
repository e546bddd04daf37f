"""From any stream to labels: sources, sinks, and runs that can be resumed."""

from labelwalk.io.columns import ColumnError, Columns
from labelwalk.io.fault import Fault, InputError
from labelwalk.io.formats import FORMATS, FormatError, Reading
from labelwalk.io.labelling import Outcome, run
from labelwalk.io.tally import SoFar, Tally
from labelwalk.io.task import Task
from labelwalk.io.teaching import examples_of, teach_by_id

__all__ = [
    "FORMATS",
    "ColumnError",
    "Columns",
    "Fault",
    "FormatError",
    "InputError",
    "Outcome",
    "Reading",
    "SoFar",
    "Tally",
    "Task",
    "examples_of",
    "run",
    "teach_by_id",
]
