"""`labelwalk scale label`: what a user sees of a job."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelwalk.cli.failures import FAILED, NOT_UNDERSTOOD, WRONG_USAGE
from labelwalk.scale.job import END, WORK
from tests.scale.test_job import contents
from tests.scale.test_sketch import shard


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
    counted, proven, classes, files = told.stderr.splitlines()[-4:]
    assert counted == "1,200 rows: 4 taught, 1,196 named, 100.0% of 1,196 right."
    assert "vertices stand for them" in proven
    assert classes == "Classes: high, low."
    assert files == f"3 files: {rows.parent / 'out'}"
    again = label(rows, "--address", "here")
    assert again.stderr.splitlines()[-4:] == [counted, proven, classes, files]


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


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--label-column", "kind"], WRONG_USAGE, "--label-column 'kind': there is no such column"),
        (["--features", "a"], 0, ""),
        (["--window", "100"], WRONG_USAGE, "window=100: shards have no order in time"),
        (["--unlabeled", "low"], 0, ""),
        (["--prefix", "tru", "--features", "a"], 0, ""),
    ],
)
def test_options_are_those_of_other_commands(
    rows: Path, options: list[str], code: int, said: str
) -> None:
    told = label(rows, "--address", "here", *options)
    assert told.returncode == code, told.stderr
    assert said in told.stderr
    assert "Traceback" not in told.stderr


def test_a_row_that_is_no_row_is_named(rows: Path) -> None:
    table = pq.read_table(rows / "2.parquet")
    values = [None, *table["a"].to_pylist()[1:]]
    spoilt = table.set_column(table.column_names.index("a"), "a", pa.array(values))
    pq.write_table(spoilt, rows / "2.parquet")
    told = label(rows, "--address", "here")
    assert told.returncode == NOT_UNDERSTOOD
    assert told.stderr.splitlines()[-1].startswith("2.parquet, row 1, column 'a': is missing")
    left = contents(rows.parent / "out")
    assert END not in left
    assert all(name.startswith(WORK) for name in left)


def test_a_cluster_that_does_not_answer(rows: Path) -> None:
    pytest.importorskip("ray")
    told = label(rows, "--address", "127.0.0.1:1")
    assert told.returncode == FAILED
    assert told.stderr.startswith("no cluster answers at 127.0.0.1:1 (Connection refused)")
    assert not (rows.parent / "out").exists()
    told = label(rows, "--address", "somewhere")
    assert told.returncode == WRONG_USAGE
    assert told.stderr.startswith("address='somewhere' is none of a cluster.")
