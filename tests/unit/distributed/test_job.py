"""Whole jobs: files in, the same files with verdicts out, and nothing done twice or by half."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from labelwalk import OnlineLearner
from labelwalk.distributed import dataset, filesystem
from labelwalk.distributed import job as jobs
from labelwalk.distributed.job import END_FILE, STORED_ROLES, WORK_FOLDER, Job, Step, run
from labelwalk.io.examples import ColumnError, Columns
from labelwalk.io.rows import InputError
from tests.unit.distributed.test_sketch import shard

pytestmark = pytest.mark.compiled

SETTINGS = OnlineLearner(60).settings


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    folder = tmp_path / "rows"
    (folder / "day=2").mkdir(parents=True)
    for i, name in enumerate(["a.parquet", "b.parquet", "day=2/c.parquet", "d.parquet"]):
        batch = shard(0 if i == 3 else 400, i, labelled=4 if i == 0 else 0)
        pq.write_table(pa.Table.from_batches([batch]), folder / name, row_group_size=150)
    (folder / "_SUCCESS").touch()
    return folder


def job(rows: Path | str, out: Path | str, **options: Any) -> Job:
    given: dict[str, Any] = {"columns": Columns(drop=("truth",)), "settings": SETTINGS} | options
    return Job(str(rows), str(out), **given)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_every_choice_of_columns_identifies_a_job() -> None:
    assert {field.name for field in fields(Columns)} == STORED_ROLES.keys()


def test_files_come_out_as_they_went_in_with_verdicts(rows: Path, tmp_path: Path) -> None:
    steps: list[Step] = []
    outcome = run(job(rows, tmp_path / "out"), watch=steps.append)
    assert (outcome.tally.rows, outcome.files, outcome.classes) == (1200, 4, ("high", "low"))
    assert outcome.certificate <= SETTINGS.tolerance
    names = {"a.parquet", "b.parquet", "day=2/c.parquet", "d.parquet", END_FILE}
    assert set(contents(tmp_path / "out")) == names
    for name in names - {END_FILE}:
        before, after = pq.read_table(rows / name), pq.read_table(tmp_path / "out" / name)
        assert after.select(before.column_names).equals(before)
        said = after["predicted_label"].to_pylist()
        right = [("low", "high")[own] for own in after["truth"].to_pylist()]
        assert not said or np.mean([a == b for a, b in zip(said, right, strict=True)]) > 0.97
    assert [step.what for step in steps if step.done == step.of][-1] == "label"


class KilledError(Exception):
    """Somebody pulled the plug."""


class Dying:
    """Does so many tasks, and dies."""

    def __init__(self, left: int) -> None:
        self.left, self.done = left, 0

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for task in tasks:
            if self.left == 0:
                raise KilledError
            self.left -= 1
            self.done += 1
            yield function(task)


@pytest.mark.parametrize("lives", range(1, 9))
def test_what_is_done_is_not_done_again(
    lives: int, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "PART_ROWS", 200)
    run(job(rows, tmp_path / "whole"))
    n_done = 0
    for _ in range(30):
        pool = Dying(lives)
        try:
            run(job(rows, tmp_path / "out"), pool)
            break
        except KilledError:
            assert not (tmp_path / "out" / END_FILE).exists()
        finally:
            n_done += pool.done
    first, second = contents(tmp_path / "whole"), contents(tmp_path / "out")
    assert first == second
    assert n_done == 7 + (3 + 2 + 1) + 7 + 3  # parts, levels of merging, parts, files of several
    assert run(job(rows, tmp_path / "out"), Dying(0)).tally.rows == 1200


def test_files_that_are_labelled_in_parts_come_out_like_others(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "MAX_BATCH_ROWS", 64)
    monkeypatch.setattr(dataset, "GROUP_ROWS", 100)
    sizes = {"whole": 10_000, "parts": 200}
    for name, size in sizes.items():
        monkeypatch.setattr(dataset, "PART_ROWS", size)
        run(job(rows, tmp_path / name, settings=OnlineLearner(2000).settings))
    for path in rows.rglob("*.parquet"):  # with a vertex for each row, parts make no difference
        whole, parts = (pq.read_table(tmp_path / name / path.relative_to(rows)) for name in sizes)
        assert parts.schema == whole.schema
        assert parts.equals(whole)


def test_what_was_named_rightly_is_counted(rows: Path, tmp_path: Path) -> None:
    path = rows / "a.parquet"
    table = pq.read_table(path)
    names = pa.array([("low", "high")[own] for own in table["truth"].to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("truth"), "truth", names), path)
    for path in rows.rglob("*.parquet"):
        if path.name != "a.parquet":
            path.unlink()
    columns = Columns(truth="truth")
    tally = run(job(rows, tmp_path / "out", columns=columns)).tally
    assert (tally.rows, tally.taught, tally.answered, tally.judged) == (400, 4, 396, 396)
    assert tally.accuracy is not None
    assert tally.accuracy > 0.97
    assert run(job(rows, tmp_path / "out", columns=columns)).tally == tally


def test_output_that_is_gone_is_told(rows: Path, tmp_path: Path) -> None:
    run(job(rows, tmp_path / "out"))
    (tmp_path / "out" / "b.parquet").unlink()
    with pytest.raises(InputError, match="an incomplete job"):
        run(job(rows, tmp_path / "out"))


KILLED = """
import os, signal, sys
from pathlib import Path
from labelwalk.distributed import dataset
from labelwalk.distributed.job import run
from tests.unit.distributed.test_job import job
def write_some(file, schema, tables, out):
    out.write(b"half")
    out.flush()
    os.kill(os.getpid(), signal.SIGKILL)
dataset.write_like = write_some
run(job(Path(sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.mark.slow
def test_whoever_is_killed_while_writing_leaves_nothing_among_the_output(
    rows: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, str(rows), str(out)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert all(name.startswith(WORK_FOLDER) for name in contents(out))
    assert b"half" in contents(out).values()
    run(job(rows, tmp_path / "whole"))
    run(job(rows, out))
    assert contents(out) == contents(tmp_path / "whole")


FULL = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
from labelwalk.distributed.job import run
from tests.unit.distributed.test_job import job
run(job(Path(sys.argv[1]), Path(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [100, 5_000, 9_000])  # for the sign, for a sketch, for a file
def test_where_there_is_no_room_nothing_looks_complete(
    room: int, rows: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", FULL, str(rows), str(out), str(room)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    last = told.stderr.strip().splitlines()[-1]
    assert re.search(rf"OSError: Cannot write {out}/.* \(.*File too large.*\)", last)
    left = [name for name in contents(out) if not name.startswith(WORK_FOLDER)]
    assert END_FILE not in left
    for name in left:
        assert pq.read_table(out / name).num_rows == pq.read_table(rows / name).num_rows
    run(job(rows, tmp_path / "whole"))
    run(job(rows, out))
    assert contents(out) == contents(tmp_path / "whole")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file system that is not that of this machine, as far as a job can tell."""
    store = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(filesystem, "parse_location", lambda name: filesystem.Location(store, name))
    return tmp_path


def test_other_file_systems_are_read_and_written(elsewhere: Path, rows: Path) -> None:
    run(job(Path("rows"), Path("out")))
    names = {"a.parquet", "b.parquet", "day=2/c.parquet", "d.parquet", END_FILE}
    assert set(contents(elsewhere / "out")) == names


def test_whoever_fails_elsewhere_leaves_nothing_and_takes_nothing_away(elsewhere: Path) -> None:
    place = filesystem.parse_location("out/a.parquet")
    with pytest.raises(ZeroDivisionError):
        filesystem.write_file(place, lambda out: out.write(b"half") / 0)
    assert contents(elsewhere / "out") == {}
    filesystem.write_file(place, lambda out: out.write(b"all of it"))
    with pytest.raises(ZeroDivisionError):
        filesystem.write_file(place, lambda out: out.write(b"half") / 0)
    filesystem.write_file(place, lambda out: out.write(b"all of it"))
    assert contents(elsewhere / "out") == {"a.parquet": b"all of it"}


class Meddling:
    """Has a function called before the tasks of one step."""

    def __init__(self, step: str, meddle: Callable[[], Any]) -> None:
        self.step, self.meddle = step, meddle

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        if function.__name__ == self.step:
            self.meddle()
        return map(function, tasks)


@pytest.mark.parametrize("step", ["sketch_part", "label_rows", "join_parts"])
def test_a_file_that_changes_meanwhile_is_told(
    step: str, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "PART_ROWS", 200)
    path = rows / "a.parquet"
    table = pq.read_table(path)

    def turn() -> None:
        pq.write_table(table.take(list(range(len(table)))[::-1]), path, row_group_size=100)

    with pytest.raises(InputError, match=r"a.parquet has changed since this job began"):
        run(job(rows, tmp_path / "out"), Meddling(step, turn))
    assert not (tmp_path / "out" / END_FILE).exists()


def test_a_file_that_changes_at_the_very_end_is_told(rows: Path, tmp_path: Path) -> None:
    def touch(step: Step) -> None:
        if step.what == "label" and step.done == step.of:
            os.utime(rows / "b.parquet", ns=(1, 1))

    with pytest.raises(InputError, match=r"b.parquet has changed"):
        run(job(rows, tmp_path / "out"), watch=touch)
    assert not (tmp_path / "out" / END_FILE).exists()


def test_another_job_in_the_same_folder_is_told(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def begin_another() -> None:
        (out / WORK_FOLDER / "0123456789abcdef").mkdir(exist_ok=True)

    with pytest.raises(InputError, match="another job writes to this folder"):
        run(job(rows, out), Meddling("merge_sketches", begin_another))
    assert not (out / END_FILE).exists()


@pytest.mark.parametrize("what", ["release", "parts"])
def test_what_another_labelwalk_did_is_not_gone_on_with(
    what: str, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KilledError):
        run(job(rows, tmp_path / "begun"), Dying(3))
    with pytest.raises(KilledError):
        run(job(rows, tmp_path / "labelling"), Dying(9))
    if what == "parts":
        monkeypatch.setattr(dataset, "PART_ROWS", 200)
    else:
        monkeypatch.setattr(jobs, "__version__", "0.0.1")
    run(job(rows, tmp_path / "begun"))
    run(job(rows, tmp_path / "clean"))
    assert contents(tmp_path / "begun") == contents(tmp_path / "clean")
    with pytest.raises(InputError, match="different input, settings or labelwalk version"):
        run(job(rows, tmp_path / "labelling"))


def test_rows_are_counted_from_the_first_of_their_file(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "PART_ROWS", 100)
    path = rows / "a.parquet"
    table = pq.read_table(path)
    values = table["b"].to_pylist()
    values[350] = None
    place = table.column_names.index("b")
    spoilt = table.set_column(place, "b", pa.array(values, pa.float64()))
    pq.write_table(spoilt, path, row_group_size=100)
    with pytest.raises(InputError, match=r"^a.parquet, row 351, column 'b': is missing"):
        run(job(rows, tmp_path / "out"))


def test_lists_of_another_length_are_told_with_their_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, width in (("a", 3), ("b", 4)):
        lists = pa.array(np.ones((5, width)).tolist(), pa.list_(pa.float64()))
        table = pa.table({"v": lists, "label": ["one", *[None] * 4]})
        pq.write_table(table, tmp_path / "in" / f"{name}.parquet")
    with pytest.raises(InputError, match=r"^b.parquet, row 1, column 'v': .*4.*3"):
        run(job(tmp_path / "in", tmp_path / "out", columns=Columns()))


def test_the_stated_distance_is_that_of_rows_with_labels_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    x = np.arange(300.0)
    pq.write_table(pa.table({"x": x, "label": ["one"] * 300}), tmp_path / "in" / "a.parquet")
    outcome = run(job(tmp_path / "in", tmp_path / "out", columns=Columns()))
    assert outcome.distortion >= 0.5 * 300 / (2 * SETTINGS.labels_per_class)


def test_another_job_does_not_go_on_here(rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(job(rows, out))
    others = {"settings": OnlineLearner(50).settings}, {"columns": Columns(features=("a",))}
    for other in others:
        with pytest.raises(InputError, match="files of a job with different input"):
            run(job(rows, out, **other))
    run(job(rows, out))
    pq.write_table(pa.Table.from_batches([shard(10, 9)]), rows / "e.parquet")
    with pytest.raises(InputError, match="files of a job with different input"):
        run(job(rows, out))
    for inside in (rows, rows / "out"):
        with pytest.raises(InputError, match="is inside"):
            run(job(rows, inside))
    run(job(rows / "*.parquet", rows / "out"))
    run(job(rows / "*.parquet", rows / "_out"))


def test_a_job_that_has_finished_no_file_leaves_its_place_to_another(
    rows: Path, tmp_path: Path
) -> None:
    with pytest.raises(KilledError):
        run(job(rows, tmp_path / "out"), Dying(3))
    other = {"settings": OnlineLearner(50).settings}
    run(job(rows, tmp_path / "out", **other))
    run(job(rows, tmp_path / "clean", **other))
    assert contents(tmp_path / "out") == contents(tmp_path / "clean")


def test_two_commands_for_the_same_are_both_told_that_all_is_there(
    rows: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def be_faster() -> None:
        run(job(rows, out))

    slower = run(job(rows, out), Meddling("merge_sketches", be_faster))
    assert slower.tally.rows == 1200
    assert (out / END_FILE).exists()


def test_features_are_the_same_whichever_file_comes_first(rows: Path, tmp_path: Path) -> None:
    table = pq.read_table(rows / "b.parquet")
    pq.write_table(table.append_column("c", table["a"]), rows / "b.parquet")
    with pytest.raises(ColumnError, match=r"b.parquet, column 'c' would be a feature"):
        run(job(rows, tmp_path / "out"))
    run(job(rows, tmp_path / "out", columns=Columns(features=("a", "b"))))


def spoil(path: Path, **columns: Any) -> None:
    given = {"a": [1.0], "b": [2.0], "label": pa.array(["low"]), "truth": [0]} | columns
    table = pa.table({name: values for name, values in given.items() if values is not None})
    pq.write_table(table, path)


@pytest.mark.parametrize(
    ("columns", "error", "said"),
    [
        ({"b": None}, ColumnError, "z.parquet.*column 'b' is missing"),
        ({"b": ["x"]}, ColumnError, "z.parquet.*'b' has type string, but double"),
        ({"b": pa.array([2.0], pa.float32())}, ColumnError, "z.parquet.*float.*same types"),
        ({"b": pa.array([None], pa.float64())}, InputError, "z.parquet, row 1.*'b'.*missing"),
    ],
)
def test_a_shard_that_does_not_fit_is_named(
    rows: Path, tmp_path: Path, columns: dict[str, Any], error: type[Exception], said: str
) -> None:
    spoil(rows / "z.parquet", **columns)
    with pytest.raises(error, match=said):
        run(job(rows, tmp_path / "out"))
    assert not [name for name in contents(tmp_path / "out") if not name.startswith(WORK_FOLDER)]


def test_most_files_may_have_no_column_of_labels(rows: Path, tmp_path: Path) -> None:
    for path in rows.rglob("[bcd].parquet"):
        pq.write_table(pq.read_table(path).drop_columns("label"), path)
    columns = Columns(label="label", drop=("truth",))
    assert run(job(rows, tmp_path / "out", columns=columns)).tally.taught == 4
    assert pq.read_table(tmp_path / "out" / "b.parquet").column_names[-3:] == [
        *("predicted_label", "predicted_confidence", "predicted_outlier")
    ]
    with pytest.raises(ColumnError, match=r"--label-column 'y': no such column"):
        run(job(rows, tmp_path / "other", columns=Columns(label="y")))


def test_a_column_called_like_a_new_one_is_told_at_once(rows: Path, tmp_path: Path) -> None:
    spoil(rows / "z.parquet", mine_outlier=[True])
    with pytest.raises(InputError, match=r"z.parquet.*already a column 'mine_outlier'"):
        run(job(rows, tmp_path / "out", prefix="mine_"))
    assert not (tmp_path / "out").exists()


def test_files_that_are_not_what_they_are_called(rows: Path, tmp_path: Path) -> None:
    (rows / "z.parquet").write_bytes(b"not at all")
    with pytest.raises(InputError, match=r"z.parquet does not match its file extension"):
        run(job(rows, tmp_path / "out"))
    (rows / "z.parquet").rename(rows / "z.csv")
    with pytest.raises(InputError, match=r"z.csv: only .parquet"):
        run(job(rows, tmp_path / "out"))
    assert run(job(rows / "*.parquet", tmp_path / "out")).files == 3


def test_nothing_to_read_or_to_name(rows: Path, tmp_path: Path) -> None:
    for nothing in ("nowhere", "rows/*.arrow"):
        with pytest.raises(InputError, match=r"does not exist|contains no files"):
            run(job(tmp_path / nothing, tmp_path / "out"))
    with pytest.raises(InputError, match="no row has a label"):
        run(job(rows / "b.parquet", tmp_path / "out"))
    with pytest.raises(InputError, match="cannot be opened"):
        run(Job("nosuch://x", str(tmp_path / "out"), SETTINGS))


@pytest.mark.parametrize("options", [{"n_centroids": None}, {"scale": "robust"}])
def test_settings_that_shards_cannot_have_are_refused_at_once(
    options: dict[str, Any], rows: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"n_centroids=None|scale='none' \(got 'robust'\)"):
        run(job(rows, tmp_path / "out", settings=OnlineLearner(**options).settings))
    assert not (tmp_path / "out").exists()


def test_files_tell_their_columns_and_how_many_rows_each_group_has(tmp_path: Path) -> None:
    whole, sizes = shard(300, 0), (100, 1, 0, 199)
    groups = [whole.slice(sum(sizes[:i]), n) for i, n in enumerate(sizes)]
    with (
        pa.ipc.new_file(tmp_path / "a.arrow", whole.schema) as arrow,
        pq.ParquetWriter(tmp_path / "b.parquet", whole.schema) as parquet,
    ):
        for group in groups:
            arrow.write_batch(group)
            parquet.write_table(pa.Table.from_batches([group]))
    for footer in dataset.read_footers(filesystem.find_files(str(tmp_path))):
        assert footer.schema == whole.schema
        assert footer.sizes == sizes


def test_arrow_files_are_read_and_written_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for i in range(2):
        batch = shard(300, i)
        with pa.ipc.new_file(tmp_path / "in" / f"{i}.arrow", batch.schema) as file:
            file.write_batch(batch)
    run(job(tmp_path / "in", tmp_path / "out"))
    with pa.ipc.open_file(tmp_path / "out" / "1.arrow") as file:
        assert file.read_all().num_rows == 300
