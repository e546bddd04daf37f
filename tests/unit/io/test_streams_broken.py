"""Broken input: each kind has its message and its exit code, and the model stays as it was."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from labelwalk import OnlineLearner
from labelwalk.cli import app

pytestmark = pytest.mark.shell

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
FULL = "/dev/full"


class Broken(NamedTuple):
    """A kind of broken input: its file, what is in it, and what is to be said."""

    name: str
    content: bytes
    said: str
    code: int = 3
    options: tuple[str, ...] = ()


def parquet(**columns: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def npz(**arrays: object) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def arrow(**columns: object) -> bytes:
    table = pa.table(columns)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


GOOD = b"a,b,label\n1,2,x\n2,3,\n"
KINDS = {
    "NaN": Broken("i.csv", GOOD + b"nan,1,\n", "line 4, column 'a': 'nan' is not a finite number"),
    "infinity": Broken("i.csv", GOOD + b"1,-inf,\n", "line 4, column 'b': '-inf' is not a finite"),
    "1e999": Broken("i.csv", GOOD + b"1e999,1,\n", "'1e999' is not a finite number"),
    "beyond what can be squared": Broken("i.csv", GOOD + b"1e200,1,\n", "'1e200' is not a finite"),
    "text": Broken("i.csv", GOOD + b"one,1,\n", "with --label-column or --id-column"),
    "a comma for a point": Broken("i.csv", GOOD + b'"1,5",1,\n', "'1,5' is not a number"),
    "a missing value": Broken("i.csv", GOOD + b",1,\n", "line 4, column 'a': is missing"),
    "a row too short": Broken("i.csv", GOOD + b"1,2\n", "line 4: 2 fields where 3 are expected"),
    "a row too long": Broken("i.csv", GOOD + b"1,2,,4\n", "line 4: 4 fields where 3 are expected"),
    "an empty file": Broken("i.csv", b"", "is empty. Give a file with a header and rows"),
    "blank lines only": Broken("i.csv", b"\n\n\n", "is empty"),
    "no header": Broken(
        "i.csv", b"1,2\n3,4\n", "begins with numbers, '1, 2', instead of column names"
    ),
    "wrong delimiter": Broken("i.csv", b"a;b\n1;2\n", "If its delimiter is ';'"),
    "names twice": Broken("i.csv", b"a,a\n1,2\n", "has two columns named 'a'"),
    "UTF-16": Broken(
        "i.csv", "a,b\n1,2\n".encode("utf-16"), "is encoded as UTF-16. Save it as UTF-8"
    ),
    "Latin-1": Broken("i.csv", GOOD + b"1,2,\xe9\n", "line 4: is not UTF-8 text"),
    "Latin-1 header": Broken("i.csv", b"\xe9,b\n1,2\n", "the header is not UTF-8 text"),
    "an open quote": Broken("i.csv", GOOD + b'1,"2,\n', "line 4"),
    "unknown column": Broken("i.csv", GOOD, "--features 'c'", 2, ("--features=c",)),
    "unknown label column": Broken("i.csv", GOOD, "--label-column 'y'", 2, ("--label-column=y",)),
    "duplicate ids": Broken(
        "i.csv", b"i,a,b\nq,1,2\nq,2,3\n", "'q' is a duplicate", 3, ("--id-column=i",)
    ),
    "a missing id": Broken(
        "i.csv", b"i,a,b\n,1,2\n", "every row needs an id", 3, ("--id-column=i",)
    ),
    "other features": Broken("i.csv", b"a,b,c\n1,2,3\n", "There are 3 features", 2),
    "truncated gz": Broken("i.csv.gz", gzip.compress(GOOD * 50)[:-20], "damaged or truncated"),
    "no gz at all": Broken("i.csv.gz", GOOD, "damaged or truncated"),
    "no JSON": Broken("i.ndjson", b'{"a": 1, "b": 2}\n{"a": 1,\n', "line 2: is not valid JSON"),
    "JSON, but no object": Broken("i.ndjson", b"[1, 2]\n", "line 1: is not a JSON object"),
    "JSON text for a number": Broken("i.ndjson", b'{"a": "1", "b": 2}\n', "'1' is not a number"),
    "JSON null": Broken("i.ndjson", b'{"a": null, "b": 2}\n', "column 'a': is missing"),
    "JSON NaN": Broken("i.ndjson", b'{"a": NaN, "b": 2}\n', "'nan' is not a finite number"),
    "JSON true": Broken("i.ndjson", b'{"a": true, "b": 2}\n', "'true' is not a number"),
    "a huge whole number": Broken(
        "i.ndjson", b'{"a": 1' + b"0" * 400 + b', "b": 2}\n', "is not a finite number"
    ),
    "a label that is a list": Broken(
        "i.ndjson", b'{"a": 1, "b": 2, "label": [1]}\n', "column 'label': '[1]' is neither text"
    ),
    "lists of other widths": Broken(
        "i.ndjson", b'{"v": [1, 2]}\n{"v": [1]}\n', "'1' numbers where 2 are expected"
    ),
    "Parquet of wrong types": Broken(
        "i.parquet", parquet(a=[b"x"], b=[1.0]), "of type binary is not a number"
    ),
    "Parquet with nulls": Broken(
        "i.parquet", parquet(a=[1.0, None], b=[1.0, 2.0]), "row 2, column 'a': is missing"
    ),
    "no Parquet at all": Broken("i.parquet", GOOD, "is damaged, or does not match its file"),
    "Parquet cut short": Broken(
        "i.parquet", parquet(a=[1.0], b=[2.0])[:-20], "is damaged, or does not"
    ),
    "Arrow cut short": Broken("i.arrows", arrow(a=[1.0], b=[2.0])[:60], "is damaged, or does not"),
    "no NPZ at all": Broken("i.npz", GOOD, "cannot be read as arrays"),
    "NPZ of objects": Broken(
        "i.npz", npz(a=np.array([{}]), b=np.zeros(1)), "cannot be read as arrays"
    ),
    "NPZ of different lengths": Broken(
        "i.npz", npz(a=np.zeros(2), b=np.zeros(3)), "arrays of different lengths"
    ),
    "unknown format": Broken("i.xyz", GOOD, "determine its format. Give --format, one of", 2),
    "an output of unknown format": Broken(
        "i.csv", GOOD, "Give --to, one of csv, tsv, ndjson, parquet, arrows,", 2, ("-oo.xlsx",)
    ),
    "two letters for a delimiter": Broken(
        "i.csv", GOOD, "single character", 2, ("--delimiter=;;",)
    ),
    "a setting out of range": Broken("i.csv", GOOD, "sink=-1.0 is not a number", 2, ("--sink=-1",)),
    "a setting that is no number": Broken(
        "i.csv", GOOD, "sink='much' from --sink", 2, ("--sink=much",)
    ),
    "another setting than the model": Broken(
        "i.csv", GOOD, "has n_centroids=30, not 40", 2, ("--n-centroids=40",)
    ),
    "following what cannot grow": Broken(
        "i.parquet", parquet(a=[1.0], b=[2.0]), "cannot be followed", 2, ("--follow",)
    ),
    "output full": Broken("i.csv", GOOD, "No space left", 1, (f"-o{FULL}", "--to=csv")),
    "output in no folder": Broken("i.csv", GOOD, "No such file", 1, ("-ono/where.csv",)),
    "a format that cannot be written": Broken(
        "i.csv",
        GOOD,
        "npy cannot be written. Choose csv, tsv, ndjson, parquet, arrows with --to.",
        2,
        ("-oo.npy",),
    ),
    "a format that standard output cannot have": Broken(
        "i.csv",
        GOOD,
        "parquet cannot be written to standard output. Choose csv, tsv, ndjson, arrows with --to.",
        2,
        ("-o-", "--to=parquet"),
    ),
    "checkpoint to standard output": Broken(
        "i.csv", GOOD, "Give -o FILE", 2, ("--checkpoint=c.lw", "-o-")
    ),
    "output over the input": Broken(
        "i.csv", GOOD, "input and output are the same", 2, ("-oi.csv",)
    ),
    "output over the model": Broken("i.csv", GOOD, "are the same, m.lw", 2, ("-om.lw", "--to=csv")),
    "no embedding": Broken(
        "i.csv", GOOD, "does not name a function", 2, ("--format=images", "--embed=a:b")
    ),
    "relative embedding": Broken(
        "i.csv", GOOD, "does not name a function", 2, ("--format=images", "--embed=.a:b")
    ),
}


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    learner = OnlineLearner(30)
    learner.teach([[0.0, 0.0], [9.0, 9.0]], ["x", "y"])
    learner.save("m.lw")
    return tmp_path / "m.lw"


@pytest.mark.parametrize("kind", KINDS)
def test_is_refused_with_its_message_and_code(kind: str, model: Path) -> None:
    broken, before = KINDS[kind], model.read_bytes()
    (model.parent / broken.name).write_bytes(broken.content)
    options = ["-oo.csv", *broken.options]
    result = CliRunner().invoke(app, ["label", broken.name, "--model=m.lw", *options])
    assert broken.said in result.stderr, result.stderr
    assert result.exit_code == broken.code
    assert isinstance(result.exception, SystemExit)  # and nothing that nobody expected
    assert model.read_bytes() == before


def test_an_output_outlives_input_that_is_refused(model: Path) -> None:
    Path("o.csv").write_text("what was there before")
    Path("i.csv").write_bytes(GOOD)
    assert CliRunner().invoke(app, ["label", "i.csv", "-oo.csv", "--features=no"]).exit_code == 2
    assert Path("o.csv").read_text() == "what was there before"


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 30


@pytest.mark.parametrize("kind", [name for name, one in KINDS.items() if one.code == 3])
@pytest.mark.slow
def test_rows_can_be_skipped_unless_the_file_is_broken(kind: str, model: Path) -> None:
    """A run either goes on and keeps the row, or ends as it did before."""
    broken = KINDS[kind]
    (model.parent / broken.name).write_bytes(broken.content)
    options = ["--model=m.lw", "-oo.csv", "--on-error=skip", *broken.options]
    result = CliRunner().invoke(app, ["label", broken.name, *options])
    rejects = model.parent / "o.csv.rejects.ndjson"
    if result.exit_code == 0 and "is empty" not in broken.said:
        assert rejects.read_text().count("\n") >= 1
        assert "skipped" in result.stderr
    else:
        assert result.exit_code == 3
        assert broken.said in result.stderr


class TestElsewhere:
    def run(self, *arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, arguments)
        assert isinstance(result.exception, SystemExit)
        return result.exit_code, result.output

    def test_no_such_input(self, model: Path) -> None:
        assert self.run("label", "none.csv") == (
            1,
            "none.csv cannot be read (No such file or directory). Check the path.\n",
        )

    def test_no_such_model(self, model: Path) -> None:
        code, said = self.run("inspect", "none.lw")
        assert code == 1
        assert "none.lw cannot be read (No such file or directory); check the path" in said

    @pytest.mark.parametrize("cut", [slice(0, 0), slice(0, 5), slice(0, 1000), slice(10, None)])
    def test_a_damaged_model(self, cut: slice, model: Path) -> None:
        content = model.read_bytes()[cut]
        model.write_bytes(content)
        for command in (["inspect"], ["ask"], ["predict"], ["explain"]):
            code, said = self.run(*command, "m.lw")
            assert code == 3
            assert "m.lw: " in said
        assert model.read_bytes() == content

    def test_a_folder_without_images(self, model: Path) -> None:
        code, said = self.run("label", ".")
        assert code == 3
        assert "contains no images" in said

    def test_an_address_without_a_topic(self, model: Path) -> None:
        code, said = self.run("label", "kafka://localhost:9092")
        assert code == 2
        assert "Use the form kafka://host:port/topic" in said

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("package", "arguments", "extra"),
        [
            ("confluent_kafka", ["label", "kafka://h:1/t"], "kafka"),
            ("PIL", ["label", "."], "images"),
            ("matplotlib", ["plot", "centroids", "m.lw"], "plot"),
        ],
    )
    def test_a_package_that_is_missing(
        self, package: str, arguments: list[str], extra: str, model: Path
    ) -> None:
        (model.parent / "a.png").write_bytes(b"")
        blocked = (
            f"import sys; sys.modules[{package!r}] = None; from labelwalk.cli import main; main()"
        )
        outcome = subprocess.run(
            [sys.executable, "-c", blocked, *arguments],
            capture_output=True,
            text=True,
            cwd=model.parent,
            env=ENVIRONMENT,
        )
        assert outcome.returncode == 1
        assert f"pip install 'labelwalk[{extra}]'" in outcome.stderr
        assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize(
    "write", [lambda path: path.mkdir(), lambda path: path.write_text("{")], ids=["folder", "text"]
)
def test_a_broken_settings_file(write: Callable[[Path], object], model: Path) -> None:
    write(model.parent / "s.toml")
    (model.parent / "i.csv").write_bytes(GOOD)
    result = CliRunner().invoke(app, ["label", "i.csv", "--config=s.toml"])
    assert result.exit_code == 2
    assert "s.toml" in result.stderr
