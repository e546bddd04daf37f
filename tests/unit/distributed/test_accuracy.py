"""Shards together are as right as one learner that saw everything, even sorted by class."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner
from labelwalk.distributed import Sketch, merge, model_of, sketch
from paper.evaluation import Stream, labels_first
from tests.unit.distributed.test_covers import assert_lawful

K, SHARDS, SEEDS = 200, 8, 5


def sorted_shards(stream: Stream) -> list[pa.RecordBatch]:
    """Cut rows into shards of one class or two each; labels lie where their rows do."""
    batches = []
    for some in np.array_split(np.argsort(stream.truth, kind="stable"), SHARDS):
        columns = {f"x{i}": stream.rows[some, i] for i in range(stream.rows.shape[1])}
        names = [None if stream.answered[i] else str(stream.truth[i]) for i in some]
        batches.append(
            pa.RecordBatch.from_pydict(columns | {"label": pa.array(names, pa.string())})
        )
    return batches


def merged(batches: list[pa.RecordBatch]) -> Sketch:
    return merge([sketch([batch], K) for batch in batches], K)


@pytest.mark.slow
def test_shards_sorted_by_class_are_as_right_as_a_single_stream() -> None:
    X, y = load_digits(return_X_y=True)
    gaps = []
    for seed in range(SEEDS):
        stream = labels_first(X, y, seed=seed)
        asked, learner = stream.answered, OnlineLearner(K)
        learner.teach(stream.rows[~asked], stream.truth[~asked].tolist())
        online = (learner.observe(stream.rows[asked]).label == stream.truth[asked]).mean()
        after = (learner.predict(stream.rows[asked]).label == stream.truth[asked]).mean()

        whole = merged(sorted_shards(stream))
        assert_lawful(whole.cover, stream.rows[asked], K)
        assert sum(cover.n_seen for cover in whole.taught.values()) == (~asked).sum()
        said = model_of(whole, OnlineLearner(K).settings).label(stream.rows[asked]).label
        right = (said.astype(str) == stream.truth[asked].astype(str)).mean()
        gaps.append(right - np.array([online, after]))
    assert (np.mean(gaps, axis=0) >= -0.01).all()
