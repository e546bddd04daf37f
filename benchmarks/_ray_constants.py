"""What Ray costs on this machine: to begin, for each worker, and for each task."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from _constants import labelling, sketching, small_model
from _made_up import write

from labelwalk.distributed import on_ray
from labelwalk.distributed.model import model_to_bytes
from labelwalk.distributed.naming import label_rows
from labelwalk.distributed.on_ray import OnRay
from labelwalk.distributed.places import files_at, place_of
from labelwalk.distributed.tasks import MergeSome, SketchPart, merge_some, sketch_part
from labelwalk.distributed.whole import write_whole

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
    pool = OnRay(n_workers=1)
    start = perf_counter() - begun
    try:
        first = {name: _clock(pool, function, [task]) for name, function, task in kinds}
        alone = min(_clock(pool, sketch_part, [large]) for _ in range(2))
        overhead, few = _nothing(pool, on_ray.AHEAD)
        _, many = _nothing(pool, MANY_AHEAD)
    finally:
        pool.close()
    waiting = max(0.0, many - few) / (MANY_AHEAD - on_ray.AHEAD)
    return RayCosts(start, first, overhead, few, waiting, _together(large) / alone)


def _together(task: SketchPart) -> float:
    """Return how long a task takes where every core has one."""
    pool = OnRay(n_workers=2)
    twin = task._replace(out=place_of(f"{task.out.path}.twin"))
    try:
        return min(_clock(pool, sketch_part, [task, twin]) for _ in range(3))
    finally:
        pool.close()


def _small_tasks(folder: Path) -> list[tuple[str, Callable[[Any], int], Any]]:
    sketch = _sketch_task(folder, 200)
    sketch_part(sketch)
    out, model = (place_of(str(folder / name)) for name in ("out/ray.arrow", "out/ray.lw"))
    made = small_model(D)
    write_whole(model, lambda file: file.write(model_to_bytes(made)))
    named = place_of(str(folder / "out/ray.parquet"))
    return [
        ("sketch", sketch_part, sketch),
        ("merge", merge_some, MergeSome((sketch.out, sketch.out), sketch.budget, out)),
        ("label", label_rows, labelling(sketch.file, D, model, "small", named)),
    ]


def _sketch_task(folder: Path, n: int) -> SketchPart:
    path = folder / f"in/ray-{n}.parquet"
    write(path, n, D)
    out = place_of(str(folder / f"out/ray-{n}.arrow"))
    return sketching(files_at(str(path))[0], D, K, out)


def _clock(pool: OnRay, function: Callable[[Any], int], tasks: list[Any]) -> float:
    begun = perf_counter()
    list(pool.each(function, tasks))
    return perf_counter() - begun


def _nothing(pool: OnRay, ahead: int) -> tuple[float, float]:
    """Return seconds a task by the clock, and of the driver, with so many ahead for each core."""
    before, on_ray.AHEAD = on_ray.AHEAD, ahead
    clock, processor = perf_counter(), process_time()
    try:
        list(pool.each(os.path.basename, ["nothing"] * NO_TASKS))
    finally:
        on_ray.AHEAD = before
    return (perf_counter() - clock) / NO_TASKS, (process_time() - processor) / NO_TASKS
