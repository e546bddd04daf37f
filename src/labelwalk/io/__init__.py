"""Input and output of streams: sources, sinks, and resumable runs."""

from labelwalk.io.examples import ColumnError, Columns
from labelwalk.io.formats import FORMATS, FormatError, ReadOptions
from labelwalk.io.labelling import RunResult, read_examples, run, teach_by_id
from labelwalk.io.rows import InputError, RowError
from labelwalk.io.task import Progress, RunStats, Task

# Names until version 0.7
Fault, Outcome, Reading, SoFar, Tally = RowError, RunResult, ReadOptions, Progress, RunStats

__all__ = [
    "FORMATS",
    "ColumnError",
    "Columns",
    "FormatError",
    "InputError",
    "Progress",
    "ReadOptions",
    "Reading",
    "RowError",
    "RunResult",
    "RunStats",
    "Task",
    "read_examples",
    "run",
    "teach_by_id",
]
