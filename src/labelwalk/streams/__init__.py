"""From any stream to labels: sources, sinks, and runs that can be resumed."""

from labelwalk.streams.columns import ColumnError, Columns
from labelwalk.streams.fault import Fault, InputError
from labelwalk.streams.formats import FORMATS, FormatError, Reading
from labelwalk.streams.labelling import Outcome, run
from labelwalk.streams.tally import SoFar, Tally
from labelwalk.streams.task import Task
from labelwalk.streams.teaching import examples_of, teach_by_id

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
