"""Rows: what is refused, what is kept, what comes out."""

from __future__ import annotations

import gzip
import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelwalk import OnlineLearner
from labelwalk.io import Columns, InputError, Task, run, text_records
from labelwalk.io.examples import ColumnError
from labelwalk.io.formats import FormatError, PathError
from tests.support.labelled_rows import (
    COLUMNS,
    K,
    by_hand,
    labels_in,
    write_csv,
)

pytestmark = pytest.mark.shell


class TestRows:
    def task(self, tmp_path: Path, text: str, **options: Any) -> Task:
        path = tmp_path / "in.csv"
        path.write_text(text)
        return Task(str(path), str(tmp_path / "out.csv"), **options)

    def test_rows_before_the_fault_are_answered(self, tmp_path: Path) -> None:
        task = self.task(tmp_path, "x,y\n1,2\n2,3\n3,oops\n4,5\n")
        with pytest.raises(InputError, match=r"line 4, column 'y': 'oops' is not a number"):
            run(task, OnlineLearner(K))
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 3

    def test_skipped_rows_are_kept(self, tmp_path: Path) -> None:
        text = "x,y\n1,2\n2\n3,oops\n,1\n4,5\n"
        seen: list[str] = []
        task = self.task(tmp_path, text, on_error="skip")
        outcome = run(task, OnlineLearner(K), report=lambda fault: seen.append(str(fault)))
        assert (outcome.tally.rows, outcome.tally.skipped) == (5, 3)
        assert outcome.learner.n_seen == 2
        rejects = [json.loads(line) for line in Path(task.reject_path).read_text().splitlines()]
        assert [one["where"] for one in rejects] == ["line 3", "line 4", "line 5"]
        assert [one["column"] for one in rejects] == [None, "y", "x"]
        assert rejects[0]["row"] == "2"
        assert seen[0] == "line 3: 1 fields where 2 are expected"
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 3

    def test_duplicate_ids(self, tmp_path: Path) -> None:
        text = "id,x\na,1\nb,2\na,3\n"
        task = self.task(tmp_path, text, columns=Columns(id="id"), on_error="skip")
        run(task, OnlineLearner(K))
        assert "is a duplicate" in Path(task.reject_path).read_text()

    def test_names_that_are_taken(self, tmp_path: Path) -> None:
        text = "x,label\n1,a\n2,\n"
        run(self.task(tmp_path, text), OnlineLearner(K))
        header = (tmp_path / "out.csv").read_text().splitlines()[0]
        assert header == "x,label,predicted_label,predicted_confidence,predicted_outlier"
        with pytest.raises(ColumnError, match="There is already a column 'label'"):
            run(self.task(tmp_path, text, prefix=""), OnlineLearner(K))

    def test_another_number_of_features(self, tmp_path: Path) -> None:
        learner = OnlineLearner(K)
        learner.teach([1.0, 2.0], "a")
        with pytest.raises(ColumnError, match="There are 1 features \\('x'\\), but the learner"):
            run(self.task(tmp_path, "x\n1\n"), learner)
        assert learner.n_seen == 1

    def test_example_numbers_can_be_taught_later(self, tmp_path: Path) -> None:
        task = self.task(tmp_path, "x\n1\n2\n9\n", example_ids=True)
        outcome = run(task, OnlineLearner(K))
        lines = (tmp_path / "out.csv").read_text().splitlines()
        assert [line.split(",")[-1] for line in lines] == ["example", "0", "1", "2"]
        outcome.learner.teach_later(2, "far")

    def test_fields_that_need_quotes(self, tmp_path: Path) -> None:
        text = 'name,x\n"a ""b"", c",1\nplain,2\n'
        run(self.task(tmp_path, text, columns=Columns(features=("x",))), OnlineLearner(K))
        lines = (tmp_path / "out.csv").read_text().splitlines()
        assert lines[1].startswith('"a ""b"", c",1,')
        assert lines[2].startswith("plain,2,")

    def test_only_a_header(self, tmp_path: Path) -> None:
        outcome = run(self.task(tmp_path, "x,y\n"), OnlineLearner(K))
        assert outcome.tally.rows == 0
        assert (tmp_path / "out.csv").read_text() == "x,y,label,confidence,outlier\n"

    def test_rows_of_json_may_lack_the_label(self, tmp_path: Path) -> None:
        path = tmp_path / "in.ndjson"
        path.write_text('{"x": 0}\n{"x": 0, "y": "a"}\n{"x": 9, "y": "b"}\n{"x": 8}\n')
        task = Task(str(path), str(tmp_path / "out.ndjson"), Columns(features=("x",), label="y"))
        run(task, OnlineLearner(K))
        assert labels_in(tmp_path / "out.ndjson")[1:] == ["a", "b", "b"]

    @pytest.mark.parametrize(
        ("text", "output", "said"),
        [
            (
                '{"x": 0}\n{"x": 1, "label": "a"}\n',
                "out.ndjson",
                "already has the key 'label'",
            ),
            (
                '{"x": 0}\n{"x": 1, "z": 2}\n',
                "out.csv",
                "A row has the key 'z', which the first row does not have",
            ),
            ("", "out.parquet", "There are no rows and no columns"),
        ],
    )
    def test_json_that_would_lose_something(
        self, text: str, output: str, said: str, tmp_path: Path
    ) -> None:
        (tmp_path / "in.ndjson").write_text(text)
        task = Task(str(tmp_path / "in.ndjson"), str(tmp_path / output))
        with pytest.raises(InputError, match=said):
            run(task, OnlineLearner(K))

    def test_no_rows_replace_an_old_output(self, tmp_path: Path) -> None:
        (tmp_path / "in.ndjson").write_text("")
        (tmp_path / "out.ndjson").write_text("old")
        run(Task(str(tmp_path / "in.ndjson"), str(tmp_path / "out.ndjson")), OnlineLearner(K))
        assert (tmp_path / "out.ndjson").read_text() == ""
        pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "in.parquet")
        run(Task(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")), OnlineLearner(K))
        assert pq.read_table(tmp_path / "out.parquet").column_names[0] == "x"

    def test_devices_take_the_output(self, tmp_path: Path) -> None:
        source = str(write_csv(tmp_path / "in.csv", 20))
        saved: list[OnlineLearner] = []
        run(Task(source, "/dev/null", COLUMNS, to="csv"), OnlineLearner(K), save=saved.append)
        assert saved[0].n_seen == 20
        with pytest.raises(PathError, match="Give -o FILE"):
            run(
                Task(source, "/dev/null", to="csv"),
                OnlineLearner(K),
                checkpoint=str(tmp_path / "c"),
            )

    def test_ids_are_looked_for_row_by_row(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("labelwalk.io.examples.RECENT_IDS", 3)
        names = ["a", "b", "a", "c", "d", "e", "a", "b", "e"]
        text = "id,x\n" + "".join(f"{name},{i}\n" for i, name in enumerate(names))
        skipped = []
        for size in (1, 8, 1000):
            monkeypatch.setattr(text_records, "BLOCK_BYTES", size)
            task = self.task(tmp_path, text, columns=Columns(id="id"), on_error="skip")
            run(task, OnlineLearner(K))
            rejects = Path(task.reject_path).read_text().splitlines()
            skipped.append([json.loads(line)["where"] for line in rejects])
        assert skipped == [["line 4", "line 10"]] * 3

    def test_many_faults_take_little_time(self, tmp_path: Path) -> None:
        text = "id,x\n" + "".join(f"r{i},{i}\n" for i in range(20_000))
        with pytest.raises(InputError, match="line 2, column 'id': 'r0' is not a number"):
            run(self.task(tmp_path, text), OnlineLearner(K))

    def test_a_pause_does_not_change_types(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(text_records, "BLOCK_BYTES", 2)
        source = write_csv(tmp_path / "in.csv", 20)
        run(Task(str(source), str(tmp_path / "o.parquet"), COLUMNS), OnlineLearner(K))
        assert pq.read_table(tmp_path / "o.parquet").schema.field("f0").type == pa.float64()

    def test_sources_share(self, tmp_path: Path) -> None:
        text = "x,s\n" + "".join(f"{i % 7},loud\n" for i in range(50)) + "1,quiet\n"
        task = self.task(tmp_path, text, columns=Columns(source="s"))
        run(task, OnlineLearner(K, source_share=0.5))
        with pytest.raises(InputError, match="column 's': is missing"):
            run(self.task(tmp_path, "x,s\n1,\n", columns=Columns(source="s")), OnlineLearner(K))

    def test_labels_are_numbers_where_the_learner_has_numbers(self, tmp_path: Path) -> None:
        learner = OnlineLearner(K)
        learner.teach([[0.0], [9.0]], [0, 1])
        run(self.task(tmp_path, "x,label\n0.5,0\n8,\n"), learner)
        assert learner.classes == (0, 1)

    def test_predicting_learns_nothing(self, tmp_path: Path) -> None:
        learner, _ = by_hand()
        before = learner.digest()
        task = Task(str(write_csv(tmp_path / "in.csv")), None, COLUMNS, learn=False)
        outcome = run(task, learner)
        assert learner.digest() == before
        assert outcome.tally.accuracy is not None
        assert outcome.tally.accuracy > 0.9

    def test_a_column_without_a_value_yet(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whether a block ends after the first row must not matter."""
        path = tmp_path / "in.ndjson"
        path.write_text('{"v": null}\n' + '{"v": [1, 2]}\n' * 3)
        for size in (1, 1000):
            monkeypatch.setattr(text_records, "BLOCK_BYTES", size)
            task = Task(str(path), str(tmp_path / "o.ndjson"), on_error="skip")
            tally = run(task, OnlineLearner(K)).tally
            assert (tally.rows, tally.skipped) == (4, 1)

    def test_labels_that_come_later(self, tmp_path: Path) -> None:
        path = tmp_path / "in.ndjson"
        path.write_text('{"x": 0}\n{"x": 0, "label": "a"}\n{"x": 1}\n')
        task = Task(str(path), str(tmp_path / "o.ndjson"), prefix="p_")
        assert run(task, OnlineLearner(K)).tally.taught == 1

    def test_json_without_a_label_in_front_becomes_a_table(self, tmp_path: Path) -> None:
        path = tmp_path / "in.ndjson"
        path.write_text('{"x": 0}\n{"x": 0, "y": "a"}\n{"x": 1}\n')
        task = Task(str(path), str(tmp_path / "o.parquet"), Columns(label="y"))
        run(task, OnlineLearner(K))
        assert pq.read_table(tmp_path / "o.parquet")["y"].to_pylist() == [None, "a", None]

    @pytest.mark.parametrize("name", ["unnamed 1", "__index_level_0__"])
    def test_an_index_is_no_feature(self, name: str, tmp_path: Path) -> None:
        pq.write_table(pa.table({name: [5, 6], "x": [0.0, 1.0]}), tmp_path / "in.parquet")
        outcome = run(Task(str(tmp_path / "in.parquet")), OnlineLearner(K))
        assert outcome.features == ("x",)

    def test_columns_of_another_order_are_taken_by_name(self, tmp_path: Path) -> None:
        first = self.task(tmp_path, "a,b,label\n0,100,low\n9,900,high\n")
        learner = run(first, OnlineLearner(K)).learner
        text = "b,a\n110,1\n890,8\n"
        task = self.task(tmp_path, text, learn=False, taught_by=("a", "b"))
        run(task, learner)
        lines = (tmp_path / "out.csv").read_text().splitlines()
        assert [line.split(",")[2] for line in lines[1:]] == ["low", "high"]
        with pytest.raises(ColumnError, match="column 'b' is not among 'a', 'c'"):
            run(self.task(tmp_path, "a,c\n1,2\n", taught_by=("a", "b")), learner)
        columns = Columns(features=("b", "a"))
        with pytest.raises(ColumnError, match="in this order; --features selects 'b', 'a'"):
            run(self.task(tmp_path, text, columns=columns, taught_by=("a", "b")), learner)

    def test_an_open_quote_in_the_header(self, tmp_path: Path) -> None:
        task = self.task(tmp_path, 'a,"b\n' + "1,2\n" * 60_000)
        with pytest.raises(InputError, match="line 1: the header cannot be read"):
            run(task, OnlineLearner(K))


class TestTables:
    """Columns that pass through, in whatever type they come."""

    def labelled(self, tmp_path: Path, column: Any, ending: str) -> Path:
        table = pa.table({"x": [0.0, 1.0], "c": column})
        pq.write_table(table, tmp_path / "in.parquet")
        output = tmp_path / f"o.{ending}"
        run(Task(str(tmp_path / "in.parquet"), str(output), Columns(("x",))), OnlineLearner(K))
        return output

    def test_lists_of_dates_as_text(self, tmp_path: Path) -> None:
        dates = pa.array([[date(2026, 1, 2)], []])
        assert "2026-01-02" in self.labelled(tmp_path, dates, "csv").read_text()

    def test_json_has_no_nan_at_any_depth(self, tmp_path: Path) -> None:
        output = self.labelled(tmp_path, [[float("nan")], [1.0]], "ndjson")
        assert json.loads(output.read_text().splitlines()[0])["c"] == [None]

    @pytest.mark.parametrize("ending", ["arrows", "parquet"])
    def test_dictionaries_inside_lists(self, ending: str, tmp_path: Path) -> None:
        words = pa.array(["a", "b"]).dictionary_encode()
        lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), words)
        output = self.labelled(tmp_path, lists, ending)
        read = pa.ipc.open_stream(output.read_bytes()).read_all if ending == "arrows" else None
        table = pq.read_table(output) if read is None else read()
        assert table["c"].to_pylist() == [["a"], ["b"]]

    def test_matrices_of_truth_values_from_numpy(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "in.npz", x=np.arange(2.0), b=np.eye(2) > 0)
        task = Task(str(tmp_path / "in.npz"), str(tmp_path / "o.parquet"), Columns(("x",)))
        run(task, OnlineLearner(K))
        table = pq.read_table(tmp_path / "o.parquet")
        assert table["b"].to_pylist() == [[True, False], [False, True]]

    @pytest.mark.parametrize("ending", ["npz", "arrow", "feather"])
    def test_formats_that_are_only_read(self, ending: str, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match=r"no longer written. Write \.parquet, or \.arrows"):
            self.labelled(tmp_path, [1, 2], ending)
        assert not list(tmp_path.glob("o.*"))

    def test_what_is_no_file_is_not_replaced(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "o.parquet")
        with pytest.raises(PathError, match="is not a regular file and would be replaced"):
            self.labelled(tmp_path, [1, 2], "parquet")

    def test_an_empty_compressed_file_is_one(self, tmp_path: Path) -> None:
        (tmp_path / "in.ndjson").write_text("")
        run(Task(str(tmp_path / "in.ndjson"), str(tmp_path / "o.ndjson.gz")), OnlineLearner(K))
        assert gzip.decompress((tmp_path / "o.ndjson.gz").read_bytes()) == b""
