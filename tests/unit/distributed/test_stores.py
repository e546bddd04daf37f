"""Stores of objects, over HTTP: a server that speaks S3, and the command as it is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from labelwalk.distributed.filesystem import ATOMIC_STORES
from labelwalk.distributed.job import END_FILE, WORK_FOLDER, run
from tests.service.test_server import free_port
from tests.support.waiting import wait_until
from tests.unit.distributed.test_job import Dying, KilledError, contents, job
from tests.unit.distributed.test_sketch import shard

pytest.importorskip("moto.server")
pytest.importorskip("flask")

pytestmark = [pytest.mark.slow, pytest.mark.shell]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What an address says behind its "?" to reach a store of our own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _answers(f"http://127.0.0.1:{port}/moto-api/"))
        yield f"?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    finally:
        server.kill()
        server.wait()


def _answers(address: str) -> bool:
    try:
        urlopen(address).close()
    except URLError:
        return False
    return True


@pytest.fixture
def bucket(store: str) -> fs.FileSystem:
    """A bucket with rows in it, and the same in a folder called `rows`."""
    system, _ = fs.FileSystem.from_uri(f"s3://bucket{store}&allow_bucket_creation=true")
    system.create_dir("bucket")
    for i in range(3):
        table = pa.Table.from_batches([shard(400, i, labelled=4 if i == 0 else 0)])
        pq.write_table(table, f"bucket/rows/{i}.parquet", filesystem=system)
    return system


def held(system: fs.FileSystem, folder: str) -> dict[str, bytes]:
    found = system.get_file_info(fs.FileSelector(folder, recursive=True))
    files = [info.path for info in found if info.type == fs.FileType.File]
    return {path.removeprefix(f"{folder}/"): system.open_input_file(path).read() for path in files}


def test_the_command_reads_and_writes_them(
    store: str, bucket: fs.FileSystem, tmp_path: Path
) -> None:
    for name, content in held(bucket, "bucket/rows").items():
        (tmp_path / "rows").mkdir(exist_ok=True)
        (tmp_path / "rows" / name).write_bytes(content)
    ends = [f"s3://bucket/rows/*.parquet{store}", "-o", f"s3://bucket/out{store}"]
    options = ["--drop", "truth", "--n-centroids", "60", "--address", "here"]
    command = [sys.executable, "-m", "labelwalk", "scale", "label", *ends, *options]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert told.returncode == 0, told.stderr
    run(job(tmp_path / "rows", tmp_path / "out"))
    here, there = contents(tmp_path / "out"), held(bucket, "bucket/out")
    assert here.keys() == there.keys()
    assert all(here[name] == there[name] for name in here if name != END_FILE)


def test_what_is_done_there_is_not_done_again(store: str, bucket: fs.FileSystem) -> None:
    assert bucket.type_name in ATOMIC_STORES
    rows, out = (f"s3://bucket/{name}{store}" for name in ("rows", "out"))
    with pytest.raises(KilledError):
        run(job(rows, out), Dying(5))
    assert {name.partition("/")[0] for name in held(bucket, "bucket/out")} == {WORK_FOLDER}
    left = Dying(100)
    assert run(job(rows, out), left).tally.rows == 1200
    assert left.done == (3 + 2 + 3) - 5  # sketches, merges, files
    assert WORK_FOLDER not in {name.partition("/")[0] for name in held(bucket, "bucket/out")}
