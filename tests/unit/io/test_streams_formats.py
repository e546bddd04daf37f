"""The same stream in every format gives the same labels and the same model."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from labelwalk import OnlineLearner, load
from labelwalk.io import Columns, Task, run, table_formats
from tests.support.labelled_rows import (
    COLUMNS,
    COMMAND,
    ENVIRONMENT,
    K,
    by_hand,
    input_file,
    labels_in,
    output_kind,
    write_csv,
)

pytestmark = pytest.mark.shell


@pytest.fixture(scope="module")
def expected() -> tuple[str, list[str | None]]:
    learner, said = by_hand()
    return learner.digest(), said


class TestSameStream:
    """The same labels and the same model, byte for byte, whatever the format."""

    @pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrow", "arrows", "npz"])
    def test_every_file_format(
        self, kind: str, tmp_path: Path, expected: tuple[str, list[str | None]]
    ) -> None:
        output = tmp_path / f"out.{output_kind(kind)}"
        task = Task(str(input_file(kind, tmp_path)), str(output), COLUMNS)
        outcome = run(task, OnlineLearner(K))
        names = ("f",) * 3 if kind == "npz" else ("f0", "f1", "f2")  # an array of three columns
        assert outcome.learner.feature_names == names
        outcome.learner.feature_names = ("f0", "f1", "f2")
        assert outcome.learner.digest() == expected[0]
        assert labels_in(output) == expected[1]
        assert not list(tmp_path.glob("*.part*"))

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["csv", "ndjson", "arrows"])
    def test_standard_input(
        self, kind: str, tmp_path: Path, expected: tuple[str, list[str | None]]
    ) -> None:
        with open(input_file(kind, tmp_path), "rb") as stream:
            options = ["--features=f*", "--label-column=y", "--truth-column=truth"]
            rest = ["--n-centroids=30", "--model=m.lw", f"-oout.{kind}"]
            subprocess.run(
                [*COMMAND, "label", "-", *options, *rest],
                stdin=stream,
                cwd=tmp_path,
                check=True,
                env=ENVIRONMENT,
            )
        assert load(tmp_path / "m.lw").digest() == expected[0]
        assert labels_in(tmp_path / f"out.{kind}") == expected[1]

    @pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrows"])
    def test_from_any_format_to_any_other(self, kind: str, tmp_path: Path) -> None:
        first, second = tmp_path / f"a.{kind}", tmp_path / "b.csv"
        run(Task(str(write_csv(tmp_path / "in.csv", 50)), str(first), COLUMNS), OnlineLearner(K))
        columns = Columns(("f?",), "y", drop=("label", "confidence", "outlier"))
        task = Task(str(first), str(second), columns, prefix="again_")
        run(task, OnlineLearner(K))
        lines = second.read_text().splitlines()
        assert lines[0].startswith("f0,f1,f2,y,truth,label,confidence,outlier,again_label")
        for line in lines[1:]:
            fields = line.split(",")
            assert fields[5:8] == fields[8:11]

    def test_parquet_of_small_batches_has_large_row_groups(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table_formats, "TABLE_BATCH_ROWS", 10)
        monkeypatch.setattr(table_formats, "PARQUET_TABLE_ROWS", 45)
        path = tmp_path / "out.parquet"
        source = str(input_file("npz", tmp_path, 120))
        run(Task(source, str(path), COLUMNS), OnlineLearner(K))
        metadata = pq.ParquetFile(path).metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        assert sizes == [50, 50, 20]

    def test_model_files_are_equal(self, tmp_path: Path) -> None:
        learner, _ = by_hand()
        learner.save(tmp_path / "by-hand.lw")
        task = Task(str(input_file("csv", tmp_path)), None, COLUMNS)
        run(task, OnlineLearner(K), save=lambda learned: learned.save(tmp_path / "run.lw"))
        assert (tmp_path / "run.lw").read_bytes() == (tmp_path / "by-hand.lw").read_bytes()
