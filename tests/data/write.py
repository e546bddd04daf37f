"""Write the files of an earlier version: `python write.py VERSION`, with the sources of that one.

How the files beside this one were made, from the commit that released each version:

    git archive COMMIT | tar x -C OLD
    PYTHONPATH=OLD/src NUMBA_CACHE_DIR=$(mktemp -d) python tests/data/write.py VERSION

0.3: 7d4af7b, 0.4: c6797e9, 0.5: c83bbd3, 0.6: 22dbc4a, 0.7: 2eac352. 0.3 has no streams and no
service; 0.4 has no service.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from labelwalk import OnlineLearner

HERE = Path(__file__).resolve().parent
LINES = "b,a,label\n0,100,low\n9,900,high\n1,120,\n8,880,\n"


def write(version: str, folder: Path) -> None:
    """Write into a folder, the current one, all files that a version could write."""
    rows = np.random.default_rng(3).normal(size=(40, 2))
    learner = OnlineLearner(4, remember=3)
    learner.teach([[-2.0, 0.0], [2.0, 0.0]], ["low", "high"])
    learner.observe(rows)
    learner.save(folder / "learner.lw")
    if version == "0.3":
        return
    from labelwalk.io import Columns, Task, run

    (folder / "in.csv").write_text(LINES)
    task = Task("in.csv", "out.csv", Columns(label="label"), all_labelled=True)
    with suppress(ValueError):  # the third row has no label: the run can be gone on with
        run(task, OnlineLearner(4, remember=3), checkpoint="checkpoint.lw")
    if version == "0.4":
        return
    from labelwalk.service.events import Observe, Teach  # type: ignore[import-not-found]
    from labelwalk.service.keeper import Keeper  # type: ignore[import-not-found]

    keeper = Keeper("service", every=2)
    number = keeper.create("old", OnlineLearner(4, remember=3)).result()
    keeper.change(number, Teach(np.array([[-2.0, 0.0], [2.0, 0.0]]), ("low", "high"))).result()
    keeper.change(number, Observe(rows[:5])).result()
    keeper.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        write(sys.argv[1], Path(name))
        with tarfile.open(HERE / f"{sys.argv[1]}.tar.gz", "w:gz") as archive:
            for file in sorted(os.listdir(name)):
                archive.add(file)
