"""`labelwalk scale label`: what a user sees of a job."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelwalk.cli.errors import FAILED, INVALID_INPUT, TERMINATED, WRONG_USAGE
from labelwalk.distributed.job import END_FILE, WORK_FOLDER
from tests.unit.distributed.test_job import contents
from tests.unit.distributed.test_sketch import shard

pytestmark = pytest.mark.shell


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    folder = tmp_path / "rows"
    folder.mkdir()
    for i in range(3):
        table = pa.Table.from_batches([shard(400, i, labelled=4 if i == 0 else 0)])
        names = pa.array([("low", "high")[own] for own in table["truth"].to_pylist()])
        pq.write_table(table.set_column(3, "truth", names), folder / f"{i}.parquet")
    return folder


def label(rows: Path, *options: str) -> subprocess.CompletedProcess[str]:
    out = rows.parent / "out"
    command = [sys.executable, "-m", "labelwalk", "scale", "label", str(rows), "-o", str(out)]
    given = [*command, "--truth-column", "truth", "--n-centroids", "60", *options]
    return subprocess.run(given, capture_output=True, text=True, check=False, timeout=300)


def test_a_data_set_is_labelled_and_told(rows: Path) -> None:
    told = label(rows, "--address", "here")
    assert told.returncode == 0, told.stderr
    assert told.stdout == ""
    counted, proven, features, classes, files = told.stderr.splitlines()[-5:]
    assert counted == "1,200 rows: 4 taught, 1,196 labelled, 100.0% of 1,196 correct."
    assert "no row is farther than" in proven
    assert features == "Features: a, b."
    assert classes == "Classes: high, low."
    assert files == f"3 files: {rows.parent / 'out'}"
    again = label(rows, "--address", "here")
    told_again = [
        "Nothing to do: this job has already finished.",
        counted,
        proven,
        features,
        classes,
        files,
    ]
    assert again.stderr.splitlines()[-6:] == told_again


@pytest.mark.slow
def test_far_rows_are_told_with_their_file(rows: Path) -> None:
    table = pq.read_table(rows / "1.parquet")
    place = table.column_names.index("a")
    values = table["a"].to_numpy().copy()
    values[[2, 8]] = [1e9, -1e9]
    pq.write_table(table.set_column(place, "a", pa.array(values)), rows / "1.parquet")
    told = label(rows, "--address", "here")
    assert told.returncode == 0
    assert "Not learned, because too far from all others: 2 rows." in told.stderr
    assert "Outliers: 1.parquet (row 3, 9)." in told.stderr


@pytest.mark.slow
def test_where_all_rows_have_labels_that_is_told(rows: Path) -> None:
    for path in rows.glob("*.parquet"):
        table = pq.read_table(path)
        names = pa.array([name or "-1" for name in table["label"].to_pylist()])
        place = table.column_names.index("label")
        pq.write_table(table.set_column(place, "label", names), path)
    told = label(rows, "--address", "here")
    assert "Give the value of unlabelled rows with --unlabeled" in told.stderr


@pytest.mark.slow
def test_a_signal_lets_go_of_the_workers(rows: Path) -> None:
    pytest.importorskip("ray")
    for i in range(3, 40):
        table = pa.Table.from_batches([shard(20_000, i, labelled=0)])
        names = pa.array([("low", "high")[own] for own in table["truth"].to_pylist()])
        pq.write_table(table.set_column(3, "truth", names), rows / f"{i}.parquet")
    out = rows.parent / "out"
    given = ["--truth-column", "truth", "--n-centroids", "60", "--workers", "1"]
    command = [sys.executable, "-m", "labelwalk", "scale", "label", str(rows), "-o", str(out)]
    with subprocess.Popen([*command, *given], stderr=subprocess.PIPE, text=True) as job:
        while not list((out / WORK_FOLDER).glob("*/sketches/*.arrow")):
            assert job.poll() is None
            time.sleep(0.05)
        job.terminate()
        told = job.communicate(timeout=60)[1]
    assert job.returncode == TERMINATED
    # the native code of Ray may log a task that lost its driver after our last line
    assert "Terminated. Run the same command to continue." in told.splitlines()
    assert "SIGTERM" not in told
    assert not (out / END_FILE).exists()


@pytest.mark.slow
def test_workers_of_this_machine_leave_the_same_files(rows: Path) -> None:
    pytest.importorskip("ray")
    assert label(rows, "--address", "here", "--quiet").returncode == 0
    out = rows.parent / "out"
    before = contents(out)
    os.rename(out, rows.parent / "before")
    told = label(rows, "--workers", "2")
    assert told.returncode == 0, told.stderr
    assert "3 files" in told.stderr
    assert "WARNING" not in told.stderr
    assert contents(out) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--label-column", "kind"], "--label-column 'kind': no such column"),
        (["--half-life", "100"], "half_life=100.0: shards have no order in time"),
    ],
)
def test_options_that_do_not_fit_are_refused(rows: Path, options: list[str], said: str) -> None:
    told = label(rows, "--address", "here", *options)
    assert told.returncode == WRONG_USAGE, told.stderr
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def labelled(rows: Path, *options: str) -> pa.Table:
    """All rows, with what was said of them."""
    told = label(rows, "--address", "here", *options)
    assert told.returncode == 0, told.stderr
    files = sorted((rows.parent / "out").glob("*.parquet"))
    assert [file.name for file in files] == ["0.parquet", "1.parquet", "2.parquet"]
    return pa.concat_tables(map(pq.read_table, files))


def spoil(file: Path, column: str) -> None:
    """Let the first row of a file lack a value."""
    table = pq.read_table(file)
    values = pa.array([None, *table[column].to_pylist()[1:]])
    pq.write_table(table.set_column(table.column_names.index(column), column, values), file)


@pytest.mark.slow
def test_what_is_no_feature_is_not_looked_at(rows: Path) -> None:
    spoil(rows / "2.parquet", "b")
    table = labelled(rows, "--features", "a")
    assert table["b"].null_count == 1
    assert np.mean(table["predicted_label"].to_numpy() == table["truth"].to_numpy()) > 0.97


@pytest.mark.slow
def test_what_stands_for_no_label_teaches_nothing(rows: Path) -> None:
    table = labelled(rows, "--unlabeled", "low")
    assert set(table["label"].drop_null().to_pylist()) == {"low", "high"}
    assert set(table["predicted_label"].to_pylist()) <= {"high", None}


@pytest.mark.slow
def test_new_columns_are_called_as_is_wanted(rows: Path) -> None:
    before = pq.read_table(rows / "0.parquet").column_names
    after = labelled(rows, "--prefix", "tru").column_names
    assert after == [*before, "trulabel", "truconfidence", "truoutlier"]


@pytest.mark.slow
def test_a_row_that_is_no_row_is_named(rows: Path) -> None:
    spoil(rows / "2.parquet", "a")
    told = label(rows, "--address", "here")
    assert told.returncode == INVALID_INPUT
    assert told.stderr.splitlines()[-1].startswith("2.parquet, row 1, column 'a': is missing")
    left = contents(rows.parent / "out")
    assert END_FILE not in left
    assert all(name.startswith(WORK_FOLDER) for name in left)


@pytest.mark.slow
def test_a_cluster_that_does_not_answer(rows: Path) -> None:
    pytest.importorskip("ray")
    told = label(rows, "--address", "127.0.0.1:1")
    assert told.returncode == FAILED
    assert told.stderr.startswith("No cluster answers at 127.0.0.1:1 (Connection refused)")
    assert not (rows.parent / "out").exists()
    told = label(rows, "--address", "somewhere")
    assert told.returncode == WRONG_USAGE
    assert told.stderr.startswith("address='somewhere' is invalid.")
