"""Record what seeded streams lead to: `python record_digests.py FOLDER`.

The files beside this one were written with the sources of version 0.7.0:

    git archive 2eac352 | tar x -C OLD
    cd tests/data/golden-0.7
    PYTHONPATH=OLD/src:../../.. NUMBA_CACHE_DIR=$(mktemp -d) python record_digests.py .

The two streams with a `half_life` were recorded again when star-mesh elimination was
removed; all other digests stayed the same. On a processor of another kind set
OPENBLAS_CORETYPE=SkylakeX, so that the arithmetic is that of the recording.

`digests.json` holds a SHA-256 of each group of results, `values.npz` the results themselves in
single precision, for machines whose arithmetic rounds differently.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.golden_streams import STREAMS, arithmetic_probe, digests, results

STORED_VALUES = ("label", "probabilities", "count", "f", "predicted_label")


def record(folder: Path) -> None:
    """Write the digests and values of all streams into a folder."""
    document: dict[str, object] = {"arithmetic": arithmetic_probe()}
    values: dict[str, Any] = {}
    for name, stream in STREAMS.items():
        arrays = results(stream())
        document[name] = digests(arrays)
        for key in STORED_VALUES:
            array = arrays[key]
            compact = np.float16 if array.dtype.kind == "f" else np.int16
            values[f"{name}.{key}"] = array.astype(compact)
    (folder / "digests.json").write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    np.savez_compressed(folder / "values.npz", **values)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
