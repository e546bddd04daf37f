"""The command as a process: signals, pipes, kill -9."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from labelwalk import load
from tests.support.labelled_rows import (
    COMMAND,
    ENVIRONMENT,
    MOST,
    by_hand,
    records,
    write_csv,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.shell


LIKE_THE_OTHERS = ("--features=f*", "--label-column=y", "--n-centroids=30")


class TestProcess:
    def start(self, tmp_path: Path, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        settings: dict[str, Any] = {"cwd": tmp_path, "env": ENVIRONMENT, "stderr": subprocess.PIPE}
        command = [*COMMAND, "label", *arguments, *LIKE_THE_OTHERS]
        process: subprocess.Popen[bytes] = subprocess.Popen(command, **(settings | options))
        return process

    @pytest.mark.slow
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

    @pytest.mark.slow
    def test_nobody_reads_the_output(self, tmp_path: Path) -> None:
        write_csv(tmp_path / "in.csv", 20_000)
        process = self.start(tmp_path, "in.csv", "--quiet", stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"f0,f1,f2")
        process.stdout.close()
        _, said = process.communicate(timeout=60)
        assert process.returncode == 141
        assert said == b""

    @pytest.mark.slow
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
