"""What a job would take on clusters that nobody has run: cost formulas, worker by worker.

With n rows of d features, k vertices, m more with labels, v vertices to merge, L = ln(n / k), one
core takes these seconds:

    sketch  = c0 + n (c1 + c2 d) + (n k - k² / 2) (c3 + c4 d) + c5 k (1 + L) + c6 k² L
    merge   = c0 + v (c1 + c2 d) + v (v - k) (c3 + c4 d)
    solve   = c0 + c1 d + k (c2 + c3 d) + k² (c4 + c5 d), once up to 2000 vertices, once above
    label   = c0 + n (c1 + c2 d) + n k (c3 + c4 d) + c5 n m

The constants were fitted to the tasks of version 0.7.0 on one core; above k = 20,000 they
extrapolate. A phase takes as many rounds as its tasks need on the workers; workers of a machine
share its network, and all of them the storage. Lost workers and unequal speeds are left out.
"""

from itertools import product
from math import ceil, log

import numpy as np

D, LABELS, CLASSES = 64, 40, 10
ROWS, WORKERS, VERTICES = (10**6, 10**7, 10**8, 10**9), (1, 10, 100, 1000), (10**3, 10**4, 10**5)
MIN_FILES, PART_ROWS, MAX_DENSE_VERTICES = 64, 1 << 20, 2000
SKETCH = (0.0141, 1.09e-06, 3.35e-08, 9.17e-10, 3.62e-11, 6.92e-06, 1.47e-09)
MERGE = (0.00225, 2.62e-06, 2.57e-08, 4.01e-09, 8e-11)
SOLVE_DENSE = (0.0, 0.0, 6.46e-05, 2.92e-06, 0.0, 2.41e-09)
SOLVE_SPARSE = (0.0817, 0.0138, 6.72e-05, 0.0, 0.0, 5.56e-11)
LABEL = (0.0112, 4.17e-06, 7.3e-08, 2.5e-09, 6.91e-12, 2.55e-09)
VALUE_BYTES_IN, VALUE_BYTES_OUT, ANSWER_BYTES = 5.95, 3.95, 9.0
FIRST_TASK_S = {"sketch": 0.94, "merge": 0.02, "label": 0.03}  # of a new worker of Ray
TASK_OVERHEAD_S, FOOTER_S = 0.94e-3, 0.06 / 16  # 16 footers are read at a time
NETWORK_BYTES_S, MACHINE_WORKERS, STORAGE_BYTES_S = 1.25e9, 16, 7.5e9


def sketch_seconds(n: float, k: float) -> float:
    k = min(n, k)
    pairs, rest = n * k - k * k / 2, log(n / k)
    return np.dot(SKETCH, [1, n, n * D, pairs, pairs * D, k * (1 + rest), k * k * rest])


def merge_seconds(v: float, k: float) -> float:
    pairs = v * max(0.0, v - k)
    return np.dot(MERGE, [1, v, v * D, pairs, pairs * D])


def phases(rows: int, k: int, workers: int) -> dict[str, float]:
    """Return the seconds of each phase of a job."""
    files = max(MIN_FILES, rows // PART_ROWS)
    n, v = rows / files, min(rows / files, k)
    sketch_bytes, model_bytes = 2 * 8 * D + 20, 8 * D + 8 * CLASSES + 25  # of a vertex

    def phase(name: str, tasks: int, seconds: float, n_bytes: float, model: float = 0) -> float:
        """Return the seconds of a phase of equal tasks; each worker reads a model once."""
        network = NETWORK_BYTES_S / min(MACHINE_WORKERS, workers)
        speed = min(network, STORAGE_BYTES_S / min(tasks, workers))
        each = seconds + TASK_OVERHEAD_S + n_bytes / speed
        return FIRST_TASK_S[name] + model / speed + ceil(tasks / workers) * each

    value_bytes = n * D * VALUE_BYTES_IN
    merging, sketches = 0.0, files
    while sketches > 1:
        merge = merge_seconds(2 * v, k), 3 * k * sketch_bytes
        merging += phase("merge", sketches // 2, *merge) - FIRST_TASK_S["merge"] * (merging > 0)
        sketches, v = ceil(sketches / 2), min(2 * v, k)
    constants = SOLVE_DENSE if v <= MAX_DENSE_VERTICES else SOLVE_SPARSE
    solving = np.dot(constants, [1, D, v, v * D, v * v, v * v * D])
    labelling = np.dot(LABEL, [1, n, n * D, n * k, n * k * D, n * LABELS])
    label_bytes = value_bytes + n * (D * VALUE_BYTES_OUT + ANSWER_BYTES)
    return {
        "plan": FOOTER_S * files,
        "sketch": phase("sketch", files, sketch_seconds(n, k), value_bytes + k * sketch_bytes),
        "merge": merging,
        "solve": solving + v * (sketch_bytes + model_bytes) / NETWORK_BYTES_S,
        "label": phase("label", files, labelling, label_bytes, v * model_bytes),
    }


def in_words(seconds: float) -> str:
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} s"


if __name__ == "__main__":
    print("| vertices | rows | workers: time (efficiency) | phases on most workers |")
    print("|--:|--:|---|---|")
    for k, rows in product(VERTICES, ROWS):
        runs = {workers: phases(rows, k, workers) for workers in WORKERS}
        times = {workers: sum(run.values()) for workers, run in runs.items()}
        cells = [f"{w}: {in_words(s)} ({times[1] / s / w:.0%})" for w, s in times.items()]
        steps = [f"{name} {in_words(s)}" for name, s in runs[WORKERS[-1]].items()]
        print(f"| {k:,} | {rows:,} | {', '.join(cells)} | {', '.join(steps)} |")
