"""Ray does the tasks: the same bytes whoever works, and whoever is killed while at it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelwalk.distributed import dataset
from labelwalk.distributed.job import END_FILE, WORK_FOLDER, Step, run
from labelwalk.io.rows import InputError
from tests.unit.distributed.test_job import contents, job, spoil
from tests.unit.distributed.test_sketch import shard

pytest.importorskip("ray")
import ray
from ray._private import services
from ray.cluster_utils import Cluster

from labelwalk.distributed import ray_executor
from labelwalk.distributed.ray_executor import RayExecutor

pytestmark = pytest.mark.slow
FILES, ROWS, PART = 24, 20_000, 8000
KILLS = {b"sketch_part": 4, b"merge_sketches": 2, b"label_rows": 4, b"join_parts": 2}
PAUSE = {b"sketch_part": 0.4, b"merge_sketches": 0.02, b"label_rows": 0.4, b"join_parts": 0.02}
LISTEN, LOOPBACK = "0A", "0100007F"
MAPPED_LOOPBACK = "0000000000000000FFFF0000" + LOOPBACK

DRIVER = """
import sys
from pathlib import Path
from labelwalk.distributed import dataset
from labelwalk.distributed.job import run
from labelwalk.distributed.ray_executor import RayExecutor
from tests.unit.distributed.test_job import job
dataset.PART_ROWS = int(sys.argv[3])
run(job(Path(sys.argv[1]), Path(sys.argv[2])), RayExecutor(n_workers=2))
"""


@pytest.fixture(scope="module", autouse=True)
def small_parts() -> Iterator[None]:
    """Jobs are planned here: what a part is has to be said to no worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "PART_ROWS", PART)
        yield


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of one part, and every third one of several, which are joined."""
    folder = tmp_path_factory.mktemp("rows")
    for i in range(FILES):
        table = pa.Table.from_batches([shard(ROWS, i, labelled=4 if i == 0 else 0)])
        group = PART // 2 if i % 3 == 0 else ROWS
        pq.write_table(table, folder / f"{i:02}.parquet", row_group_size=group)
    return folder


@pytest.fixture(scope="module")
def whole(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What comes out where nothing goes wrong, in one process."""
    out = tmp_path_factory.mktemp("whole") / "out"
    run(job(rows, out))
    return contents(out)


@pytest.fixture
def pool() -> Iterator[RayExecutor]:
    pool = RayExecutor(n_workers=2)
    yield pool
    pool.close()


def processes(*names: bytes) -> list[Path]:
    """Return the processes whose commands are so called."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().partition(b"\0")[0]
        except OSError:
            continue
        if os.path.basename(command).startswith(names):
            found.append(process)
    return found


def workers(task: bytes) -> list[int]:
    """Return the processes that do such tasks now for us: others may use Ray here too."""
    busy = processes(b"ray::" + task)
    return [int(process.name) for process in busy if os.getpid() in ancestors(process)]


def ancestors(process: Path) -> list[int]:
    """Return who started a process, and who started that, and so on; nobody once it has ended."""
    try:
        status = (process / "status").read_text()
    except OSError:
        return []
    parent = int(status.partition("PPid:")[2].split()[0])
    return [parent, *ancestors(process.with_name(str(parent)))] if parent > 0 else []


def listened_at(process: Path) -> set[str]:
    """Return the addresses a process listens at, as Linux writes them."""
    sockets = {os.readlink(file) for file in (process / "fd").iterdir() if file.is_symlink()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (process / "net" / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1].partition(":")[0])
    return found


def test_the_bytes_are_those_of_one_process(
    rows: Path, whole: dict[str, bytes], tmp_path: Path, pool: RayExecutor
) -> None:
    run(job(rows, tmp_path / "out"), pool)
    assert contents(tmp_path / "out") == whole


def test_workers_that_are_killed_change_nothing(
    rows: Path, whole: dict[str, bytes], tmp_path: Path, pool: RayExecutor
) -> None:
    random, done = np.random.default_rng(0), threading.Event()
    killed = Counter[bytes]()

    def kill() -> None:
        for task, times in KILLS.items():
            while killed[task] < times and not done.wait(random.uniform(0, PAUSE[task])):
                some = workers(task)
                with suppress(ProcessLookupError):
                    if some:
                        os.kill(some[random.integers(len(some))], signal.SIGKILL)
                        killed[task] += 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        outcome = run(job(rows, tmp_path / "out"), pool)
    finally:
        done.set()
        killer.join()
    assert killed == KILLS
    assert outcome.tally.rows == FILES * ROWS
    assert contents(tmp_path / "out") == whole


def test_a_driver_that_is_killed_goes_on(
    rows: Path, whole: dict[str, bytes], tmp_path: Path, pool: RayExecutor
) -> None:
    pool.close()
    out = tmp_path / "out"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(rows), str(out), str(PART)], start_new_session=True
    )
    begun = time.monotonic()
    while len(list((out / WORK_FOLDER).glob("*/sketches/*.arrow"))) < FILES // 2:
        assert driver.poll() is None
        assert time.monotonic() < begun + 120
        time.sleep(0.02)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    assert not (out / END_FILE).exists()
    n_done = len(list((out / WORK_FOLDER).glob("*/sketches/*.arrow")))
    outcome = run(job(rows, out))
    assert n_done >= FILES // 2
    assert outcome.tally.rows == FILES * ROWS
    assert contents(out) == whole


def test_a_task_that_takes_its_worker_along_is_told_in_the_end(
    pool: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_executor, "MAX_ATTEMPTS", 1)
    with pytest.raises(ConnectionError, match=r"a task was lost in each of 1 attempts .* memory"):
        list(pool.map(lambda code: os._exit(code), [1]))


def test_a_fault_of_the_input_is_told_as_here(tmp_path: Path, pool: RayExecutor) -> None:
    (tmp_path / "in").mkdir()
    spoil(tmp_path / "in" / "z.parquet", b=pa.array([None], pa.float64()))
    with pytest.raises(InputError, match=r"^z.parquet, row 1, column 'b': is missing"):
        run(job(tmp_path / "in", tmp_path / "out"), pool)


@pytest.mark.parametrize(
    ("address", "error", "said"),
    [
        ("127.0.0.1:1", ConnectionError, r"No cluster answers at 127\.0\.0\.1:1 \(.*refused\)"),
        ("nowhere.invalid:6379", ConnectionError, r"No cluster answers at nowhere.invalid:6379"),
        ("ray", ValueError, r"address='ray' is invalid"),
    ],
)
def test_a_cluster_that_is_not_there_is_told(
    address: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        RayExecutor(address)


def test_where_no_cluster_runs_that_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(services, "find_gcs_addresses", cache(set))  # others run here, perhaps,
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))  # and have left word where
    with pytest.raises(ConnectionError, match=r"Cannot join a cluster at auto .*ray start"):
        RayExecutor("auto")


def test_a_process_joins_one_cluster(pool: RayExecutor) -> None:
    with pytest.raises(RuntimeError, match="already joined a cluster"):
        RayExecutor()


def test_machines_with_another_labelwalk_are_refused(
    pool: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_executor, "__version__", "0.0.1")
    with pytest.raises(ValueError, match=r"but 0.0.1 where the job was started"):
        list(pool.map(os.path.basename, ["a/b"]))


def test_a_cluster_has_the_workers_it_has() -> None:
    with pytest.raises(ValueError, match=r"n_workers=3 cannot be set for the cluster at auto"):
        RayExecutor("auto", 3)


def test_nobody_listens_beyond_this_machine(pool: RayExecutor) -> None:
    assert list(pool.map(os.path.basename, ["a/b"])) == ["b"]
    listening = {
        address
        for process in processes(b"ray::", b"gcs_server", b"raylet")
        if os.getpid() in ancestors(process)
        for address in listened_at(process)
    }
    assert listening
    assert listening <= {LOOPBACK, MAPPED_LOOPBACK}


@pytest.mark.parametrize("known", [{"RAY_AUTH_TOKEN": "wrong" * 8}, {"RAY_AUTH_MODE": "disabled"}])
def test_strangers_are_not_let_in(known: dict[str, str], pool: RayExecutor) -> None:
    address = ray.get_runtime_context().gcs_address
    assert address.startswith("127.0.0.1:")
    join = f"from labelwalk.distributed.ray_executor import RayExecutor; RayExecutor({address!r})"
    told = subprocess.run(
        [sys.executable, "-c", join],
        env=os.environ | known,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert told.returncode != 0
    assert f"Cannot join a cluster at {address}" in told.stderr


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A first machine that does no tasks, and two that do."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    yield cluster
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


def test_a_machine_that_is_lost_changes_nothing(
    rows: Path, whole: dict[str, bytes], tmp_path: Path, cluster: Cluster
) -> None:
    pool, lost, out = RayExecutor(cluster.address), threading.Event(), tmp_path / "out"

    def lose(step: Step) -> None:
        if step.what == "label" and step.done == 2 and not lost.is_set():
            lost.set()
            cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)

    outcome = run(job(rows, out), pool, lose)
    assert lost.is_set()
    assert outcome.tally.rows == FILES * ROWS
    assert contents(out) == whole
