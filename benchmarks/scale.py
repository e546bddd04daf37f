"""Two workers of Ray against one core on 10⁷ rows of 64 features, and a cover of 100 000 vertices.

Part "workers": clustered rows, float32, in files of Parquet of 500 000 rows; k = 1000. The single
process is held to one core, with one thread of Arrow and of linear algebra. Times are of whole jobs
(both passes, merging, solving, writing), without the start of the process, which is told apart.

Part "large": the stream of the core benchmark, digits drawn between neighbours, 64 features. Per
example: covering with every coarsening, plus labelling; solving is told apart. Its reference
is the learner with its defaults at k = 1000 on the same stream, after so many examples that
its cover is full. Memory is what a cover and its solution take beyond those of half as many
vertices.

All times of a line come from one run on one machine: read the ratios.

    scripts/bench scale [--part workers|large] [--rows N] [--folder FOLDER] [--write FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from _report import Line, report  # noqa: E402
from _stream import DigitStream  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from labelwalk import OnlineLearner  # noqa: E402
from labelwalk.scale.cover import Cover  # noqa: E402
from labelwalk.scale.covers import covered  # noqa: E402
from labelwalk.scale.graph import similarities  # noqa: E402
from labelwalk.scale.model import Model, solved  # noqa: E402
from labelwalk.screen import Screen  # noqa: E402
from labelwalk.settings import Settings  # noqa: E402

FEATURES, CLASSES, LABELS, NOISE = 64, 20, 4, 0.6
K, FILE_ROWS, FEW_FILES = 1000, 500_000, 2
LARGE_K, LARGE_ROWS, LARGE_LABELLED, CORE_ROWS = 100_000, 150_000, 20_000, 20_000
JOB = Path(__file__).parent / "_scale_job.py"


def write_rows(folder: Path, rows: int) -> None:
    """Write clustered rows, some of the first with a label, in files of equal size."""
    centres = np.random.default_rng(0).standard_normal((CLASSES, FEATURES), dtype=np.float32)
    names = [f"x{j:02}" for j in range(FEATURES)]
    for i in range(-(-rows // FILE_ROWS)):
        random, n = np.random.default_rng([1, i]), min(FILE_ROWS, rows - i * FILE_ROWS)
        truth = random.integers(CLASSES, size=n)
        X = centres[truth] + NOISE * random.standard_normal((n, FEATURES), dtype=np.float32)
        labels = np.full(n, None, dtype=object)
        if i == 0:
            for c in range(CLASSES):
                labels[np.flatnonzero(truth == c)[:LABELS]] = f"class {c}"
        columns = dict(zip(names, np.ascontiguousarray(X.T), strict=True))
        table = pa.table(columns | {"label": pa.array(labels, pa.string()), "truth": truth})
        pq.write_table(table, folder / f"{i:03}.parquet", row_group_size=1 << 17)


def job(who: str, given: Path | str, output: Path) -> dict[str, Any]:
    """Do a job in a process of its own."""
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, str(JOB), who, str(given), str(output), str(K)]
    begun = time.perf_counter()
    told: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )
    return told | {"process": time.perf_counter() - begun}


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
    done: dict[str, dict[str, Any]] = {}
    for size, given in (("few", few), ("many", folder / "rows")):
        for who in ("here", "2"):
            done[size + who] = job(who, given, folder / f"{size}-{who}")
            yield _told(who, done[size + who])
        same = same_files(folder / f"{size}-here", folder / f"{size}-2")
        yield Line(
            f"{done[size + who]['rows']:,} rows: files of both",
            "the same bytes" if same else "differ",
            "the same bytes",
            same,
        )
    gain = {
        size: done[size + "here"]["whole"] / done[size + "2"]["whole"] for size in ("few", "many")
    }
    yield Line(
        f"{rows:,} rows: two workers / one core",
        f"{gain['many']:.2f} ×",
        "≥ 1.6 ×",
        gain["many"] >= 1.6,
    )
    with_start = done["fewhere"]["process"] / done["few2"]["process"]
    yield Line(
        f"{done['few2']['rows']:,} rows: two workers / one core",
        f"{gain['few']:.2f} ×, {with_start:.2f} × with the start of Ray and its end "
        f"({done['few2']['process'] - done['few2']['whole']:.1f} s)",
        "told",
        True,
    )
    most = {size: max(done[size + "2"]["memory"]) for size in ("few", "many")}
    yield Line(
        "most memory of a worker, few rows and many",
        f"{most['few']:.0f} and {most['many']:.0f} MiB",
        "at most 1.1 ×",
        most["many"] <= 1.1 * most["few"],
    )
    yield Line("accuracy", f"{accuracy(folder / 'many-2'):.4f}", "told", True)


def _told(who: str, told: dict[str, Any]) -> Line:
    parts = ", ".join(f"{what} {told[what]:.1f}" for what in ("sketch", "merge", "solve", "label"))
    name = "one process, one core" if who == "here" else f"{who} workers of Ray"
    return Line(
        f"{told['rows']:,} rows, {name}",
        f"{told['whole']:.1f} s ({parts}), {1e6 * told['whole'] / told['rows']:.1f} µs a row",
        "told",
        True,
    )


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    found = call()
    return found, time.perf_counter() - begun


def peak() -> float:
    """The most bytes this process ever held."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def core_microseconds(stream: DigitStream) -> float:
    """What the learner with its defaults takes for an example at k = 1000."""
    learner = OnlineLearner(K)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(CORE_ROWS)[0])
    rows = stream.draw(CORE_ROWS)[0]
    return 1e6 * timed(lambda: learner.observe(rows))[1] / len(rows)


def large() -> Iterator[Line]:
    """A cover of 100 000 vertices on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    stream = DigitStream()
    core = core_microseconds(stream)
    yield Line(f"learner, k = {K:,}", f"{core:.0f} µs an example", "told", True)
    rows, labels = stream.draw(LARGE_ROWS)[0], stream.labels()
    fresh, truth = stream.draw(LARGE_LABELLED)
    half = covered([rows[: LARGE_ROWS // 2]], LARGE_K // 2)  # compiles, and is compared with below
    solved(half, *labels, OnlineLearner(LARGE_K // 2).settings)
    before = peak()
    cover, sketching = timed(lambda: covered([rows], LARGE_K))
    sketching *= 1e6 / len(rows)
    yield Line(f"cover, k = {LARGE_K:,}", f"{sketching:.0f} µs a row", "told", True)
    settings = OnlineLearner(LARGE_K).settings
    model, solving = timed(lambda: solved(cover, *labels, settings))
    yield Line(f"solution on {len(cover):,} vertices", f"{solving:.1f} s", "told", True)
    more = (peak() - before) / (len(cover) - len(half))
    model.label(fresh[:100])
    said, labelling = timed(lambda: model.label(fresh))
    labelling *= 1e6 / len(fresh)
    yield Line(f"labels, k = {LARGE_K:,}", f"{labelling:.0f} µs a row", "told", True)
    times = (sketching + labelling) / core
    yield Line("cover and label / learner", f"{times:.1f} ×", "≤ 60 ×", times <= 60)
    yield from memory(model, settings, more)
    yield Line("accuracy on fresh rows", f"{float((said.label == truth).mean()):.3f}", "told", True)
    reached = model.certificate <= settings.tolerance
    yield Line("certificate", f"{model.certificate:.1e}", f"≤ {settings.tolerance:.0e}", reached)
    yield from laws(cover, rows)


def memory(model: Model, settings: Settings, more: float) -> Iterator[Line]:
    """What each vertex takes, from what a cover of half as many took."""
    graph, cut = model.frozen.solved, model.frozen.reach.cut
    edges = similarities(graph.points, graph.bandwidth, cut).nnz / len(graph.points)
    stated = 36 * FEATURES + 40 * edges + 24 * len(model.classes) + 100
    yield Line(
        "bytes more for each vertex more",
        f"{more:,.0f}; similar to {edges:.1f} others",
        f"≤ {stated:,.0f} = 36 d + 40 neighbours + 24 classes + 100",
        more <= stated,
    )
    yield Line("most memory of the process", f"{peak() / 2**20:,.0f} MiB", "told", True)


def laws(cover: Cover, rows: NDArray[Any]) -> Iterator[Line]:
    """Vertices are apart, rows within reach, and each is counted once."""
    screen = Screen(len(cover), cover.n_features)
    screen.put(0, cover.points)
    ages = np.arange(len(cover))
    nearest = screen.nearest(cover.points, cover.points, 1, below=ages)[1][1:, 0].min()
    apart = nearest / cover.radius
    yield Line("least distance of two vertices / radius", f"{apart:.4f}", "≥ 1", apart >= 1)
    away = screen.nearest(rows, cover.points, 1)[1][:, 0].max() / cover.distortion
    yield Line("farthest row / distortion stated", f"{away:.3f}", "≤ 1", away <= 1)
    counted = cover.n_seen == len(rows)
    yield Line("rows that it stands for", f"{cover.n_seen:,}", f"{len(rows):,}", counted)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=["workers", "large"])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument(
        "--folder", type=Path, help="with 12 GB free; a temporary one is made there"
    )
    parser.add_argument("--write", type=Path, help="a Markdown file for the table")
    asked = parser.parse_args()

    def lines() -> Iterator[Line]:
        if asked.part != "large":
            with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
                yield from workers(asked.rows, Path(folder))
        if asked.part != "workers":
            yield from large()

    return report("Scale", __doc__ or "", lines(), asked.write)


if __name__ == "__main__":
    sys.exit(main())
