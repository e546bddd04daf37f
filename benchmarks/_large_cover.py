"""A cover and its solution in a process of its own, on one core, told as JSON.

python _large_cover.py K
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import pyarrow as pa  # noqa: E402
from _stream import DigitStream  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from sklearn.metrics import pairwise_distances_argmin_min  # noqa: E402

from labelwalk import OnlineLearner  # noqa: E402
from labelwalk.distributed import Sketch, model_of, sketch  # noqa: E402

LABELLED, BLOCK, LOOKED_AT = 20_000, 1000, 5000


def batch(rows: NDArray[Any], labels: list[str | None] | None = None) -> pa.RecordBatch:
    columns: dict[str, Any] = {f"x{j:02}": column for j, column in enumerate(rows.T)}
    names = pa.array(labels or [None] * len(rows), pa.string())
    return pa.RecordBatch.from_pydict(columns | {"label": names})


def peak_mebibytes() -> float:
    """The most memory that this process ever held, as Linux tells it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    result = call()
    return result, time.perf_counter() - begun


def sketched(stream: DigitStream, n: int, k: int) -> tuple[Sketch, float, float]:
    """Sketch n rows, and time the first k apart from those after them, without drawing any."""
    taught, digits = stream.labels()
    begun, drawing = [0.0, 0.0], [0.0, 0.0]

    def batches() -> Iterator[pa.RecordBatch]:
        yield batch(taught, [str(digit) for digit in digits])
        begun[0] = time.perf_counter()
        for start in range(0, n, BLOCK):
            if start == k:
                begun[1] = time.perf_counter()
            drawn, seconds = timed(partial(stream.draw, min(BLOCK, n - start)))
            drawing[start >= k] += seconds
            yield batch(drawn[0])

    found = sketch(batches(), k)
    filling, once_full = begun[1] - begun[0], time.perf_counter() - begun[1]
    return found, filling - drawing[0], once_full - drawing[1]


def laws(found: Sketch, rows: NDArray[Any]) -> dict[str, float]:
    """How near some vertices come to others, how far some rows are, and how many are counted."""
    points = found.cover.points
    others, last = points[: len(points) // 2], points[len(points) // 2 :][-LOOKED_AT:]
    return {
        "apart": float(pairwise_distances_argmin_min(last, others)[1].min() / found.cover.radius),
        "away": float(pairwise_distances_argmin_min(rows, points)[1].max() / found.distortion),
        "counted": found.cover.n_seen,
    }


def main() -> None:
    k = int(sys.argv[1])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    settings = OnlineLearner(k).settings
    fresh, truth = DigitStream(seed=1).draw(LABELLED)
    small, _, _ = sketched(DigitStream(), 5000, 2000)
    model_of(small, settings).label(fresh[:100])  # compiled
    n = k + k // 2
    found, filling, once_full = sketched(DigitStream(), n, k)
    model, solving = timed(lambda: model_of(found, settings))
    memory = peak_mebibytes() * 2**20
    verdicts, labelling = timed(lambda: model.label(fresh))
    stream = DigitStream()
    told = {
        "rows": n,
        "vertices": len(found.cover),
        "sketching": 1e6 * (filling + once_full) / n,
        "once full": 1e6 * once_full / (n - k),
        "solving": solving,
        "labelling": 1e6 * labelling / len(fresh),
        "memory": memory,
        "classes": len(model.classes),
        "accuracy": float((verdicts.label == truth.astype(str)).mean()),
        "certificate": model.certificate,
        "tolerance": float(settings.tolerance),
    }
    print(json.dumps(told | laws(found, stream.draw(BLOCK)[0])))


if __name__ == "__main__":
    main()
