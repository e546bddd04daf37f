"""What Ray costs on this machine: to begin, for each worker, and for each task."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from _constants import labelling, sketching, small_model
from _made_up import write

from labelwalk.distributed import ray_executor
from labelwalk.distributed.filesystem import find_files, parse_location, write_file
from labelwalk.distributed.label_files import label_rows
from labelwalk.distributed.model import model_to_bytes
from labelwalk.distributed.ray_executor import RayExecutor
from labelwalk.distributed.sketch_files import MergeTask, SketchTask, merge_sketches, sketch_part

D, K, ROWS = 64, 1000, 200_000
NO_TASKS, MANY_AHEAD = 1000, 500


class RayCosts(NamedTuple):
    """Seconds."""

    start: float
    first: dict[str, float]  # until a worker has done its first task of each kind
    overhead: float  # a task, from one to the next on one worker
    dispatch: float  # a task, of the driver's processor, with few on their way
    waiting: float  # the same for each task that is on its way
    crowded: float  # times as long a task takes where all cores work


def measured(folder: Path) -> RayCosts:
    """Start Ray, give it tasks that do nothing, and some that do."""
    kinds, large = _small_tasks(folder), _sketch_task(folder, ROWS)
    begun = perf_counter()
    pool = RayExecutor(n_workers=1)
    start = perf_counter() - begun
    try:
        first = {name: _clock(pool, function, [task]) for name, function, task in kinds}
        alone = min(_clock(pool, sketch_part, [large]) for _ in range(2))
        overhead, few = _nothing(pool, ray_executor.QUEUED_PER_CORE)
        _, many = _nothing(pool, MANY_AHEAD)
    finally:
        pool.close()
    waiting = max(0.0, many - few) / (MANY_AHEAD - ray_executor.QUEUED_PER_CORE)
    return RayCosts(start, first, overhead, few, waiting, _together(large) / alone)


def _together(task: SketchTask) -> float:
    """Return how long a task takes where every core has one."""
    pool = RayExecutor(n_workers=2)
    twin = task._replace(out=parse_location(f"{task.out.path}.twin"))
    try:
        return min(_clock(pool, sketch_part, [task, twin]) for _ in range(3))
    finally:
        pool.close()


def _small_tasks(folder: Path) -> list[tuple[str, Callable[[Any], int], Any]]:
    sketch = _sketch_task(folder, 200)
    sketch_part(sketch)
    out, model = (parse_location(str(folder / name)) for name in ("out/ray.arrow", "out/ray.lw"))
    made = small_model(D)
    write_file(model, lambda file: file.write(model_to_bytes(made)))
    named = parse_location(str(folder / "out/ray.parquet"))
    return [
        ("sketch", sketch_part, sketch),
        ("merge", merge_sketches, MergeTask((sketch.out, sketch.out), sketch.budget, out)),
        ("label", label_rows, labelling(sketch.file, D, model, "small", named)),
    ]


def _sketch_task(folder: Path, n: int) -> SketchTask:
    path = folder / f"in/ray-{n}.parquet"
    write(path, n, D)
    out = parse_location(str(folder / f"out/ray-{n}.arrow"))
    return sketching(find_files(str(path))[0], D, K, out)


def _clock(pool: RayExecutor, function: Callable[[Any], int], tasks: list[Any]) -> float:
    begun = perf_counter()
    list(pool.map(function, tasks))
    return perf_counter() - begun


def _nothing(pool: RayExecutor, ahead: int) -> tuple[float, float]:
    """Return seconds a task by the clock, and of the driver, with so many ahead for each core."""
    before, ray_executor.QUEUED_PER_CORE = ray_executor.QUEUED_PER_CORE, ahead
    clock, processor = perf_counter(), process_time()
    try:
        list(pool.map(os.path.basename, ["nothing"] * NO_TASKS))
    finally:
        ray_executor.QUEUED_PER_CORE = before
    return (perf_counter() - clock) / NO_TASKS, (process_time() - processor) / NO_TASKS
