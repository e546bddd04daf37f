"""Two workers of Ray against one core on 10⁷ rows of 64 features, and a cover of 100 000 vertices.

Part "workers": clustered rows, float32, in files of Parquet of 500 000 rows; k = 1000. The single
process is held to one core, with one thread of Arrow and of linear algebra. Times are of whole jobs
(both passes, merging, solving, writing), without the start of the process, which is told apart.

Part "large": the stream of the core benchmark, digits drawn between neighbours, 64 features. Per
example: covering with every coarsening, from an empty cover and once it is full, whichever is
slower, plus labelling; solving is told apart. Its reference is the learner with its defaults at
k = 1000 on the same stream, after so many examples that its cover is full. Memory is the most that
a process of its own held, without its rows, and is compared with that of one with fewer vertices.

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from _report import Line, report  # noqa: E402
from _stream import DigitStream  # noqa: E402

from labelwalk import OnlineLearner  # noqa: E402

FEATURES, CLASSES, LABELS, NOISE = 64, 20, 4, 0.6
K, FILE_ROWS, FEW_FILES = 1000, 500_000, 2
LARGE_K, FEW, CORE_ROWS = 100_000, 5000, 20_000
JOB, LARGE_COVER = (
    Path(__file__).with_name(f"_{name}.py") for name in ("scale_job", "large_cover")
)


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


def told_by(script: Path, *arguments: object) -> dict[str, Any]:
    """Run something in a process of its own, and return what it tells and how long it took."""
    command = [sys.executable, str(script), *map(str, arguments)]
    begun = time.perf_counter()
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    told: dict[str, Any] = json.loads(said.splitlines()[-1])
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
            done[size + who] = told_by(JOB, who, given, folder / f"{size}-{who}", K)
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


def core_microseconds(stream: DigitStream) -> float:
    """What the learner with its defaults takes for an example at k = 1000."""
    learner = OnlineLearner(K)
    learner.teach(*stream.labels())
    learner.observe(stream.draw(CORE_ROWS)[0])
    rows = stream.draw(CORE_ROWS)[0]
    begun = time.perf_counter()
    learner.observe(rows)
    return 1e6 * (time.perf_counter() - begun) / len(rows)


def large() -> Iterator[Line]:
    """A cover of 100 000 vertices on one core."""
    core = core_microseconds(DigitStream())
    yield Line(f"learner, k = {K:,}", f"{core:.0f} µs an example", "told", True)
    few, many = (told_by(LARGE_COVER, k) for k in (FEW, LARGE_K))
    named = f"k = {LARGE_K:,}"
    yield Line(f"cover, {named}", f"{many['sketching']:.0f} µs a row", "told", True)
    yield Line(f"cover, {named}, once full", f"{many['once full']:.0f} µs a row", "told", True)
    yield Line(f"labels, {named}", f"{many['labelling']:.0f} µs a row", "told", True)
    each = max(many["sketching"], many["once full"]) + many["labelling"]
    times = each / core
    yield Line("cover and label / learner", f"{times:.1f} ×", "≤ 60 ×", times <= 60)
    with_solving = (each + 1e6 * many["solving"] / many["rows"]) / core
    spread = f"the same, with the solution spread over {many['rows']:,} rows"
    yield Line(spread, f"{with_solving:.1f} ×", "told", True)
    solving = f"{many['solving']:.1f} s"
    yield Line(f"solution on {many['vertices']:,} vertices", solving, "told", True)
    yield from memory(few, many)
    yield Line("accuracy on fresh rows", f"{many['accuracy']:.3f}", "told", True)
    yield at_most("certificate", many["certificate"], many["tolerance"])
    apart = many["apart"]
    yield Line("least distance of two vertices / radius", f"{apart:.4f}", "≥ 1", apart >= 1)
    yield at_most("farthest row / distortion stated", many["away"], 1)
    counted, rows = many["counted"], many["rows"]
    yield Line("rows that it stands for", f"{counted:,}", f"{rows:,}", counted == rows)


def memory(few: dict[str, Any], many: dict[str, Any]) -> Iterator[Line]:
    """What vertices take beyond what a process with few of them does."""
    more = (many["memory"] - few["memory"]) / (many["vertices"] - few["vertices"])
    stated = 56 * FEATURES + 40 * many["neighbours"] + 24 * many["classes"] + 100
    yield Line(
        f"most memory, k = {FEW:,} and {LARGE_K:,}",
        f"{few['memory'] / 2**20:,.0f} and {many['memory'] / 2**20:,.0f} MiB",
        "told",
        True,
    )
    yield Line(
        f"bytes more for each vertex; each is similar to {many['neighbours']:.1f}",
        f"{more:,.0f}",
        f"> 0, ≤ {stated:,.0f} = 56 d + 40 neighbours + 24 classes + 100",
        0 < more <= stated,
    )


def at_most(what: str, found: float, limit: float) -> Line:
    return Line(what, f"{found:.3g}", f"≤ {limit:g}", found <= limit)


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
