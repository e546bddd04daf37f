"""A cover and its solution in a process of its own, on one core, told as JSON.

python _large_cover.py K
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
from _scale_job import peak_mebibytes  # noqa: E402
from _stream import DigitStream  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from labelwalk import OnlineLearner  # noqa: E402
from labelwalk.scale.cover import Cover  # noqa: E402
from labelwalk.scale.covering import Covering  # noqa: E402
from labelwalk.scale.covers import GROWTH, covered  # noqa: E402
from labelwalk.scale.graph import similarities  # noqa: E402
from labelwalk.scale.model import solved  # noqa: E402
from labelwalk.screen import Screen  # noqa: E402

LABELLED, BLOCK = 20_000, 1000


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.perf_counter()
    found = call()
    return found, time.perf_counter() - begun


def rows_of(stream: DigitStream, n: int) -> NDArray[Any]:
    """Draw rows block by block: all at once would take more memory than what is measured."""
    rows = np.empty((n, stream.draw(1)[0].shape[1]))
    for at in range(0, n, BLOCK):
        some = rows[at : at + BLOCK]
        some[:] = stream.draw(len(some))[0]
    return rows


def covered_in_two(rows: NDArray[Any], k: int) -> tuple[Cover, float, float]:
    """Cover rows as `covered` does, and time the first k apart from those after them."""
    covering = Covering(k + 1, rows.shape[1])
    _, filling = timed(lambda: covering.take(rows[:k], k, GROWTH))
    _, once_full = timed(lambda: covering.take(rows[k:], k, GROWTH))
    return covering.cover(), filling, once_full


def laws(cover: Cover, rows: NDArray[Any]) -> dict[str, float]:
    """How near two vertices come, how far a row is, and how many are counted."""
    screen = Screen(len(cover), cover.n_features)
    screen.put(0, cover.points)
    ages = np.arange(len(cover))
    apart = screen.nearest(cover.points, cover.points, 1, below=ages)[1][1:, 0].min()
    away = screen.nearest(rows, cover.points, 1)[1][:, 0].max()
    return {
        "apart": float(apart / cover.radius),
        "away": float(away / cover.distortion),
        "counted": cover.n_seen,
    }


def main() -> None:
    k = int(sys.argv[1])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    stream, settings = DigitStream(), OnlineLearner(k).settings
    labels, (fresh, truth) = stream.labels(), stream.draw(LABELLED)
    small = covered([fresh[:5000]], 2500)
    solved(small, *labels, settings).label(fresh[:100])  # compiled
    rows = rows_of(stream, k + k // 2)
    cover, filling, once_full = covered_in_two(rows, k)
    model, solving = timed(lambda: solved(cover, *labels, settings))
    peak = peak_mebibytes("self") * 2**20
    said, labelling = timed(lambda: model.label(fresh))
    graph = model.frozen.solved
    edges = similarities(graph.points, graph.bandwidth, model.frozen.reach.cut).nnz
    told = {
        "rows": len(rows),
        "vertices": len(cover),
        "sketching": 1e6 * (filling + once_full) / len(rows),
        "once full": 1e6 * once_full / (len(rows) - k),
        "solving": solving,
        "labelling": 1e6 * labelling / len(fresh),
        "memory": peak - rows.nbytes,
        "neighbours": edges / len(graph.points),
        "classes": len(model.classes),
        "accuracy": float((said.label == truth).mean()),
        "certificate": model.certificate,
        "tolerance": float(settings.tolerance),
    }
    print(json.dumps(told | laws(cover, rows)))


if __name__ == "__main__":
    main()
