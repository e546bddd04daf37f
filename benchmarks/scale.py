"""Two workers of Ray against one core on 10⁷ rows of 64 features, and a cover of 100 000 vertices.

Part "workers": clustered rows, float32, in files of Parquet of 500 000 rows; k = 1000. The single
process is held to one core, with one thread of Arrow and of linear algebra. Times are of the whole
command `labelwalk scale label`, with its start and that of Ray.

Part "large": the stream of the core benchmark, digits drawn between neighbours, 64 features. Per
example: covering with every coarsening, from an empty cover and once it is full, whichever is
slower, plus labelling; solving is listed separately. Its reference is the learner with its defaults
at k = 1000 on the same stream, after so many examples that its cover is full. Memory is the most
that a process of its own held, and is compared with that of one with fewer vertices.

With --measurements: each step in this process, on fewer rows, and a whole job here.

All times of a line come from one run on one machine: read the ratios.

    scripts/bench scale [--part workers|large] [--rows N] [--folder FOLDER] [--write FILE]
"""

import filecmp
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from _against import THREAD_VARIABLES

os.environ |= dict.fromkeys(THREAD_VARIABLES, "1")

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
from _report import Line, Measurement, make_parser, print_measurements, report
from _stopwatch import read_memory, time_call
from _stream import DigitStream
from sklearn.metrics import pairwise_distances_argmin_min

from labelwalk import OnlineLearner
from labelwalk.distributed import Job, Sketch, label, merge, model_of, run, sketch

FEATURES, CLASSES, LABELS, NOISE = 64, 20, 4, 0.6
K, FILE_ROWS, FEW_FILES = 1000, 500_000, 2
LARGE_K, FEW, CORE_ROWS = 100_000, 5000, 20_000
NEIGHBOURS = 19  # of a vertex among 100 000 of this stream, on average
LABELLED, BLOCK, CHECKED_VERTICES = 20_000, 1000, 5000


def tables(rows: int, file_rows: int = FILE_ROWS) -> Iterator[pa.Table]:
    """Yield clustered rows in tables of equal size, some of the first with a label."""
    centres = np.random.default_rng(0).standard_normal((CLASSES, FEATURES), dtype=np.float32)
    for i in range(-(-rows // file_rows)):
        random, n = np.random.default_rng([1, i]), min(file_rows, rows - i * file_rows)
        truth = random.integers(CLASSES, size=n)
        X = centres[truth] + NOISE * random.standard_normal((n, FEATURES), dtype=np.float32)
        names = np.array([f"class {c}" for c in range(CLASSES)])[truth]
        labels = np.full(n, None, dtype=object)
        for c in range(CLASSES if i == 0 else 0):
            labels[np.flatnonzero(truth == c)[:LABELS]] = f"class {c}"
        columns = {f"x{j:02}": column for j, column in enumerate(np.ascontiguousarray(X.T))}
        yield pa.table(columns | {"label": pa.array(labels, pa.string()), "truth": names})


def label_files(source: Path | str, output: Path, workers: int) -> tuple[float, float]:
    """Run `labelwalk scale label` with workers of Ray, or held to one core without any.

    Return the seconds, and the most mebibytes that a worker of Ray held.
    """
    command = [sys.executable, "-m", "labelwalk", "scale", "label", str(source), "-o", str(output)]
    command += [f"--n-centroids={K}", "--drop=truth", "--quiet"]
    command += ["--address=local", f"--workers={workers}"] if workers else ["--address=here"]
    begun, most = time.perf_counter(), 0.0
    process = subprocess.Popen(command, env=os.environ | {"ARROW_IO_THREADS": "1"})
    if not workers:
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    while process.poll() is None:
        time.sleep(0.5)
        most = max(most, peak_of_workers(process.pid))
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - begun, most


def peak_of_workers(process: int) -> float:
    """Return the most memory that a worker of Ray among the children of a process ever held."""
    most, children = 0.0, {process}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            parent = (folder / "status").read_text().partition("PPid:")[2].split()[0]
            if int(parent) in children:
                children.add(int(folder.name))
                if (folder / "cmdline").read_bytes().startswith(b"ray::"):
                    most = max(most, read_memory(folder.name, "VmHWM"))
        except (OSError, IndexError):  # it has ended
            continue
    return most


def same_files(one: Path, other: Path) -> bool:
    """Whether two folders hold the same bytes."""
    names = sorted(path.name for path in one.iterdir())
    matches = filecmp.cmpfiles(one, other, names, shallow=False)[0]
    return matches == names == sorted(path.name for path in other.iterdir())


def compare_workers(rows: int, folder: Path) -> Iterator[Line]:
    """Two workers against one core, on many rows and on few."""
    (folder / "rows").mkdir(parents=True)
    for i, table in enumerate(tables(rows)):
        pq.write_table(table, folder / "rows" / f"{i:03}.parquet", row_group_size=1 << 17)
    few = str(folder / "rows" / f"00[0-{FEW_FILES - 1}].parquet")
    most = list[float]()
    sizes = ("few", min(rows, FEW_FILES * FILE_ROWS), few), ("many", rows, folder / "rows")
    for size, n, source in sizes:
        here, _ = label_files(source, folder / f"{size}-here", 0)
        two, mebibytes = label_files(source, folder / f"{size}-2", 2)
        for who, seconds in (("one process, one core", here), ("2 workers of Ray", two)):
            figure = f"{seconds:.1f} s, {1e6 * seconds / n:.1f} µs a row"
            yield Line(f"{n:,} rows, {who}", figure, "reported")
        same = same_files(folder / f"{size}-here", folder / f"{size}-2")
        said = "the same bytes" if same else "differ"
        yield Line(f"{n:,} rows: files of both", said, "the same bytes", same)
        gain, required = here / two, 1.6 if size == "many" else 0.0
        words = f"≥ {required} ×" if required else "reported"
        yield Line(f"{n:,} rows: two workers / one core", f"{gain:.2f} ×", words, gain >= required)
        most.append(mebibytes)
    figure = " and ".join(f"{mebibytes:.0f}" for mebibytes in most) + " MiB"
    what, holds = "most memory of a worker, few rows and many", most[1] <= 1.1 * most[0]
    yield Line(what, figure, "at most 1.1 ×", holds)
    output = pyarrow.dataset.dataset(folder / "many-2", format="parquet")
    table = output.to_table(columns=["truth", "predicted_label"])
    share = measure_accuracy(table["truth"], table["predicted_label"])
    yield Line("accuracy", f"{share:.4f}", "reported")


def measure_accuracy(truth: pa.ChunkedArray, answers: pa.ChunkedArray) -> float:
    return float(pc.mean(pc.equal(truth, answers).fill_null(False)).as_py())


def measurements(rows: int) -> Iterator[Measurement]:
    """Measure each step in this process, by the processor's clock, and a whole job."""
    rows_with_truth = list(tables(rows, rows // 2))
    parts = [table.drop_columns(["truth"]) for table in rows_with_truth]
    batches = [part.to_batches(max_chunksize=1 << 14) for part in parts]
    settings = OnlineLearner(K).settings
    model_of(sketch([parts[0].slice(0, 3000)], 100), settings)  # compiled
    sketches, sketching = time_call(lambda: [sketch(part, K) for part in batches])
    merged, merging = time_call(lambda: merge(sketches, K))
    model, solving = time_call(lambda: model_of(merged, settings))
    list(label(batches[0][:1], model, prefix="said_"))
    answers, labelling = time_call(
        lambda: [batch for part in batches for batch in label(part, model, prefix="said_")]
    )
    truth = pa.concat_tables(rows_with_truth)["truth"]
    said = pa.chunked_array([batch["said_label"] for batch in answers])
    yield Measurement("sketch, µs a row", 1e6 * sketching / rows)
    yield Measurement("merge of two, s", merging)
    yield Measurement("solution, s", solving)
    yield Measurement("label, µs a row", 1e6 * labelling / rows)
    yield Measurement("distortion", merged.distortion)
    yield Measurement("accuracy", measure_accuracy(truth, said), "higher")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        for i, part in enumerate(parts):
            pq.write_table(part, folder / f"rows/{i}.parquet")
        begun = dict[str, float]()
        job = Job(str(folder / "rows"), str(folder / "out"), settings)
        _, whole = time_call(
            lambda: run(job, watch=lambda step: begun.setdefault(step.what, time.process_time()))
        )
        ended = time.process_time()
    yield Measurement("whole job, µs a row", 1e6 * whole / rows)
    yield Measurement("whole job: labelling, µs a row", 1e6 * (ended - begun["label"]) / rows)


def core_microseconds(stream: DigitStream) -> float:
    """What the learner with its defaults takes for an example at k = 1000."""
    learner = OnlineLearner(K)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(CORE_ROWS)[0])
    rows = stream.draw(CORE_ROWS)[0]
    return 1e6 * time_call(lambda: learner.observe(rows), time.perf_counter)[1] / len(rows)


def make_batch(rows: np.ndarray, labels: list[str] | None = None) -> pa.RecordBatch:
    columns: dict[str, Any] = {f"x{j:02}": column for j, column in enumerate(rows.T)}
    names = pa.array(labels or [None] * len(rows), pa.string())
    return pa.RecordBatch.from_pydict(columns | {"label": names})


def sketch_stream(stream: DigitStream, n: int, k: int) -> tuple[Sketch, float, float]:
    """Sketch n rows; return the seconds of all of them and of those after the first k."""
    taught, digits = stream.labels()
    starts, drawing = dict[int, float](), 0.0  # both without the seconds that drawing takes

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal drawing
        yield make_batch(taught, [str(digit) for digit in digits])
        for start in range(0, n, BLOCK):
            size = min(BLOCK, n - start)
            starts[start] = time.perf_counter() - drawing
            rows, seconds = time_call(lambda size=size: stream.draw(size)[0], time.perf_counter)
            drawing += seconds
            yield make_batch(rows)

    result = sketch(batches(), k)
    end = time.perf_counter() - drawing
    return result, end - starts[0], end - starts[k]


def measure_cover(k: int) -> dict[str, float]:
    """Build and solve a cover in this process, on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    settings = OnlineLearner(k).settings
    fresh, truth = DigitStream(seed=1).draw(LABELLED)
    small, _, _ = sketch_stream(DigitStream(), 5000, 2000)
    model_of(small, settings).label(fresh[:100])  # compiled
    n = k + k // 2
    result, whole, once_full = sketch_stream(DigitStream(), n, k)
    model, solving = time_call(lambda: model_of(result, settings), time.perf_counter)
    memory = read_memory(field="VmHWM")
    verdicts, labelling = time_call(lambda: model.label(fresh), time.perf_counter)
    points = result.cover.points
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


def measure_large_cover() -> Iterator[Line]:
    """A cover of 100 000 vertices on one core, in a process of its own, as is one of fewer."""
    core, spawn = core_microseconds(DigitStream()), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        few, many = pool.map(measure_cover, (FEW, LARGE_K))
    each = max(many["sketching"], many["once full"]) + many["labelling"]
    with_solving = (each + 1e6 * many["solving"] / many["rows"]) / core
    named, n = f"k = {LARGE_K:,}", f"{many['rows']:,}"
    memory = f"{few['memory']:,.0f} and {many['memory']:,.0f} MiB"
    for what, figure in (
        (f"learner, k = {K:,}", f"{core:.0f} µs an example"),
        (f"cover, {named}", f"{many['sketching']:.0f} µs a row"),
        (f"cover, {named}, once full", f"{many['once full']:.0f} µs a row"),
        (f"labels, {named}", f"{many['labelling']:.0f} µs a row"),
        (f"cover, label and the solution spread over {n} rows", f"{with_solving:.1f} × learner"),
        (f"solution on {many['vertices']:,} vertices", f"{many['solving']:.1f} s"),
        (f"most memory, k = {FEW:,} and {LARGE_K:,}", memory),
        ("accuracy on fresh rows", f"{many['accuracy']:.3f}"),
    ):
        yield Line(what, figure, "reported")
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


def lines(part: str | None, rows: int, folder: Path | None) -> Iterator[Line]:
    if part != "large":
        with tempfile.TemporaryDirectory(dir=folder) as name:
            yield from compare_workers(rows, Path(name))
    if part != "workers":
        yield from measure_large_cover()


if __name__ == "__main__":
    parser = make_parser(__doc__, measurements=True)
    parser.add_argument("--part", choices=["workers", "large"])
    parser.add_argument("--rows", type=int, help="10 000 000, or 100 000 with --measurements")
    parser.add_argument("--folder", type=Path, help="with 12 GB free, for a temporary folder")
    arguments = parser.parse_args()
    if arguments.measurements:
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        print_measurements(measurements(arguments.rows or 100_000))
        sys.exit()
    figures = lines(arguments.part, arguments.rows or 10_000_000, arguments.folder)
    sys.exit(report("Scale", __doc__, figures, arguments.write))
