"""A whole job: one pass to sketch, a tree of merges, one solution, one pass to label.

What is done lies in a folder of work beside the output, and is not done again; a job that is begun
again with the same files and settings goes on there. The output has the names and the format of
the input, and every file of it is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from labelwalk.distributed.agreement import agreed
from labelwalk.distributed.budget import budget_of
from labelwalk.distributed.model import Model, model_from_bytes, model_of, model_to_bytes
from labelwalk.distributed.naming import (
    JoinParts,
    LabelRows,
    Naming,
    Outliers,
    join_parts,
    label_rows,
    read_counts,
    tally_from_stored,
    tally_to_stored,
)
from labelwalk.distributed.output import Output
from labelwalk.distributed.places import Place, blamed, files_at, is_among, place_of
from labelwalk.distributed.pools import Here, Pool
from labelwalk.distributed.shards import footers_of, parts_of
from labelwalk.distributed.sketches import Sketch, decide_held, in_pairs
from labelwalk.distributed.tasks import MergeSome, SketchPart, merge_some, read_sketch, sketch_part
from labelwalk.distributed.whole import write_whole
from labelwalk.io.examples import Columns
from labelwalk.io.rows import InputError
from labelwalk.io.task import RunStats
from labelwalk.release import release
from labelwalk.settings import Settings


@dataclass(frozen=True)
class Job:
    """What to do.

    Attributes
    ----------
    input : str
        A file, a folder or a pattern; a path or an address.
    output : str
        A folder.
    settings : Settings
    columns : Columns
    unlabeled : str
        What stands for no label in its column, beside nothing.
    prefix : str, optional
        Before the names of the new columns. None: `predicted_` where there are such columns.
    """

    input: str
    output: str
    settings: Settings
    columns: Columns = field(default_factory=Columns)
    unlabeled: str = ""
    prefix: str | None = None


class Step(NamedTuple):
    """How far a job has come."""

    what: str  # "sketch", "merge", "solve", "label", or "join" where a file was labelled in parts
    done: int
    of: int
    rows: int  # that were read in this step


class Outcome(NamedTuple):
    """What came of a job."""

    tally: RunStats
    files: int
    features: tuple[str, ...]
    vertices: int
    distortion: float
    certificate: float
    classes: tuple[str, ...]
    held: int  # rows without a label, too far from all others and too few to be learned from
    outliers: tuple[Outliers, ...]  # of the files that have any


def run(
    job: Job, pool: Pool | None = None, watch: Callable[[Step], None] = lambda step: None
) -> Outcome:
    """Do a job, or what is left of it.

    Parameters
    ----------
    job : Job
    pool : Pool, optional
        Who does the tasks; this process, one after another, where it is not given.
    watch : function, optional
        Told how far it has come.

    Raises
    ------
    InputError, ColumnError
        A file cannot be read or does not fit the others, or the output is that of another job.
    """
    going = _Run(job, pool or Here(), watch)
    done = going.begin()
    if done is not None:
        return done
    try:
        return going.finished()
    except (InputError, OSError):
        done = going.done()  # by another command for the same, which has removed the work since
        if done is None:
            raise
        return done


class _Run:
    """A job on its way: what is planned, and what is done already."""

    def __init__(self, job: Job, pool: Pool, watch: Callable[[Step], None]) -> None:
        self.job, self.pool, self.watch = job, pool, watch
        self.budget = budget_of(job.settings)
        self.files = files_at(job.input)
        out = place_of(job.output)
        if is_among(job.input, out / self.files[0].name):
            raise InputError(
                f"{job.output} lies within {job.input}, so that labelled files would be taken for "
                "rows. Choose another folder."
            )
        footers = footers_of(self.files)
        self.parts = list(map(parts_of, footers))
        self.reading, self.prefix = agreed(
            self.files,
            [footer.schema for footer in footers],
            job.columns,
            job.unlabeled,
            job.prefix,
        )
        self.output = Output(job.output, out, self._told(), self.files)
        self.work = self.output.work

    def _told(self) -> bytes:
        """Return all that the bytes of the output depend on."""
        told = {
            "labelwalk": release(),
            "settings": self.job.settings.describe(),
            "columns": _columns_to_stored(self.job.columns),
            "features": self.reading.features,
            "unlabeled": self.job.unlabeled,
            "prefix": self.prefix,
            "files": [
                (file.name, file.size, file.changed, [part.first for part in own])
                for file, own in zip(self.files, self.parts, strict=True)
            ],
        }
        return json.dumps(told, sort_keys=True, default=list, indent=1).encode()

    def begin(self) -> Outcome | None:
        """Begin, or go on; return what came of it where it was finished before."""
        return _outcome(self.output.begin())

    def done(self) -> Outcome | None:
        """Return what came of it, where it is finished by now."""
        return _outcome(self.output.done())

    def finished(self) -> Outcome:
        """Do what is left, and say that all is there."""
        merged = self.merged(self.sketched())
        model = self.solved(merged)
        whole = decide_held(merged, self.budget.n_centroids)
        tally, outliers = self.labelled()
        outcome = Outcome(
            tally=tally,
            files=len(self.files),
            features=self.reading.features,
            vertices=len(model.frozen.solved.points),
            distortion=whole.distortion,
            certificate=model.certificate,
            classes=tuple(map(str, model.classes)),
            held=whole.n_held,
            outliers=outliers,
        )
        self.output.finish(_outcome_to_stored(outcome))
        return outcome

    def sketched(self) -> list[Place]:
        """Sketch every part of every file."""
        tasks = []
        for number, (file, parts) in enumerate(zip(self.files, self.parts, strict=True)):
            for i, part in enumerate(parts):
                out = self.work / f"sketches/{number:06}-{i:06}.arrow"
                tasks.append(SketchPart(file, part, self.reading, self.budget, out))
        self._do("sketch", sketch_part, tasks)
        return [task.out for task in tasks]

    def merged(self, sketches: Sequence[Place]) -> Sketch:
        """Merge sketches in a tree that depends on their number alone."""
        level, done, places = 0, 0, list(sketches)
        while len(places) > 1:
            level += 1
            pairs = in_pairs(places)
            alone = pairs.pop() if len(pairs[-1]) == 1 else []
            tasks = [
                MergeSome(tuple(pair), self.budget, self.work / f"merged/{level}-{i:06}.arrow")
                for i, pair in enumerate(pairs)
            ]
            self._do("merge", merge_some, tasks, done, len(sketches) - 1)
            done += len(tasks)
            places = [*(task.out for task in tasks), *alone]
        return read_sketch(places[0])

    def solved(self, merged: Sketch) -> Model:
        """Solve the merged cover, once."""
        self.watch(Step("solve", 0, 1, 0))
        if self._model.is_there():
            return model_from_bytes(self._model.read())
        with blamed(self.job.input):
            model = model_of(merged, self.job.settings)
        write_whole(self._model, lambda out: out.write(model_to_bytes(model)))
        self.watch(Step("solve", 1, 1, 0))
        return model

    def labelled(self) -> tuple[RunStats, tuple[Outliers, ...]]:
        """Name the rows of every file, and return what was counted."""
        naming = Naming(self.reading, self.prefix, *self._signed_model(), self.work)
        tasks: list[LabelRows] = []
        joins: list[JoinParts] = []
        for number, (file, parts) in enumerate(zip(self.files, self.parts, strict=True)):
            counts, out = self.work / f"counts/{number:06}", self.output.place / file.name
            if len(parts) == 1:
                tasks.append(LabelRows(file, None, naming, out, counts / "all.json"))
                continue
            verdicts = self.work / f"verdicts/{number:06}"
            some = [
                LabelRows(file, part, naming, verdicts / f"{i:06}.arrow", counts / f"{i:06}.json")
                for i, part in enumerate(parts)
            ]
            tasks += some
            pieces = tuple(zip(parts, (one.out for one in some), strict=True))
            joins.append(JoinParts(file, naming, pieces, out, self.work / f"joined/{number:06}"))
        self._do("label", label_rows, tasks)
        if joins:
            self._do("join", join_parts, joins)
        return read_counts(tasks)

    def _signed_model(self) -> tuple[Place, str]:
        return self._model, hashlib.sha256(self._model.read()).hexdigest()

    @property
    def _model(self) -> Place:
        return self.work / "model.lw"

    def _do(
        self,
        what: str,
        function: Callable[[Any], int],
        tasks: Sequence[Any],
        before: int = 0,
        of: int | None = None,
    ) -> None:
        """Do the tasks whose files are not there; they may be some of a step that has begun."""
        left = [task for task in tasks if not all(place.is_there() for place in task.leaves)]
        done, rows, of = before + len(tasks) - len(left), 0, of or len(tasks)
        self.watch(Step(what, done, of, rows))
        for n in self.pool.each(function, left):
            done, rows = done + 1, rows + n
            self.watch(Step(what, done, of, rows))


def _columns_to_stored(columns: Columns) -> dict[str, Any]:
    """Return the columns as the fingerprint of a job has them; these names are a stored format."""
    return {
        "features": columns.features,
        "label": columns.label,
        "id": columns.id,
        "truth": columns.truth,
        "source": columns.source,
        "drop": columns.drop,
        "label_optional": columns.label_optional,
    }


def _outcome_to_stored(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as the last file of a job has it; these names are a stored format."""
    return {
        "tally": tally_to_stored(outcome.tally),
        "files": outcome.files,
        "features": outcome.features,
        "vertices": outcome.vertices,
        "distortion": outcome.distortion,
        "certificate": outcome.certificate,
        "classes": outcome.classes,
        "held": outcome.held,
        "outliers": outcome.outliers,
    }


def _outcome(stored: dict[str, Any] | None) -> Outcome | None:
    """Return the outcome in the last file of a job."""
    if stored is None:
        return None
    return Outcome(
        tally=tally_from_stored(stored["tally"]),
        files=stored["files"],
        features=tuple(stored["features"]),
        vertices=stored["vertices"],
        distortion=stored["distortion"],
        certificate=stored["certificate"],
        classes=tuple(stored["classes"]),
        held=stored.get("held", 0),
        outliers=tuple(
            Outliers(file, total, tuple(rows)) for file, total, rows in stored.get("outliers", ())
        ),
    )
