"""Run every command on small fixed input and return what it writes, in a form that JSON can hold.

`python -m tests.unit.cli.golden_commands` prints the options and results of the present code.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer
from typer.testing import CliRunner

from labelwalk.cli import app

COMMANDS = (
    "label", "teach", "predict", "ask", "explain", "inspect", "merge", "retract", "plot", "serve",
    "restore", "scale label",
)  # fmt: skip
COLUMNS = ("--label-column=kind", "--truth-column=truth")
NOT_COMPARED = ("bytes", "settings")  # of `inspect`: the memory layout, and what options show


def collect_options() -> dict[str, list[str]]:
    """Return the options and arguments of every command."""
    options = {}
    for name in COMMANDS:
        command: Any = typer.main.get_command(app)
        for part in name.split():
            command = command.commands[part]
        options[name] = sorted("/".join(parameter.opts) for parameter in command.params)
    return options


def collect_results() -> dict[str, Any]:
    """Run every command in an empty folder and return what each wrote."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write_inputs()
        return dict(run_commands())


def write_inputs() -> None:
    """Write a stream of three blobs and two outliers, in every format that is read."""
    rng = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for i in range(90):
        kind = "abc"[i % 3]
        x, y = np.round(rng.normal(size=2) + 6.0 * np.array([i % 3, i % 2]), 3).tolist()
        known = kind if i < 9 or i % 20 == 0 else ""
        rows.append({"x": x, "y": y, "who": f"n{i}", "kind": known, "truth": kind})
    rows[40]["x"] = rows[41]["y"] = 500.0
    rows[50]["who"] = 'with "quotes", and a comma'
    for name, delimiter in (("in.csv", ","), ("in.tsv", "\t")):
        with open(name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)
    Path("in.csv.gz").write_bytes(gzip.compress(Path("in.csv").read_bytes(), mtime=0))
    lines = Path("in.csv").read_text("utf-8").splitlines(keepends=True)
    lines[5:5] = ["oops,1.5,n,,a\n", "1,2\n", "1,nan,n,,b\n"]
    Path("bad.csv").write_text("".join(lines), "utf-8")
    objects = [row | {"kind": row["kind"] or None} for row in rows]
    text = "".join(json.dumps(row) + "\n" for row in objects)
    Path("in.ndjson").write_text(text, "utf-8")
    table = pa.Table.from_pylist(objects)
    pq.write_table(table, "in.parquet", row_group_size=40)
    with pa.OSFile("in.arrows", "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=32)
    columns: dict[str, Any] = {
        "f": np.array([[row["x"], row["y"]] for row in rows]),
        "kind": np.array([row["kind"] for row in rows]),
        "truth": np.array([row["truth"] for row in rows]),
    }
    np.savez("in.npz", **columns)


def run_commands() -> Iterator[tuple[str, Any]]:
    """Yield the name of each run with what it wrote."""
    features = "--features=x,y"
    for path in ("in.csv", "in.tsv", "in.csv.gz", "in.ndjson", "in.parquet", "in.arrows"):
        out = path.replace("in.", "out.")
        run("label", path, *COLUMNS, features, f"-o{out}", f"--model={path}.lw")
        yield f"label {path}", read_rows(out)
    run("label", "in.npz", *COLUMNS, "-oout.npz.csv", "--example-ids")
    yield "label in.npz", read_rows("out.npz.csv")
    options = (*COLUMNS, features, "--on-error=skip", "--rejects=rejects", "--prefix=p_")
    run("label", "bad.csv", *options, "-obad.ndjson", "--n-centroids=8")
    yield "label bad.csv", read_rows("bad.ndjson")
    rejects = [json.loads(line) for line in Path("rejects").read_text().splitlines()]
    yield "rejects", [{name: row[name] for name in row if name != "problem"} for row in rejects]
    options = (*COLUMNS, features, "--checkpoint=c.lw", "--every=20", "--id-column=who")
    run("label", "in.csv", *options, "-ochecked.csv")
    assert Path("checked.csv").read_bytes() == Path("out.csv").read_bytes()
    run("label", "in.csv", *options, "-ochecked.csv")
    yield "label with settings", read_output(
        "label", "in.csv", *COLUMNS, features, "--similarity=gaussian", "--bandwidth=2",
        "--threshold=0.01", "--scale=robust", "--prior=a=0.5,b=0.3,c=0.2", "--quarantine=none",
    )  # fmt: skip
    yield (
        "label as in the paper",
        read_output(
            "label",
            "in.csv",
            *COLUMNS,
            features,
            "--profile=paper",
            "--n-centroids=5",
            "--to=ndjson",
        ),
    )
    for to in ("csv", "ndjson", "tsv"):
        yield f"predict {to}", read_output("predict", "in.csv.lw", "in.csv", *COLUMNS, f"--to={to}")
    Path("few.csv").write_text("y,x,label\n0,0,a\n6,6,b\n0.5,12,c\n", "utf-8")
    run("teach", "taught.lw", "few.csv")
    run("label", "in.csv", "--example-ids", "-oids.csv", "--model=taught.lw")
    yield "label after teach", read_rows("ids.csv")
    for by in ("error", "uncertainty", "variance"):
        lines = run("ask", "taught.lw", "-n4", f"--by={by}", "--json").splitlines()
        yield f"ask {by}", [json.loads(line) for line in lines]
    yield "ask table", run("ask", "taught.lw", "-n2").split()
    Path("answers.csv").write_text("example,label\n30,a\n51,c\n", "utf-8")
    run("teach", "taught.lw", "answers.csv", "--by-id=example")
    for path in ("in.csv", "in.ndjson"):
        text = run("explain", "taught.lw", path, "--limit=3", "--json")
        yield f"explain {path}", [json.loads(line) for line in text.splitlines()]
    yield "inspect taught", inspect_model("taught.lw")
    run("retract", "taught.lw", "--example=30")
    run("retract", "taught.lw", "--label=b")
    run("retract", "taught.lw", "--label=c", "--forget")
    yield "inspect retracted", inspect_model("taught.lw")
    run("merge", "in.csv.lw", "in.tsv.lw", "-oboth.lw")
    yield "inspect merged", inspect_model("both.lw")
    for kind, source in (("centroids", "both.lw"), ("accuracy", "out.csv")):
        run("plot", kind, source, f"-o{kind}.svg")
        yield f"plot {kind}", Path(f"{kind}.svg").read_text("utf-8")[:5]


def run(*arguments: str) -> str:
    """Run a command and return what it wrote on standard output."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def read_output(*arguments: str) -> Any:
    """Run a command that writes a file, and return its rows."""
    to = next((a.partition("=")[2] for a in arguments if a.startswith("--to=")), "csv")
    run(*arguments, f"-ofile.{to}")
    return read_rows(f"file.{to}")


def read_rows(path: str) -> Any:
    """Return the rows of an output."""
    if path.endswith(".parquet"):
        return read_table(pq.read_table(path))
    if path.endswith(".arrows"):
        return read_table(pa.ipc.open_stream(Path(path).read_bytes()).read_all())
    content = Path(path).read_bytes()
    return (gzip.decompress(content) if path.endswith(".gz") else content).decode().splitlines()


def read_table(table: pa.Table) -> Any:
    """Return a table as lists, its schema first."""
    schema = [f"{field.name}: {field.type}" for field in table.schema]
    return [schema, *([*row.values()] for row in table.to_pylist())]


def inspect_model(path: str) -> dict[str, Any]:
    """Return what `inspect` says of a learner, without its prose."""
    everything = json.loads(run("inspect", path, "--vertices", "--json"))
    for name in NOT_COMPARED:
        del everything[name]
    for entry in [*everything["health"], *everything["events"]]:
        del entry["meaning"]
    everything["health"] = {entry["name"]: entry for entry in everything["health"]}
    return dict(everything)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    for name, value in (("options", collect_options()), ("results", collect_results())):
        path = Path(sys.argv[1]) / f"{name}.json"
        path.write_text(json.dumps(value, indent=0, ensure_ascii=False) + "\n", "utf-8")
