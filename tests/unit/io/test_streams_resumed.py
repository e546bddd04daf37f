"""Runs that go on after an accident: nothing is lost, nothing is done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import tarfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from labelwalk import OnlineLearner, load
from labelwalk.io import Columns, InputError, ReadOptions, Task, run, text_records
from labelwalk.io.formats import PathError
from labelwalk.io.task import STORED_TASK, CheckpointError
from labelwalk.storage.model_file import read
from tests.support.labelled_rows import (
    COLUMNS,
    K,
    N,
    by_hand,
    input_file,
    labels_in,
    output_kind,
    write_csv,
)

pytestmark = pytest.mark.shell


class Killed(BaseException):
    """Stands for the end of the process, without any goodbye."""


def _killed(job: Any) -> None:
    raise Killed


class TestResumed:
    @pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrow", "npz", "csv.gz"])
    def test_after_any_accident_the_output_is_the_same(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text_records, "BLOCK_BYTES", 2000)
        monkeypatch.setattr("labelwalk.io.table_formats.TABLE_BATCH_ROWS", 37)
        plain = kind.removesuffix(".gz")
        source = str(input_file(plain, tmp_path))
        ending = output_kind(kind)
        whole, parts = tmp_path / f"whole.{ending}", tmp_path / f"parts.{ending}"
        reference = run(Task(source, str(whole), COLUMNS), OnlineLearner(K))
        task, checkpoint = Task(source, str(parts), COLUMNS), str(tmp_path / "run.lw")
        rng = np.random.default_rng(0)
        for _ in range(100):
            left = int(rng.integers(1, 8))

            def watch(so_far: Any) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    raise Killed

            try:
                outcome = run(task, OnlineLearner(K), checkpoint=checkpoint, every=60, watch=watch)
                break
            except Killed:
                assert outcome_is_unfinished(checkpoint)
        assert outcome.resumed
        assert outcome.tally == reference.tally
        assert outcome.learner.digest() == reference.learner.digest()
        if kind == "csv.gz":
            import gzip

            assert gzip.decompress(parts.read_bytes()) == gzip.decompress(whole.read_bytes())
        else:
            assert labels_in(parts) == labels_in(whole)
        if kind in ("csv", "ndjson"):
            assert parts.read_bytes() == whole.read_bytes()

    @pytest.mark.parametrize("kind", ["csv", "ndjson"])
    @pytest.mark.parametrize("place", [0, 5, 19])
    def test_a_fault_stays_one_until_it_is_repaired(
        self, kind: str, place: int, tmp_path: Path
    ) -> None:
        good = {"csv": [f"{i},{i % 3}" for i in range(20)], "ndjson": []}
        good["ndjson"] = [json.dumps({"a": i, "b": i % 3}) for i in range(20)]
        bad = {"csv": "1", "ndjson": "{"}
        path, checkpoint = tmp_path / f"in.{kind}", str(tmp_path / "c.lw")
        lines = ["a,b"] * (kind == "csv") + good[kind]
        at = place + (kind == "csv")
        path.write_text("\n".join([*lines[:at], bad[kind], *lines[at:]]) + "\n")
        task = Task(str(path), str(tmp_path / f"out.{kind}"))
        for _ in range(2):
            with pytest.raises(InputError, match=f"line {at + 1}"):
                run(task, OnlineLearner(K), checkpoint=checkpoint)
        path.write_text("\n".join(lines) + "\n")
        outcome = run(task, OnlineLearner(K), checkpoint=checkpoint)
        assert outcome.tally.rows == 20
        assert len(labels_in(tmp_path / f"out.{kind}")) == 20

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    @pytest.mark.parametrize("every", [60, 50_000])
    @pytest.mark.parametrize("step", ["finalize_output", "save", "cleanup"])
    def test_killed_in_its_last_steps(
        self, kind: str, every: int, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The model goes on from a file: it must not learn the stream twice."""
        source, model = str(write_csv(tmp_path / "in.csv")), tmp_path / "m.lw"
        OnlineLearner(K).save(model)
        task, checkpoint = (
            Task(source, str(tmp_path / f"o.{kind}"), COLUMNS),
            str(tmp_path / "c.lw"),
        )

        def killed(learner: OnlineLearner) -> None:
            learner.save(model)
            raise Killed

        save = killed if step == "save" else lambda learner: learner.save(model)
        with monkeypatch.context() as patch:
            if step != "save":
                patch.setattr(f"labelwalk.io.labelling._Run.{step}", _killed)
            with pytest.raises(Killed):
                run(task, load(model), checkpoint=checkpoint, every=every, save=save)
        outcome = run(
            task, load(model), checkpoint=checkpoint, every=every, save=lambda one: one.save(model)
        )
        assert load(model).digest() == by_hand(kind=kind)[0].digest() == outcome.learner.digest()
        assert labels_in(tmp_path / f"o.{kind}") == by_hand()[1]

    def test_what_is_finished_is_not_done_again(self, tmp_path: Path) -> None:
        source = write_csv(tmp_path / "in.csv", 60)
        task, checkpoint = (
            Task(str(source), str(tmp_path / "o.csv"), COLUMNS),
            str(tmp_path / "c.lw"),
        )
        first = run(task, OnlineLearner(K), checkpoint=checkpoint)
        before = (tmp_path / "o.csv").read_bytes()
        again = run(task, OnlineLearner(K), checkpoint=checkpoint)
        assert again.already_finished
        assert again.learner.digest() == first.learner.digest()
        assert (tmp_path / "o.csv").read_bytes() == before

    def test_a_checkpoint_belongs_to_one_run(self, tmp_path: Path) -> None:
        source, checkpoint = write_csv(tmp_path / "in.csv", 60), str(tmp_path / "c.lw")
        first = Task(str(source), str(tmp_path / "o.csv"), COLUMNS)
        run(first, OnlineLearner(K), checkpoint=checkpoint)
        other = Task(str(source), str(tmp_path / "other.csv"), COLUMNS)
        with pytest.raises(CheckpointError, match="belongs to another run, with output="):
            run(other, OnlineLearner(K), checkpoint=checkpoint)
        with pytest.raises(CheckpointError, match="whose learner has different settings"):
            run(first, OnlineLearner(K + 1), checkpoint=checkpoint)
        OnlineLearner(K).save(tmp_path / "plain.lw")
        with pytest.raises(CheckpointError, match="is a model file without a checkpoint"):
            run(other, OnlineLearner(K), checkpoint=str(tmp_path / "plain.lw"))

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["parquet", "arrow", "npz", "csv", "ndjson"])
    def test_stopped_before_anything_new(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text_records, "BLOCK_BYTES", 2000)
        monkeypatch.setattr("labelwalk.io.table_formats.TABLE_BATCH_ROWS", 37)
        output = tmp_path / f"o.{output_kind(kind)}"
        task = Task(str(input_file(kind, tmp_path)), str(output), COLUMNS)
        checkpoint = str(tmp_path / "c.lw")
        left = 5

        def watch(so_far: Any) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGINT)

        for _ in range(3):  # the later two end at their first batch, which may have no rows
            outcome = run(task, OnlineLearner(K), checkpoint=checkpoint, watch=watch)
            assert outcome.signal == signal.SIGINT
        outcome = run(task, OnlineLearner(K), checkpoint=checkpoint)
        assert outcome.tally.rows == N
        assert labels_in(output) == by_hand()[1]
        assert outcome.learner.digest() == by_hand(kind=kind)[0].digest()

    def test_a_signal_while_it_is_saved_comes_too_late(self, tmp_path: Path) -> None:
        task = Task(str(write_csv(tmp_path / "in.csv", 60)), None, COLUMNS)
        kept: list[OnlineLearner] = []

        def save(learner: OnlineLearner) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            kept.append(learner)

        assert run(task, OnlineLearner(K), save=save).signal is None
        assert kept[0].n_seen == 60

    def test_an_image_is_not_broken_by_a_signal(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "images"
        folder.mkdir()
        for i in range(12):
            Image.new("L", (4, 4), 20 * i).save(folder / f"{i:02}.png")
        seen = 0

        def embed(pixels: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == 6:
                os.kill(os.getpid(), signal.SIGINT)
            return pixels[0, 0].astype(float)

        monkeypatch.setattr("labelwalk.io.images.import_embedding", lambda name: embed)
        reading = ReadOptions(embed="ours:embed")
        task = Task(str(folder), str(tmp_path / "o.csv"), reading=reading, on_error="skip")
        checkpoint = str(tmp_path / "c.lw")
        assert run(task, OnlineLearner(K), checkpoint=checkpoint).signal == signal.SIGINT
        outcome = run(task, OnlineLearner(K), checkpoint=checkpoint)
        assert (outcome.tally.rows, outcome.tally.skipped) == (12, 0)

    def test_a_learner_that_was_taught_in_between(self, tmp_path: Path) -> None:
        task = Task(str(write_csv(tmp_path / "in.csv", 60)), str(tmp_path / "o.csv"), COLUMNS)
        checkpoint = str(tmp_path / "c.lw")

        def watch(so_far: Any) -> None:
            os.kill(os.getpid(), signal.SIGINT)

        outcome = run(task, OnlineLearner(K), checkpoint=checkpoint, watch=watch)
        taught = outcome.learner
        taught.teach([50.0, 50.0, 50.0], "new")
        with pytest.raises(CheckpointError, match="The learner has changed since"):
            run(task, taught, checkpoint=checkpoint)
        run(task, OnlineLearner(K), checkpoint=checkpoint)

    def test_rejects_stay_where_they_are(self, tmp_path: Path) -> None:
        source = write_csv(tmp_path / "in.csv", 60)
        source.write_text(source.read_text() + "x,y,z,,\n")
        (tmp_path / "notes.txt").write_text("mine")
        task = Task(str(source), str(tmp_path / "o.csv"), COLUMNS, on_error="skip")
        checkpoint = str(tmp_path / "c.lw")
        run(task, OnlineLearner(K), checkpoint=checkpoint)
        other = replace(task, rejects=str(tmp_path / "notes.txt"))
        with pytest.raises(CheckpointError, match="with rejects=None"):
            run(other, OnlineLearner(K), checkpoint=checkpoint)
        assert (tmp_path / "notes.txt").read_text() == "mine"

    def test_standard_output_cannot_be_cut_back(self, tmp_path: Path) -> None:
        with pytest.raises(PathError, match="Give -o FILE"):
            run(Task("in.csv", "-"), OnlineLearner(K), checkpoint=str(tmp_path / "c.lw"))

    @pytest.mark.parametrize("kind", ["npz", "parquet", "arrow"])
    def test_an_input_that_became_shorter(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("labelwalk.io.table_formats.TABLE_BATCH_ROWS", 37)
        source, checkpoint = str(input_file(kind, tmp_path)), str(tmp_path / "c.lw")
        task = Task(source, str(tmp_path / f"o.{output_kind(kind)}"), COLUMNS)

        def watch(so_far: Any) -> None:
            if so_far.tally.rows > 60:
                os.kill(os.getpid(), signal.SIGINT)

        n = run(task, OnlineLearner(K), checkpoint=checkpoint, watch=watch).tally.rows
        assert 60 < n < N
        input_file(kind, tmp_path, 60)
        message = f"{source} has 60 rows, but {n} rows were read before. Restore the whole file"
        with pytest.raises(InputError, match=f"^{re.escape(message)}"):
            run(task, OnlineLearner(K), checkpoint=checkpoint)

    def test_an_output_that_became_shorter(self, tmp_path: Path) -> None:
        source, checkpoint = write_csv(tmp_path / "in.csv", 60), str(tmp_path / "c.lw")
        (tmp_path / "in.csv").write_text(source.read_text() + "1,2,x,,\n")
        task = Task(str(source), str(tmp_path / "o.csv"), COLUMNS)
        with pytest.raises(InputError, match="line 62, column 'f2': 'x' is not a number"):
            run(task, OnlineLearner(K), checkpoint=checkpoint)
        (tmp_path / "o.csv").write_text("")
        with pytest.raises(ValueError, match="has 0 bytes, but"):
            run(task, OnlineLearner(K), checkpoint=checkpoint)


def test_every_field_of_a_task_identifies_a_run() -> None:
    parts = {"columns": Columns, "reading": ReadOptions}
    names = {field.name for field in fields(Task)} - parts.keys()
    for part, kind in parts.items():
        names |= {f"{part}.{field.name}" for field in fields(kind)}
    may_differ = {"on_error", "reading.follow", "taught_by"}  # when a run is resumed
    assert names - may_differ == STORED_TASK.keys()
    assert may_differ <= names


def test_stored_fields_are_those_of_0_7(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with tarfile.open(Path(__file__).parents[2] / "data" / "0.7.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    earlier = read("checkpoint.lw")[0]["note"]
    task = Task("in.csv", "out.csv", Columns(label="label"), all_labelled=True)
    with pytest.raises(InputError, match="every row needs a label"):
        run(task, OnlineLearner(4, remember=3), checkpoint="new.lw")
    stored = read("new.lw")[0]["note"]
    assert stored.pop("began") != ""
    assert stored == {name: value for name, value in earlier.items() if name != "began"}


def outcome_is_unfinished(checkpoint: str) -> bool:
    return not os.path.exists(checkpoint) or not read(checkpoint)[0]["note"]["finished"]
