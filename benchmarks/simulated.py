"""What a job would take on clusters that are not there: constants, a check, and predictions.

The real tasks of `labelwalk.distributed` are run over made-up files (16 and 64 features, 50
clusters), and the constants c of benchmarks/_costs.py are fitted to the seconds of one core. A
simulation
(benchmarks/_cluster.py) of the same tasks predicts whole jobs from them. It is checked against real
ones here: 8 files of 64 features, k = 1000, in this process and by Ray with one and two workers,
its start counted in. What is done here is compared by the seconds of the processor, of which
others who work on the same machine take less; what Ray does, by the clock.

Then it is asked about clusters. Assumed there: a file has 2^20 rows, or fewer where that would be
less than 64 files; 16 workers share 10 Gbit/s; storage gives 10 GB/s and takes 5 GB/s, and tells
the driver of a file in 60 ms, of 16 at a time; speeds differ by 10 %; a worker is lost every 1000
hours, and back in a minute. Percentages are efficiencies: the time of one worker, over workers
times theirs. Constants above k = 20,000 are extrapolated.

    python benchmarks/simulated.py [--write docs/results/simulated.md]
"""

from __future__ import annotations

import os
import sys

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from tempfile import TemporaryDirectory  # noqa: E402
from time import perf_counter, process_time  # noqa: E402

from _cluster import Cluster, Run, simulate  # noqa: E402
from _constants import SETTINGS, Measuring  # noqa: E402
from _costs import Constants, Shape, model_bytes, phases_of, sketch_bytes  # noqa: E402
from _made_up import write_some  # noqa: E402
from _ray_constants import RayCosts, measured  # noqa: E402
from _report import Line, parse, report  # noqa: E402

from labelwalk.distributed.dataset import AT_ONCE, PART  # noqa: E402
from labelwalk.distributed.job import Job, run  # noqa: E402
from labelwalk.distributed.ray_executor import AHEAD, RayExecutor  # noqa: E402

CHECKED, FILES, K = (100_000, 500_000), 8, 1000
WITHIN = 0.2
BEYOND = 10_000  # vertices; twice what laws of merging are fitted to
ROWS, WORKERS, VERTICES = (10**6, 10**7, 10**8, 10**9), (1, 10, 100, 1000), (10**3, 10**4, 10**5)
FEWEST_FILES = 64
OPENING = 0.06  # seconds until a storage over the network has told of a file
HOUR = 3600.0


def in_words(seconds: float) -> str:
    for unit, name in ((86400.0, "d"), (HOUR, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"


def constants_in_words(constants: Constants, ray: RayCosts) -> Iterator[Line]:
    c = constants
    each = {
        "sketch": [c.sketch(2e6, k, 64) - c.sketch(1e6, k, 64) for k in VERTICES],
        "label, of 40 labels": [
            c.label(2e6, k, 40, 64) - c.label(1e6, k, 40, 64) for k in VERTICES
        ],
        "label, of 640": [c.label(2e6, k, 640, 64) - c.label(1e6, k, 640, 64) for k in VERTICES],
    }
    for what, found in each.items():
        told = ", ".join(f"{k:,}: {own:.3g}" for k, own in zip(VERTICES, found, strict=True))
        yield Line(f"{what}, µs a row of 64 features, by k", told, "", True)
    merged = [c.merge(2 * k, k, 64) for k in VERTICES]
    whole = [(c.small if k <= 2000 else c.large)(k, 64) for k in VERTICES]
    for what, found in (("merge 2 sketches, by k", merged), ("solve, by k", whole)):
        told = ", ".join(f"{k:,}: {in_words(s)}" for k, s in zip(VERTICES, found, strict=True))
        yield Line(what, told, "", True)
    for name in ("sketch", "merge", "small", "large", "label"):
        law = getattr(c, name)
        told = ", ".join(f"{value:.3g}" for value in law.constants)
        title = {"small": "solve, dense", "large": "solve, sparse"}.get(name, name)
        yield Line(f"c of {title}", f"{told}; off by {law.error:.0%} at most", "", True)
    told = (
        f"{c.read_bytes:.2f} in, {c.written_bytes:.2f} out, and {c.answer_bytes:.0f} for its answer"
    )
    yield Line("bytes a value, and a row", told, "", True)
    sizes = [f"{k:,}: {sketch_bytes(k, 64) / 1e6:.3g}" for k in VERTICES]
    yield Line("MB of a sketch, by k", ", ".join(sizes), "", True)
    sizes = [f"{k:,}: {model_bytes(k, 64, 10) / 1e6:.3g}" for k in VERTICES]
    yield Line("MB of a model, by k", ", ".join(sizes), "", True)
    told = f"{c.writing / 1e6:.0f} MB/s, {1e3 * c.closing:.1f} ms a file; {1e3 * c.opening:.1f} ms"
    yield Line("written to disk; looking at a file", told, "", True)
    first = ", ".join(f"{name} {own:.2f} s" for name, own in ray.first.items())
    yield Line("Ray: start; first task of a worker", f"{ray.start:.2f} s; {first}", "", True)
    told = (
        f"{1e3 * ray.overhead:.2f} ms; {1e3 * ray.dispatch:.2f} ms and {1e6 * ray.waiting:.3f} µs"
    )
    yield Line("Ray: a task; of the driver, and for each on its way", told, "", True)
    yield Line("where both cores work, a task takes", f"{ray.crowded:.2f} times as long", "", True)


def real(folder: Path, out: Path, workers: int) -> tuple[float, float]:
    """Do a job, by Ray with so many workers or here; return seconds of clock and processor."""
    job = Job(str(folder), str(out), SETTINGS)
    begun, worked = perf_counter(), process_time()
    if not workers:
        run(job)
        return perf_counter() - begun, process_time() - worked
    pool = RayExecutor(n_workers=workers)
    try:
        run(job, pool)
        return perf_counter() - begun, process_time() - worked
    finally:
        pool.close()


def predicted(shape: Shape, workers: int, constants: Constants, ray: RayCosts) -> float:
    """Return the seconds of the same on this machine."""
    if not workers:
        return simulate(phases_of(shape, constants), Cluster(1, writing=constants.writing)).seconds
    cluster = Cluster(
        workers,
        speed=1.0 if workers == 1 else 1.0 / ray.crowded,
        overhead=ray.overhead,
        dispatch=ray.dispatch,
        writing=constants.writing,
    )
    return ray.start + simulate(phases_of(shape, constants, ray.first), cluster).seconds


def beyond(measuring: Measuring, constants: Constants) -> Line:
    """Merge more than the law of merging was fitted to."""
    took = measuring.merge(BEYOND, 2, 64)
    guess = constants.merge(2 * BEYOND, BEYOND, 64)
    told = f"{took:.2f} s, predicted {guess:.2f} s: {guess / took - 1:+.0%}"
    reached = abs(guess / took - 1) <= WITHIN
    return Line(f"merge 2 sketches, k = {BEYOND:,}", told, f"within {WITHIN:.0%}", reached)


def checks(folder: Path, constants: Constants, ray: RayCosts) -> Iterator[Line]:
    who = {0: "here", 1: "Ray, 1 worker", 2: "Ray, 2 workers"}
    for rows in CHECKED:
        files = write_some(folder / f"rows-{rows}", rows, FILES, 64)
        for workers, name in who.items():
            clock, processor = real(files, folder / f"labelled-{rows}-{workers}", workers)
            took, by = (clock, "clock") if workers else (processor, "processor")
            guess = predicted(Shape(rows, FILES, K), workers, constants, ray)
            told = f"{took:.2f} s by the {by}, predicted {guess:.2f} s: {guess / took - 1:+.0%}"
            reached = abs(guess / took - 1) <= WITHIN
            yield Line(f"{rows:,} rows, {name}", told, f"within {WITHIN:.0%}", reached)


def cluster_of(workers: int, ray: RayCosts) -> Cluster:
    """Return a cluster that might be."""
    return Cluster(
        workers,
        spread=0.1,
        overhead=ray.overhead,
        dispatch=ray.dispatch + AHEAD * workers * ray.waiting,
        reading=10e9,
        writing=5e9,
        network=1.25e9 / min(16, workers),
        loss=1.0 / (1000 * HOUR),
        recovery=60.0,
    )


def shape_of(rows: int, k: int, fan_in: int = 2) -> Shape:
    return Shape(rows, max(FEWEST_FILES, rows // PART), k, fan_in=fan_in)


def predictions(constants: Constants, ray: RayCosts) -> Iterator[Line]:
    far = constants._replace(opening=OPENING / AT_ONCE)

    def done(shape: Shape, workers: int) -> Run:
        return simulate(phases_of(shape, far, ray.first), cluster_of(workers, ray))

    for k in VERTICES:
        for rows in ROWS:
            runs = {workers: done(shape_of(rows, k), workers) for workers in WORKERS}
            alone = runs[1].seconds
            told = ", ".join(
                f"{workers}: {in_words(own.seconds)} ({alone / own.seconds / workers:.0%})"
                for workers, own in runs.items()
            )
            yield Line(f"k = {k:,}, {rows:,} rows, by workers", told, "", True)
            last = runs[WORKERS[-1]]
            shares = ", ".join(f"{name} {in_words(own)}" for name, own in last.phases.items())
            told = f"{shares}; {last.bytes / 1e9:.3g} GB"
            yield Line(f"… {WORKERS[-1]} workers, by phase; over the network", told, "", True)
    for fan_in in (2, 3, 4):
        own = done(shape_of(ROWS[-1], VERTICES[-1], fan_in), WORKERS[-1])
        told = f"{in_words(own.phases['merge'])} of {in_words(own.seconds)}"
        yield Line(f"the last of these, {fan_in} sketches a merge: merging", told, "", True)


def lines() -> Iterator[Line]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        measuring = Measuring(folder)
        constants, ray = measuring.constants(), measured(folder)
        yield from constants_in_words(constants, ray)
        yield beyond(measuring, constants)
        yield from checks(folder, constants, ray)
        yield from predictions(constants, ray)


def main() -> int:
    arguments = parse(__doc__ or "", data=False)
    return report("Jobs on clusters that are not there", __doc__ or "", lines(), arguments.write)


if __name__ == "__main__":
    sys.exit(main())
