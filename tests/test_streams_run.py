"""Runs: the same stream in every format, resumed at any place, learned and written once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from labelwalk import OnlineLearner, load
from labelwalk.modelfile import read
from labelwalk.streams import Columns, InputError, Reading, Task, blocks, run
from labelwalk.streams.checkpoint import CheckpointError
from labelwalk.streams.columns import ColumnError
from labelwalk.streams.formats import FormatError

pytestmark = pytest.mark.shell

N, K, MOST = 600, 30, 40_000
COMMAND = [sys.executable, "-m", "labelwalk"]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def made(n: int = N) -> tuple[Any, list[str], list[str]]:
    """Return rows, labels for a few of them, and the truth."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, MOST)[:n]
    rows = 6.0 * np.eye(3)[truth] + rng.normal(size=(MOST, 3))[:n]
    names = np.array(["ant", "bee", "cat"])[truth].tolist()
    labels = [name if i < 8 or i % 97 == 0 else "" for i, name in enumerate(names)]
    return rows, labels, names


def write_csv(path: Path, n: int = N) -> Path:
    rows, labels, names = made(n)
    lines = ["f0,f1,f2,y,truth"]
    lines += [
        f"{a!r},{b!r},{c!r},{label},{name}"
        for (a, b, c), label, name in zip(rows.tolist(), labels, names, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def records(n: int = N) -> list[dict[str, Any]]:
    rows, labels, names = made(n)
    return [
        {"f0": a, "f1": b, "f2": c, "y": label or None, "truth": name}
        for (a, b, c), label, name in zip(rows.tolist(), labels, names, strict=True)
    ]


def by_hand(n: int = N) -> tuple[OnlineLearner, list[str | None]]:
    """Return what Python gives, row after row."""
    rows, labels, _ = made(n)
    learner = OnlineLearner(K)
    said: list[str | None] = []
    for row, label in zip(rows, labels, strict=True):
        if label:
            learner.teach(row, label)
            said.append(label)
        else:
            said.append(learner.observe(row).label)
    return learner, said


COLUMNS = Columns(features=("f*",), label="y", truth="truth")


@pytest.fixture(scope="module")
def expected() -> tuple[str, list[str | None]]:
    learner, said = by_hand()
    return learner.digest(), said


def labels_in(path: Path) -> list[str | None]:
    """Return the labels of an output, whatever its format."""
    if path.suffix == ".npz":
        return [str(word) or None for word in np.load(path)["label"]]
    if path.suffix == ".ndjson":
        return [json.loads(line)["label"] for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        lines = path.read_text().splitlines()
        place = lines[0].split(",").index("label")
        return [line.split(",")[place] or None for line in lines[1:]]
    if path.suffix == ".parquet":
        found: list[str | None] = pq.read_table(path)["label"].to_pylist()
    elif path.suffix == ".arrows":
        found = pa.ipc.open_stream(path.read_bytes()).read_all()["label"].to_pylist()
    else:
        found = pa.ipc.open_file(path).read_all()["label"].to_pylist()
    return found


def input_file(kind: str, folder: Path) -> Path:
    path = folder / f"in.{kind}"
    if kind == "csv":
        return write_csv(path)
    if kind == "ndjson":
        path.write_text("".join(json.dumps(one) + "\n" for one in records()))
        return path
    table = pa.Table.from_pylist(records())
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=100)
    elif kind == "npz":
        rows, labels, names = made()
        np.savez(path, f=rows, y=np.array(labels), truth=np.array(names))
    else:
        new = pa.ipc.new_stream if kind == "arrows" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    return path


class TestSameStream:
    """The same labels and the same model, byte for byte, whatever the format."""

    @pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrow", "arrows", "npz"])
    def test_every_file_format(
        self, kind: str, tmp_path: Path, expected: tuple[str, list[str | None]]
    ) -> None:
        output = tmp_path / f"out.{kind}"
        task = Task(str(input_file(kind, tmp_path)), str(output), COLUMNS)
        outcome = run(task, OnlineLearner(K))
        assert outcome.learner.digest() == expected[0]
        assert labels_in(output) == expected[1]
        assert not list(tmp_path.glob("*.part*"))

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

    @pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrow", "arrows", "npz"])
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

    def test_model_files_are_equal(self, tmp_path: Path) -> None:
        learner, _ = by_hand()
        learner.save(tmp_path / "by-hand.lw")
        task = Task(str(input_file("csv", tmp_path)), None, COLUMNS)
        run(task, OnlineLearner(K), save=lambda learned: learned.save(tmp_path / "run.lw"))
        assert (tmp_path / "run.lw").read_bytes() == (tmp_path / "by-hand.lw").read_bytes()


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """Yield the address of librdkafka's own mock cluster."""
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1"})
    brokers = cluster.list_topics(timeout=10).brokers
    yield ",".join(f"{one.host}:{one.port}" for one in brokers.values())
    cluster.flush()


def send(broker: str, topic: str, values: list[dict[str, Any]]) -> None:
    producer = Producer({"bootstrap.servers": broker})
    for value in values:
        producer.produce(topic, json.dumps(value).encode(), partition=0)
    assert producer.flush(10) == 0


class TestKafka:
    def test_topics_in_and_out(
        self, broker: str, tmp_path: Path, expected: tuple[str, list[str | None]]
    ) -> None:
        send(broker, "rows", records())
        first = Task(f"kafka://{broker}/rows", f"kafka://{broker}/named", COLUMNS)
        outcome = run(first, OnlineLearner(K))
        assert outcome.learner.digest() == expected[0]
        back = Task(f"kafka://{broker}/named", str(tmp_path / "back.ndjson"), COLUMNS, prefix="x_")
        run(back, OnlineLearner(K))
        assert sorted(map(str, labels_in(tmp_path / "back.ndjson"))) == sorted(
            map(str, expected[1])
        )

    def test_offsets_are_kept_with_what_was_learned(self, broker: str, tmp_path: Path) -> None:
        checkpoint = str(tmp_path / "run.lw")
        out = f"kafka://{broker}/twice-out"
        task = Task(f"kafka://{broker}/twice", out, COLUMNS, Reading(follow=True))
        everything = records()
        for start in (0, 400):
            send(broker, "twice", everything[start : start + (400 if start == 0 else N)])
            end = threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGTERM))
            end.start()
            outcome = run(task, OnlineLearner(K), checkpoint=checkpoint, every=50)
            end.join()
            assert outcome.signal == signal.SIGTERM
        assert read(checkpoint)[0]["note"]["position"]["offsets"] == {"0": N}
        assert load(checkpoint).digest() == by_hand()[0].digest()

    def test_no_such_broker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("labelwalk.streams.kafka.CONNECT", 0.5)
        with pytest.raises(OSError, match="Kafka at localhost:1 cannot be used"):
            run(Task("kafka://localhost:1/rows"), OnlineLearner(K))


class Killed(BaseException):
    """Stands for the end of the process, without any goodbye."""


def _killed(job: Any) -> None:
    raise Killed


class TestResumed:
    @pytest.mark.parametrize("kind", ["csv", "ndjson", "parquet", "arrow", "npz", "csv.gz"])
    def test_after_any_accident_the_output_is_the_same(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(blocks, "BLOCK", 2000)
        monkeypatch.setattr("labelwalk.streams.tabular.ROWS", 37)
        monkeypatch.setattr("labelwalk.streams.arrays.ROWS", 37)
        plain = kind.removesuffix(".gz")
        source = str(input_file(plain, tmp_path))
        whole, parts = tmp_path / f"whole.{kind}", tmp_path / f"parts.{kind}"
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

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    @pytest.mark.parametrize("every", [60, 50_000])
    @pytest.mark.parametrize("step", ["complete", "save", "tidy"])
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
                patch.setattr(f"labelwalk.streams.labelling._Job.{step}", _killed)
            with pytest.raises(Killed):
                run(task, load(model), checkpoint=checkpoint, every=every, save=save)
        outcome = run(
            task, load(model), checkpoint=checkpoint, every=every, save=lambda one: one.save(model)
        )
        assert load(model).digest() == by_hand()[0].digest() == outcome.learner.digest()
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
        with pytest.raises(CheckpointError, match="belongs to another run: there output is"):
            run(other, OnlineLearner(K), checkpoint=checkpoint)
        with pytest.raises(CheckpointError, match="was made with other settings"):
            run(first, OnlineLearner(K + 1), checkpoint=checkpoint)
        OnlineLearner(K).save(tmp_path / "plain.lw")
        with pytest.raises(CheckpointError, match="is a learner, but no checkpoint"):
            run(other, OnlineLearner(K), checkpoint=str(tmp_path / "plain.lw"))

    def test_standard_output_cannot_be_cut_back(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match="give -o FILE"):
            run(Task("in.csv", "-"), OnlineLearner(K), checkpoint=str(tmp_path / "c.lw"))

    def test_an_output_that_became_shorter(self, tmp_path: Path) -> None:
        source, checkpoint = write_csv(tmp_path / "in.csv", 60), str(tmp_path / "c.lw")
        (tmp_path / "in.csv").write_text(source.read_text() + "1,2,x,,\n")
        task = Task(str(source), str(tmp_path / "o.csv"), COLUMNS)
        with pytest.raises(InputError, match="line 62, column 'f2': 'x' is not a number"):
            run(task, OnlineLearner(K), checkpoint=checkpoint)
        (tmp_path / "o.csv").write_text("")
        with pytest.raises(ValueError, match="has 0 bytes, but"):
            run(task, OnlineLearner(K), checkpoint=checkpoint)


def outcome_is_unfinished(checkpoint: str) -> bool:
    return not os.path.exists(checkpoint) or not read(checkpoint)[0]["note"]["finished"]


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
        assert "came before" in Path(task.reject_path).read_text()

    def test_names_that_are_taken(self, tmp_path: Path) -> None:
        text = "x,label\n1,a\n2,\n"
        run(self.task(tmp_path, text), OnlineLearner(K))
        header = (tmp_path / "out.csv").read_text().splitlines()[0]
        assert header == "x,label,predicted_label,predicted_confidence,predicted_outlier"
        with pytest.raises(ColumnError, match="there is a column 'label' already"):
            run(self.task(tmp_path, text, prefix=""), OnlineLearner(K))

    def test_another_number_of_features(self, tmp_path: Path) -> None:
        learner = OnlineLearner(K)
        learner.teach([1.0, 2.0], "a")
        with pytest.raises(ColumnError, match="there are 1 features \\(x\\), but the learner"):
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
            ('{"x": 0}\n{"x": 1, "label": "a"}\n', "out.ndjson", "a row has 'label' of its own"),
            (
                '{"x": 0}\n{"x": 1, "z": 2}\n',
                "out.csv",
                "a row has 'z', which the first one has not",
            ),
            ("", "out.parquet", "there are no rows and no columns"),
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
        with pytest.raises(FormatError, match="give -o FILE"):
            run(
                Task(source, "/dev/null", to="csv"),
                OnlineLearner(K),
                checkpoint=str(tmp_path / "c"),
            )

    def test_ids_are_looked_for_row_by_row(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("labelwalk.streams.examples.RECENT_IDS", 3)
        names = ["a", "b", "a", "c", "d", "e", "a", "b", "e"]
        text = "id,x\n" + "".join(f"{name},{i}\n" for i, name in enumerate(names))
        skipped = []
        for size in (1, 8, 1000):
            monkeypatch.setattr(blocks, "BLOCK", size)
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
        monkeypatch.setattr(blocks, "BLOCK", 2)
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


def wait_until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


LIKE_THE_OTHERS = ("--features=f*", "--label-column=y", "--n-centroids=30")


class TestProcess:
    def start(self, tmp_path: Path, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        settings: dict[str, Any] = {"cwd": tmp_path, "env": ENVIRONMENT, "stderr": subprocess.PIPE}
        command = [*COMMAND, "label", *arguments, *LIKE_THE_OTHERS]
        process: subprocess.Popen[bytes] = subprocess.Popen(command, **(settings | options))
        return process

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_growing_file_is_followed_until_a_signal(
        self, number: signal.Signals, tmp_path: Path
    ) -> None:
        source = write_csv(tmp_path / "in.csv", 50)
        whole = write_csv(tmp_path / "whole.csv", 80).read_text()
        output = tmp_path / "out.csv"
        options = ("--follow", "--model=m.lw", "--checkpoint=c.lw", "-oout.csv")
        process = self.start(tmp_path, "in.csv", *options)
        wait_until(lambda: output.exists() and output.read_text().count("\n") == 51)
        with open(source, "a") as more:
            more.write(whole[len(source.read_text()) :] + "0.5,0.")
        wait_until(lambda: output.read_text().count("\n") == 81)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 128 + number
        assert number.name in said.decode()
        assert load(tmp_path / "m.lw").digest() == by_hand(80)[0].digest()
        assert load(tmp_path / "c.lw").n_seen == 80

    def test_nobody_reads_the_output(self, tmp_path: Path) -> None:
        write_csv(tmp_path / "in.csv", 20_000)
        process = self.start(tmp_path, "in.csv", "--quiet", stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"f0,f1,f2")
        process.stdout.close()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 141
        assert said == b""

    def test_rows_are_answered_as_they_come(self, tmp_path: Path) -> None:
        process = self.start(
            tmp_path, "-", "--quiet", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        for record in records(10):
            process.stdin.write(json.dumps(record).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            assert answer["truth"] == record["truth"]
            assert "confidence" in answer
        with process:
            process.stdin.close()
            assert process.wait(60) == 0

    @pytest.mark.slow
    @pytest.mark.parametrize(("kind", "times"), [("csv", 50), ("parquet", 10)])
    def test_kill_9_again_and_again(self, kind: str, times: int, tmp_path: Path) -> None:
        """The final output equals that of an uninterrupted run: no row missing, none twice."""
        write_csv(tmp_path / "in.csv", MOST)
        silent = {"stderr": subprocess.DEVNULL}
        reference = self.start(tmp_path, "in.csv", f"-owhole.{kind}", "--model=whole.lw", **silent)
        assert reference.wait(300) == 0
        rng = np.random.default_rng(5)
        options = ("--checkpoint=c.lw", "--every=500", f"-oparts.{kind}", "--model=parts.lw")
        kills = 0
        while kills < times:
            process = self.start(tmp_path, "in.csv", *options, **silent)
            try:
                process.wait(float(rng.uniform(0.5, 1.5)))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                kills += 1
                continue
            assert process.returncode == 0
            for made_by_run in ("c.lw", "parts.lw"):
                (tmp_path / made_by_run).unlink()
        assert self.start(tmp_path, "in.csv", *options, **silent).wait(300) == 0
        assert (tmp_path / "parts.lw").read_bytes() == (tmp_path / "whole.lw").read_bytes()
        whole, parts = tmp_path / f"whole.{kind}", tmp_path / f"parts.{kind}"
        if kind == "csv":
            assert parts.read_bytes() == whole.read_bytes()
        else:
            assert pq.read_table(parts).equals(pq.read_table(whole))
        assert not list(tmp_path.glob("*.part*"))
