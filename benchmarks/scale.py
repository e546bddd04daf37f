"""Two workers of Ray against one core on 10⁷ rows of 64 features, and a cover of 100 000 vertices.

Part "workers": clustered rows, float32, in files of Parquet of 500 000 rows; k = 1000. The single
process is held to one core, with one thread of Arrow and of linear algebra. Times are of the whole
command `labelwalk scale label`, with its start and that of Ray.

Part "large": the stream of the core benchmark, digits drawn between neighbours, 64 features. Per
example: covering with every coarsening, from an empty cover and once it is full, whichever is
slower, plus labelling; solving is told apart. Its reference is the learner with its defaults at
k = 1000 on the same stream, after so many examples that its cover is full. Memory is the most that
a process of its own held, and is compared with that of one with fewer vertices.

With --measurements: each step in this process, on fewer rows, and a whole job here.

All times of a line come from one run on one machine: read the ratios.

    scripts/bench scale [--part workers|large] [--rows N] [--folder FOLDER] [--write FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from _report import Line, Measurement, print_measurements, report  # noqa: E402
from _stream import DigitStream  # noqa: E402
from sklearn.metrics import pairwise_distances_argmin_min  # noqa: E402

from labelwalk import OnlineLearner  # noqa: E402
from labelwalk.distributed import (  # noqa: E402
    Job,
    Sketch,
    Step,
    label,
    merge,
    model_of,
    run,
    sketch,
)

FEATURES, CLASSES, LABELS, NOISE = 64, 20, 4, 0.6
K, FILE_ROWS, FEW_FILES = 1000, 500_000, 2
LARGE_K, FEW, CORE_ROWS = 100_000, 5000, 20_000
NEIGHBOURS = 19  # of a vertex among 100 000 of this stream, on average
LABELLED, BLOCK, CHECKED_VERTICES = 20_000, 1000, 5000


def write_rows(folder: Path, rows: int) -> None:
    """Write clustered rows, some of the first with a label, in files of equal size."""
    for i, table in enumerate(tables(rows)):
        pq.write_table(table, folder / f"{i:03}.parquet", row_group_size=1 << 17)


def tables(rows: int, file_rows: int = FILE_ROWS) -> Iterator[pa.Table]:
    centres = np.random.default_rng(0).standard_normal((CLASSES, FEATURES), dtype=np.float32)
    names = [f"x{j:02}" for j in range(FEATURES)]
    for i in range(-(-rows // file_rows)):
        random, n = np.random.default_rng([1, i]), min(file_rows, rows - i * file_rows)
        truth = random.integers(CLASSES, size=n)
        X = centres[truth] + NOISE * random.standard_normal((n, FEATURES), dtype=np.float32)
        labels = np.full(n, None, dtype=object)
        if i == 0:
            for c in range(CLASSES):
                labels[np.flatnonzero(truth == c)[:LABELS]] = f"class {c}"
        columns = dict(zip(names, np.ascontiguousarray(X.T), strict=True))
        yield pa.table(columns | {"label": pa.array(labels, pa.string()), "truth": truth})


class Ran(NamedTuple):
    """A command that ended well."""

    seconds: float
    mebibytes: float  # the most that one of its processes held


def labelled(source: Path | str, output: Path, workers: int) -> Ran:
    """Run `labelwalk scale label` with workers of Ray, or held to one core without any."""
    command = [sys.executable, "-m", "labelwalk", "scale", "label", str(source), "-o", str(output)]
    command += [f"--n-centroids={K}", "--drop=truth", "--quiet"]
    command += ["--address=local", f"--workers={workers}"] if workers else ["--address=here"]
    begun, most = time.perf_counter(), 0.0
    process = subprocess.Popen(command, env=os.environ | {"ARROW_IO_THREADS": "1"})
    if not workers:
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    while process.poll() is None:
        time.sleep(0.5)
        most = max(most, peak_mebibytes(process.pid, of_workers=workers > 0))
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Ran(time.perf_counter() - begun, most)


def peak_mebibytes(process: int, *, of_workers: bool) -> float:
    """The most memory that a process ever held, or one of its workers on Ray."""
    most, children = 0.0, {process}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            lines = (folder / "status").read_text().splitlines()
            status = dict(line.split(":", 1) for line in lines)
            if int(status["PPid"]) in children:
                children.add(int(folder.name))
            is_worker = (folder / "cmdline").read_bytes().startswith(b"ray::")
            if int(folder.name) in children and is_worker == of_workers:
                most = max(most, int(status["VmHWM"].split()[0]) / 1024)
        except (OSError, KeyError):  # it has ended
            continue
    return most


def same_files(one: Path, other: Path) -> bool:
    """Whether two folders hold the same bytes, read a file at a time."""
    names = sorted(path.name for path in one.iterdir())
    return names == sorted(path.name for path in other.iterdir()) and all(
        (one / name).read_bytes() == (other / name).read_bytes() for name in names
    )


def accuracy(output: Path) -> float:
    right = total = 0
    for path in output.glob("*.parquet"):
        table = pq.read_table(path, columns=["truth", "predicted_label"])
        said = np.array(table["predicted_label"].to_pylist(), dtype=object)
        truth = np.array([f"class {c}" for c in table["truth"].to_pylist()], dtype=object)
        right, total = right + int((said == truth).sum()), total + len(truth)
    return right / total


def workers(rows: int, folder: Path) -> Iterator[Line]:
    """Two workers against one core, on many rows and on few."""
    (folder / "rows").mkdir(parents=True)
    write_rows(folder / "rows", rows)
    few = str(folder / "rows" / f"00[0-{FEW_FILES - 1}].parquet")
    most = list[float]()
    sizes = ("few", min(rows, FEW_FILES * FILE_ROWS), few), ("many", rows, folder / "rows")
    for size, n, source in sizes:
        here = labelled(source, folder / f"{size}-here", 0)
        two = labelled(source, folder / f"{size}-2", 2)
        for who, took in (("one process, one core", here), ("2 workers of Ray", two)):
            figure = f"{took.seconds:.1f} s, {1e6 * took.seconds / n:.1f} µs a row"
            yield Line(f"{n:,} rows, {who}", figure, "told", True)
        same = same_files(folder / f"{size}-here", folder / f"{size}-2")
        said = "the same bytes" if same else "differ"
        yield Line(f"{n:,} rows: files of both", said, "the same bytes", same)
        gain, asked = here.seconds / two.seconds, 1.6 if size == "many" else 0.0
        words = f"≥ {asked} ×" if asked else "told"
        yield Line(f"{n:,} rows: two workers / one core", f"{gain:.2f} ×", words, gain >= asked)
        most.append(two.mebibytes)
    yield Line(
        "most memory of a worker, few rows and many",
        " and ".join(f"{mebibytes:.0f}" for mebibytes in most) + " MiB",
        "at most 1.1 ×",
        most[1] <= 1.1 * most[0],
    )
    yield Line("accuracy", f"{accuracy(folder / 'many-2'):.4f}", "told", True)


def measurements(rows: int) -> Iterator[Measurement]:
    """Measure each step in this process, by the processor's clock, and a whole job."""
    parts = [table.drop_columns(["truth"]) for table in tables(rows, rows // 2)]
    batches = [part.to_batches(max_chunksize=1 << 14) for part in parts]
    settings = OnlineLearner(K).settings
    model_of(sketch([parts[0].slice(0, 3000)], 100), settings)  # compiled
    sketches, sketching = timed(lambda: [sketch(part, K) for part in batches])
    merged, merging = timed(lambda: merge(sketches, K))
    model, solving = timed(lambda: model_of(merged, settings))
    list(label(batches[0][:1], model, prefix="said_"))
    answers, labelling = timed(
        lambda: [list(label(part, model, prefix="said_")) for part in batches]
    )
    truth = [f"class {c}" for table in tables(rows, rows // 2) for c in table["truth"].to_pylist()]
    names = [name for part in answers for one in part for name in one["said_label"].to_pylist()]
    yield Measurement("sketch, µs a row", 1e6 * sketching / rows)
    yield Measurement("merge of two, s", merging)
    yield Measurement("solution, s", solving)
    yield Measurement("label, µs a row", 1e6 * labelling / rows)
    yield Measurement("distortion", merged.distortion)
    yield Measurement("accuracy", float(np.mean(np.array(names) == np.array(truth))), "higher")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        for i, part in enumerate(parts):
            pq.write_table(part, folder / f"rows/{i}.parquet")
        begun = dict[str, float]()

        def watch(step: Step) -> None:
            begun.setdefault(step.what, time.process_time())

        job = Job(str(folder / "rows"), str(folder / "out"), settings)
        _, whole = timed(lambda: run(job, watch=watch))
        ended = time.process_time()
    yield Measurement("whole job, µs a row", 1e6 * whole / rows)
    yield Measurement("whole job: labelling, µs a row", 1e6 * (ended - begun["label"]) / rows)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a call returns, and the seconds of the processor that it took."""
    begun = time.process_time()
    result = call()
    return result, time.process_time() - begun


def core_microseconds(stream: DigitStream) -> float:
    """What the learner with its defaults takes for an example at k = 1000."""
    learner = OnlineLearner(K)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(CORE_ROWS)[0])
    rows = stream.draw(CORE_ROWS)[0]
    begun = time.perf_counter()
    learner.observe(rows)
    return 1e6 * (time.perf_counter() - begun) / len(rows)


def make_batch(rows: np.ndarray, labels: list[str] | None = None) -> pa.RecordBatch:
    columns: dict[str, Any] = {f"x{j:02}": column for j, column in enumerate(rows.T)}
    names = pa.array(labels or [None] * len(rows), pa.string())
    return pa.RecordBatch.from_pydict(columns | {"label": names})


def sketch_stream(stream: DigitStream, n: int, k: int) -> tuple[Sketch, float, float]:
    """Sketch n rows; return the seconds of all of them and of those after the first k."""
    taught, digits = stream.labels()
    started = [0.0, 0.0]  # without the seconds that drawing takes

    def batches() -> Iterator[pa.RecordBatch]:
        yield make_batch(taught, [str(digit) for digit in digits])
        started[0] = time.perf_counter()
        for start in range(0, n, BLOCK):
            if start == k:
                started[1] = time.perf_counter()
            before = time.perf_counter()
            rows, _ = stream.draw(min(BLOCK, n - start))
            drawing = time.perf_counter() - before
            started[0] += drawing
            started[1] += drawing
            yield make_batch(rows)

    result = sketch(batches(), k)
    end = time.perf_counter()
    return result, end - started[0], end - started[1]


def measure_cover(k: int) -> dict[str, float]:
    """Build and solve a cover in this process, on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    settings = OnlineLearner(k).settings
    fresh, truth = DigitStream(seed=1).draw(LABELLED)
    small, _, _ = sketch_stream(DigitStream(), 5000, 2000)
    model_of(small, settings).label(fresh[:100])  # compiled
    n = k + k // 2
    result, whole, once_full = sketch_stream(DigitStream(), n, k)
    begun = time.perf_counter()
    model = model_of(result, settings)
    solving, memory = time.perf_counter() - begun, peak_mebibytes(os.getpid(), of_workers=False)
    begun = time.perf_counter()
    verdicts = model.label(fresh)
    labelling, points = time.perf_counter() - begun, result.cover.points
    others, last = points[: len(points) // 2], points[len(points) // 2 :][-CHECKED_VERTICES:]
    rows = DigitStream().draw(BLOCK)[0]
    return {
        "rows": n,
        "vertices": len(points),
        "sketching": 1e6 * whole / n,
        "once full": 1e6 * once_full / (n - k),
        "solving": solving,
        "labelling": 1e6 * labelling / len(fresh),
        "memory": memory,
        "classes": len(model.classes),
        "accuracy": float((verdicts.label == truth.astype(str)).mean()),
        "certificate": model.certificate,
        "tolerance": float(settings.tolerance),
        "gap": pairwise_distances_argmin_min(last, others)[1].min() / result.cover.radius,
        "farthest": pairwise_distances_argmin_min(rows, points)[1].max() / result.distortion,
        "counted": result.n_seen - len(DigitStream().labels()[0]),
    }


def run_cover(k: int) -> dict[str, float]:
    """Return the figures of `measure_cover` in a process of its own."""
    command = [sys.executable, __file__, "--cover", str(k)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(printed.splitlines()[-1])
    return figures


def large() -> Iterator[Line]:
    """A cover of 100 000 vertices on one core."""
    core = core_microseconds(DigitStream())
    few, many = run_cover(FEW), run_cover(LARGE_K)
    each = max(many["sketching"], many["once full"]) + many["labelling"]
    with_solving = (each + 1e6 * many["solving"] / many["rows"]) / core
    named, n = f"k = {LARGE_K:,}", f"{many['rows']:,}"
    for what, figure in (
        (f"learner, k = {K:,}", f"{core:.0f} µs an example"),
        (f"cover, {named}", f"{many['sketching']:.0f} µs a row"),
        (f"cover, {named}, once full", f"{many['once full']:.0f} µs a row"),
        (f"labels, {named}", f"{many['labelling']:.0f} µs a row"),
        (f"cover, label and the solution spread over {n} rows", f"{with_solving:.1f} × learner"),
        (f"solution on {many['vertices']:,} vertices", f"{many['solving']:.1f} s"),
        (
            f"most memory, k = {FEW:,} and {LARGE_K:,}",
            f"{few['memory']:,.0f} and {many['memory']:,.0f} MiB",
        ),
        ("accuracy on fresh rows", f"{many['accuracy']:.3f}"),
    ):
        yield Line(what, figure, "told", True)
    yield at_most("cover and label / learner", each / core, 60)
    more = 2**20 * (many["memory"] - few["memory"]) / (many["vertices"] - few["vertices"])
    limit = 56 * FEATURES + 40 * NEIGHBOURS + 24 * many["classes"] + 100
    name = f"bytes more for each vertex; each is similar to about {NEIGHBOURS}"
    words = f"> 0, ≤ {limit:,.0f} = 56 d + 40 neighbours + 24 classes + 100"
    yield Line(name, f"{more:,.0f}", words, 0 < more <= limit)
    yield at_most("certificate", many["certificate"], many["tolerance"])
    gap, counted = many["gap"], many["counted"]
    yield Line("least distance of some vertices / radius", f"{gap:.4f}", "≥ 1", gap >= 1)
    yield at_most("farthest of some rows / distortion", many["farthest"], 1)
    yield Line("rows that it stands for", f"{counted:,}", n, counted == many["rows"])


def at_most(what: str, figure: float, limit: float) -> Line:
    return Line(what, f"{figure:.3g}", f"≤ {limit:g}", figure <= limit)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=["workers", "large"])
    parser.add_argument("--rows", type=int, help="10 000 000, or 100 000 with --measurements")
    parser.add_argument(
        "--folder", type=Path, help="with 12 GB free; a temporary one is made there"
    )
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    parser.add_argument(
        "--measurements", action="store_true", help="print one JSON line for each measurement"
    )
    parser.add_argument("--cover", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cover:
        print(json.dumps(measure_cover(asked.cover)))
        return 0
    if asked.measurements:
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        print_measurements(measurements(asked.rows or 100_000))
        return 0

    def lines() -> Iterator[Line]:
        if asked.part != "large":
            with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
                yield from workers(asked.rows or 10_000_000, Path(folder))
        if asked.part != "workers":
            yield from large()

    return report("Scale", __doc__ or "", lines(), asked.write)


if __name__ == "__main__":
    sys.exit(main())
