"""Seeded streams lead to the same results as in version 0.7.0, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numba import config

from tests.support.golden_streams import STREAMS, arithmetic_probe, digests, results

GOLDEN = Path(__file__).parent.parent / "data" / "golden-0.7"
RECORDED = json.loads((GOLDEN / "digests.json").read_text("utf-8"))
MAX_ERROR = 1e-3  # of values stored in half precision

pytestmark = pytest.mark.skipif(
    bool(config.DISABLE_JIT), reason="the interpreter rounds differently from compiled code"
)


def test_every_stream_is_recorded() -> None:
    assert set(RECORDED) - {"arithmetic"} == set(STREAMS)


@pytest.mark.parametrize("name", STREAMS)
def test_results_are_unchanged(name: str) -> None:
    arrays = results(STREAMS[name]())
    if arithmetic_probe() == RECORDED["arithmetic"]:
        assert digests(arrays) == RECORDED[name]
        return
    with np.load(GOLDEN / "values.npz") as recorded:
        for key in ("label", "count", "predicted_label"):
            np.testing.assert_array_equal(arrays[key], recorded[f"{name}.{key}"], err_msg=key)
        for key in ("probabilities", "f"):
            stored = recorded[f"{name}.{key}"].astype(float)
            np.testing.assert_allclose(arrays[key], stored, atol=MAX_ERROR, err_msg=key)
