"""Job folders, sketches and learners by key that version 0.7 wrote can still be used."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from labelwalk import OnlineLearner
from labelwalk.distributed import dataset, merge, sketch_from_bytes, sketch_to_bytes
from labelwalk.distributed.job import END_FILE, JOB_FILE, WORK_FOLDER, Job, Outcome, run
from labelwalk.distributed.keyed_learners import KeyedLearners
from labelwalk.distributed.shared_learner import Coordinator
from labelwalk.io.examples import Columns
from tests.unit.distributed.test_job import Dying, KilledError

DATA = Path(__file__).parents[2] / "data" / "golden-0.7"
SETTINGS = OnlineLearner(20).settings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that `tests/data/golden-0.7/write_job.py` wrote."""
    with tarfile.open(DATA / "job.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dataset, "PART_ROWS", 150)
    return tmp_path


def run_job(output: str, **options: Any) -> Outcome:
    return run(Job("in", output, SETTINGS, Columns(drop=("truth",))), **options)


def begin_job(folder: Path) -> Path:
    """Begin the job with this version and return its folder of work: its name is a fingerprint."""
    with pytest.raises(KilledError):
        run_job("new", pool=Dying(0))
    (work,) = (folder / "new" / WORK_FOLDER).iterdir()
    return work


def test_the_fingerprint_of_a_job_has_the_same_names(folder: Path) -> None:
    (old,) = (folder / "begun" / WORK_FOLDER).iterdir()
    before, after = (json.loads((work / JOB_FILE).read_text()) for work in (old, begin_job(folder)))
    assert before.keys() == after.keys()
    for name in before.keys() - {"labelwalk", "settings"}:  # another version is another job
        assert before[name] == after[name]


def test_a_job_that_was_stopped_continues(folder: Path) -> None:
    (old,) = (folder / "begun" / WORK_FOLDER).iterdir()
    work = begin_job(folder)
    shutil.rmtree(work)
    shutil.copytree(old, work)
    again = Dying(100)
    outcome = run_job("new", pool=again)
    assert again.done == 2 + 1  # two parts were not labelled, one file has several parts
    expected = json.loads((folder / "finished" / END_FILE).read_text())["outcome"]
    assert outcome.tally.rows == expected["tally"]["rows"]
    assert outcome.vertices == expected["vertices"]
    for name in ("a.parquet", "b.parquet"):
        before, after = (pq.read_table(folder / out / name) for out in ("finished", "new"))
        assert after.drop_columns("predicted_confidence").equals(
            before.drop_columns("predicted_confidence")
        )
        np.testing.assert_allclose(
            after["predicted_confidence"], before["predicted_confidence"], rtol=1e-9
        )


def test_the_outcome_of_a_finished_job_is_read(folder: Path) -> None:
    stored = json.loads((folder / "finished" / END_FILE).read_text())
    run_job("new")
    sign = json.loads((folder / "new" / END_FILE).read_text())["sign"]
    outcome = stored["outcome"] | {"of a later version": 1}
    later = json.dumps({"sign": sign, "outcome": outcome})
    (folder / "finished" / END_FILE).write_text(later)
    outcome = run_job("finished", pool=Dying(0))
    assert (outcome.files, outcome.features, outcome.held) == (2, ("a", "b"), 0)
    assert outcome.classes == ("high", "low")
    assert (outcome.tally.rows, outcome.tally.taught, outcome.tally.answered) == (390, 4, 386)
    new = json.loads((folder / "new" / END_FILE).read_text())["outcome"]
    assert new.keys() == stored["outcome"].keys()
    assert new["tally"] == stored["outcome"]["tally"]


@pytest.mark.parametrize(("version", "n_held"), [("0.7.0", 0), ("0.7.1", 1)])
def test_a_sketch_is_the_same_file(version: str, n_held: int) -> None:
    content = (DATA / f"sketch-{version}.arrow").read_bytes()
    sketch = sketch_from_bytes(content)
    assert (sketch.n_seen, sketch.n_held, sketch.features) == (41, n_held, ("a", "b"))
    assert sketch_to_bytes(sketch) == content
    merged = merge([sketch, sketch_from_bytes(content)], 20)
    assert merged.n_seen == 82


def test_learners_by_key_continue(folder: Path) -> None:
    learners = KeyedLearners("keyed", SETTINGS)
    assert learners.position("door") == 42
    verdicts = learners.observe("door", [[0.0, 0.0], [6.0, 6.0]], position=42)
    assert verdicts.label.tolist() == ["low", "high"]
    learners.save()
    assert [os.path.basename(path) for path in folder.glob("keyed/*/*.lw")] == [f"{44:020}.lw"]


def test_a_shared_learner_continues(folder: Path) -> None:
    centre = Coordinator(folder / "shared", ["left", "right"], SETTINGS)
    news = centre.news()
    assert news.positions == {"left": 2, "right": 40}
    assert news.model is not None
    labels = news.model.label(np.array([[0.0, 0.0], [6.0, 6.0]])).label.tolist()
    assert labels == ["low", "high"]
