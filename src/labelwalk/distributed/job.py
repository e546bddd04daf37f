"""A job: one pass to sketch a data set, a tree of merges, one solution, one pass to label.

Finished steps are stored in a work folder inside the output folder. A job that is started again
with the same files and settings skips them. The output has the file names and formats of the
input, and every output file is written atomically.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from labelwalk import __version__
from labelwalk.distributed import filesystem, job_tasks, sketches
from labelwalk.distributed.dataset import read_footers, resolve_schema, split_parts
from labelwalk.distributed.filesystem import DataFile, Location
from labelwalk.distributed.model import Model, model_from_bytes, model_of, model_to_bytes
from labelwalk.io.examples import Columns
from labelwalk.io.rows import InputError
from labelwalk.io.task import RunStats
from labelwalk.settings import Settings

WORK_FOLDER, JOB_FILE, END_FILE = ".labelwalk", "job.json", "_labelwalk.json"
# The stored name of each choice of columns, which identify a job.
STORED_ROLES = {
    name: name for name in ("features", "label", "id", "truth", "source", "drop", "label_optional")
}


class Executor(Protocol):
    """Runs tasks, in any order and possibly more than once.

    A task is an importable function with its argument; both can be pickled. A task that was lost
    with its worker runs again elsewhere, so it must write the same files.
    """

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Run all tasks, and yield the result of each when it is finished."""


@dataclass(frozen=True)
class Job:
    """A data set to label.

    Attributes
    ----------
    input : str
        A file, a folder or a pattern; a path or an address.
    output : str
        A folder.
    settings : Settings
    columns : Columns
    unlabeled : str
        Value that means "unlabelled", in addition to a missing one.
    prefix : str, optional
        Prefix of the names of the new columns. None: `predicted_` if such columns exist.
    """

    input: str
    output: str
    settings: Settings
    columns: Columns = field(default_factory=Columns)
    unlabeled: str = ""
    prefix: str | None = None


class Step(NamedTuple):
    """The progress of a job."""

    what: str  # "sketch", "merge", "solve", "label", or "join" if a file was labelled in parts
    done: int
    of: int
    rows: int  # read in this step


class JobResult(NamedTuple):
    """The result of a job; these names are a stored format."""

    tally: RunStats
    files: int
    features: tuple[str, ...]
    vertices: int
    distortion: float
    certificate: float
    classes: tuple[str, ...]
    held: int  # unlabelled rows too far from all others, and too few, to be learned from
    outliers: tuple[job_tasks.Outliers, ...]  # of the files that have any


Outcome = JobResult  # its name up to version 0.7


def run(
    job: Job, pool: Executor | None = None, watch: Callable[[Step], None] = lambda step: None
) -> JobResult:
    """Run a job, or the steps that are not finished.

    Parameters
    ----------
    job : Job
    pool : Executor, optional
        Runs the tasks. Default: this process, one task after another.
    watch : function, optional
        Called with the progress.

    Raises
    ------
    InputError, ColumnError
        A file cannot be read or does not match the others, or the output belongs to another job.
    """
    running = _RunningJob(job, pool, watch)
    if result := running.output.begin():
        return result
    try:
        return running.finish()
    except (InputError, OSError):
        # Another process may have finished the same job, and removed its work.
        if result := running.output.read_result():
            return result
        raise


class _RunningJob:
    """A job with its files, parts and output folder."""

    def __init__(self, job: Job, pool: Executor | None, watch: Callable[[Step], None]) -> None:
        self.job, self.map, self.watch = job, pool.map if pool else map, watch
        self.budget = sketches.budget_from_settings(job.settings)
        self.files = filesystem.find_files(job.input)
        location = filesystem.parse_location(job.output)
        if filesystem.is_selected_by(job.input, location / self.files[0].name):
            raise InputError(
                f"{job.output} is inside {job.input}, so its files would be read as input. Choose "
                "another folder."
            )
        footers = read_footers(self.files)
        self.parts = list(map(split_parts, footers))
        schemas = [footer.schema for footer in footers]
        self.rows, self.prefix = resolve_schema(
            self.files, schemas, job.columns, job.unlabeled, job.prefix
        )
        self.output = OutputFolder(job.output, location, self._describe(), self.files)
        self.work = self.output.work
        self._model = self.work / "model.lw"

    def _describe(self) -> bytes:
        """Return all that the output depends on; these names are a stored format."""
        description = {
            "labelwalk": __version__,
            "settings": self.job.settings.describe(),
            "columns": {
                stored: getattr(self.job.columns, name) for name, stored in STORED_ROLES.items()
            },
            "features": self.rows.features,
            "unlabeled": self.job.unlabeled,
            "prefix": self.prefix,
            "files": [
                (file.name, file.size, file.changed, [part.first for part in parts])
                for file, parts in zip(self.files, self.parts, strict=True)
            ],
        }
        return json.dumps(description, sort_keys=True, default=list, indent=1).encode()

    def finish(self) -> JobResult:
        """Run the remaining steps, and write the result."""
        merged = self.merge(self.sketch())
        model = self.solve(merged)
        final = sketches.decide_held(merged, self.budget.n_centroids)
        tally, outliers = self.label()
        result = JobResult(
            tally=tally,
            files=len(self.files),
            features=self.rows.features,
            vertices=len(model.frozen.solved.points),
            distortion=final.distortion,
            certificate=model.certificate,
            classes=tuple(map(str, model.classes)),
            held=final.n_held,
            outliers=outliers,
        )
        self.output.finish(result)
        return result

    def sketch(self) -> list[Location]:
        """Sketch every part of every file."""
        tasks = []
        for number, (file, parts) in enumerate(zip(self.files, self.parts, strict=True)):
            for i, part in enumerate(parts):
                output = self.work / f"sketches/{number:06}-{i:06}.arrow"
                tasks.append(job_tasks.SketchTask(file, part, self.rows, self.budget, (output,)))
        self._run_tasks("sketch", job_tasks.sketch_part, tasks)
        return [output for task in tasks for output in task.outputs]

    def merge(self, parts: Sequence[Location]) -> sketches.Sketch:
        """Merge sketches in a tree that depends on their number alone."""
        level, locations = 0, list(parts)
        while len(locations) > 1:
            level += 1
            pairs = sketches.in_pairs(locations)
            single = pairs.pop() if len(pairs[-1]) == 1 else []
            tasks = []
            for i, pair in enumerate(pairs):
                output = self.work / f"merged/{level}-{i:06}.arrow"
                tasks.append(job_tasks.MergeTask(tuple(pair), self.budget, (output,)))
            n_before, n_total = len(parts) - len(locations), len(parts) - 1
            self._run_tasks("merge", job_tasks.merge_sketches, tasks, n_before, n_total)
            locations = [*(task.outputs[0] for task in tasks), *single]
        return locations[0].parse(sketches.sketch_from_bytes)

    def solve(self, merged: sketches.Sketch) -> Model:
        """Solve the merged cover."""
        self.watch(Step("solve", 0, 1, 0))
        if self._model.exists():
            return model_from_bytes(self._model.read())
        with filesystem.with_path_in_errors(self.job.input):
            model = model_of(merged, self.job.settings)
        self._model.write(model_to_bytes(model))
        self.watch(Step("solve", 1, 1, 0))
        return model

    def label(self) -> tuple[RunStats, tuple[job_tasks.Outliers, ...]]:
        """Label the rows of every file, and return the counts."""
        digest = hashlib.sha256(self._model.read()).hexdigest()
        plan = job_tasks.LabelingPlan(self.rows, self.prefix, self._model, digest, self.work)
        tasks: list[job_tasks.LabelTask] = []
        joins: list[job_tasks.JoinTask] = []
        for number, (file, parts) in enumerate(zip(self.files, self.parts, strict=True)):
            counts = self.work / f"counts/{number:06}"
            output = self.output.location / file.name
            if len(parts) == 1:
                tasks.append(job_tasks.LabelTask(file, None, plan, (output, counts / "all.json")))
                continue
            answers = []
            for i, part in enumerate(parts):
                location = self.work / f"verdicts/{number:06}" / f"{i:06}.arrow"
                outputs = location, counts / f"{i:06}.json"
                tasks.append(job_tasks.LabelTask(file, part, plan, outputs))
                answers.append((part, location))
            mark = self.work / f"joined/{number:06}"
            joins.append(job_tasks.JoinTask(file, plan, tuple(answers), (output, mark)))
        self._run_tasks("label", job_tasks.label_rows, tasks)
        if joins:
            self._run_tasks("join", job_tasks.join_parts, joins)
        return job_tasks.read_counts(tasks)

    def _run_tasks(
        self,
        step: str,
        function: Callable[[Any], int],
        tasks: Sequence[Any],
        n_before: int = 0,
        n_total: int | None = None,
    ) -> None:
        """Run the tasks whose files are missing; `n_before` tasks of the step are finished."""
        missing = [task for task in tasks if not all(file.exists() for file in task.outputs)]
        n_done, n_rows = n_before + len(tasks) - len(missing), 0
        n_total = n_total or len(tasks)
        self.watch(Step(step, n_done, n_total, n_rows))
        for n in self.map(function, missing):
            n_done, n_rows = n_done + 1, n_rows + n
            self.watch(Step(step, n_done, n_total, n_rows))


class OutputFolder:
    """The output folder of one job, with its work folder; no other job may write there.

    The description has all that the output depends on; its hash is the fingerprint of the job.
    """

    def __init__(
        self, name: str, location: Location, description: bytes, files: Sequence[DataFile]
    ) -> None:
        self.location, self._name, self._description = location, name, description
        self._files, self._fingerprint = files, hashlib.sha256(description).hexdigest()
        self._works, self._end = location / WORK_FOLDER, location / END_FILE
        self.work = self._works / self._fingerprint[:16]

    def begin(self) -> JobResult | None:
        """Begin or resume; return the result if the job has finished."""
        with filesystem.with_path_in_errors(self._name):
            result = self.read_result()
            is_begun = (self.work / JOB_FILE).exists() and not self._end.exists()
            is_empty = all(name.startswith(".") for name in self.location.list_names())
        if result is not None:
            self._remove_work()
        elif not is_begun and is_empty:  # a job that began here has finished no file
            self._remove_work()
            (self.work / JOB_FILE).write(self._description)
        elif not is_begun:
            raise InputError(
                f"{self._name} has other content: files of a job with different input, settings or "
                "labelwalk version, or an incomplete job. Choose an empty folder, or remove this "
                "one."
            )
        return result

    def read_result(self) -> JobResult | None:
        """Return the result if the job has finished, whichever process ran it."""
        stored = json.loads(self._end.read()) if self._end.exists() else {}
        is_own = stored.get("sign") == self._fingerprint
        if is_own and all((self.location / file.name).exists() for file in self._files):
            return _result_from_stored(stored["outcome"])
        return None

    def finish(self, result: JobResult) -> None:
        """Write the result, and remove the work folder. Input files must not have changed."""
        filesystem.check_unchanged(self._files)
        if self._works.list_names() != [self._fingerprint[:16]]:
            raise InputError(
                f"{self._name}: another job writes to this folder. Remove the folder, and use a "
                "separate one for each job."
            )
        outcome = result._asdict() | {"tally": job_tasks.stats_to_stored(result.tally)}
        stored = {"sign": self._fingerprint, "outcome": outcome}
        self._end.write(json.dumps(stored).encode(), self.work)
        self._remove_work()

    def _remove_work(self) -> None:
        """Remove the work folder, unless another process removes it or works in it."""
        with suppress(OSError):
            self._works.system.delete_dir(self._works.path)


def _result_from_stored(stored: dict[str, Any]) -> JobResult:
    outliers = (job_tasks.Outliers(file, n, tuple(ids)) for file, n, ids in stored["outliers"])
    values = {name: stored[name] for name in JobResult._fields} | {
        "tally": job_tasks.stats_from_stored(stored["tally"]),
        "features": tuple(stored["features"]),
        "classes": tuple(stored["classes"]),
        "outliers": tuple(outliers),
    }
    return JobResult(**values)
