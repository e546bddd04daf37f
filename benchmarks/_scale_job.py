"""One job in a process of its own: `python _scale_job.py here|N INPUT OUTPUT K`, told as JSON.

"here" is this process, held to one core; N is so many workers of Ray.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import pyarrow as pa  # noqa: E402

from labelwalk import OnlineLearner  # noqa: E402
from labelwalk.scale.job import Job, Step, run  # noqa: E402
from labelwalk.scale.pools import Here, Pool  # noqa: E402
from labelwalk.streams.columns import Columns  # noqa: E402


class Clock:
    """When each step of a job began."""

    def __init__(self) -> None:
        self.begun: dict[str, float] = {}

    def __call__(self, step: Step) -> None:
        self.begun.setdefault(step.what, time.perf_counter())

    def seconds(self, what: str, until: str | None) -> float:
        end = self.begun[until] if until else time.perf_counter()
        return end - self.begun[what]


def number_of(process: str, what: str) -> int:
    """What Linux says of a process."""
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines()
    )
    return int(status[what].split()[0])


def peak_mebibytes(process: str) -> float:
    """The most memory a process ever held that is its own."""
    return number_of(process, "VmHWM") / 1024


def is_ours(process: str) -> bool:
    """Whether we began a process, or one that began it: others may use Ray here too."""
    while process not in ("0", str(os.getpid())):
        process = str(number_of(process, "PPid"))
    return process != "0"


def worker_peaks() -> list[float]:
    """The most memory of each process that did our tasks on Ray."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            works = (process / "cmdline").read_bytes().startswith(b"ray::")
            if works and is_ours(process.name):
                found.append(peak_mebibytes(process.name))
        except OSError:
            continue
    return found


def pool_of(who: str) -> Pool:
    if who == "here":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        return Here()
    from labelwalk.scale.on_ray import OnRay

    return OnRay(n_workers=int(who))


def main() -> None:
    who, given, output, k = sys.argv[1:]
    pool, clock = pool_of(who), Clock()
    begun = time.perf_counter()
    columns = Columns(drop=("truth",))
    outcome = run(Job(given, output, OnlineLearner(int(k)).settings, columns), pool, clock)
    told = {
        "whole": time.perf_counter() - begun,
        "sketch": clock.seconds("sketch", "merge"),
        "merge": clock.seconds("merge", "solve"),
        "solve": clock.seconds("solve", "label"),
        "label": clock.seconds("label", None),
        "memory": [peak_mebibytes("self")] if who == "here" else worker_peaks(),
        "rows": outcome.tally.rows,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
