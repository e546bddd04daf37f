"""Many rows are answered as few are, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner, SelfTuning
from labelwalk.engine.engine import MANY
from labelwalk.similarity import Similarity

SIMILARITIES: list[Similarity] = [
    SelfTuning(),
    SelfTuning(neighbour=2, evenness=0.0, width=0.5),
    Gaussian("cover"),
    Gaussian(0.7, threshold=0.0),
    Gaussian("scale", threshold=1e-3),
]


def learned(seed: int, n: int, d: int, options: dict[str, object]) -> OnlineLearner:
    random = np.random.default_rng(seed)
    learner = OnlineLearner(**options)  # type: ignore[arg-type]
    places = 3.0 * random.normal(size=(4, d))
    rows = places[random.integers(0, 4, n)] + random.normal(size=(n, d))
    rows[n // 2 :: 7] = rows[0]  # some at the same place
    learner.teach(rows[:3], ["a", "b", "a"])
    learner.observe(rows[3:])
    return learner


@given(
    st.integers(0, 10**6),
    st.integers(4, 150),
    st.integers(1, 4),
    st.sampled_from(SIMILARITIES),
    st.sampled_from(["nearest", "abstain"]),
    st.sampled_from([None, "uniform"]),
    st.booleans(),
)
def test_many_rows_are_answered_as_few_are(
    seed: int, n: int, d: int, similarity: Similarity, unreached: str, prior: object, founder: bool
) -> None:
    options: dict[str, object] = {"n_centroids": 20, "similarity": similarity, "prior": prior}
    options |= {"unreached": unreached, "representative": "founder" if founder else "mean"}
    learner = learned(seed, n, d, options)
    random = np.random.default_rng(seed + 1)
    rows = 5.0 * random.normal(size=(MANY, d))
    rows[:8] = learner.vertices.means[np.arange(8) % learner.n_vertices]
    rows[8], rows[9] = 1e6, -1e140
    together = learner.predict(rows)
    alone = [learner.predict(rows[i : i + 1]) for i in range(len(rows))]
    for name in ("label", "confidence", "probabilities", "scores", "outlier", "bound", "certain"):
        one_by_one = np.concatenate([getattr(one, name) for one in alone])
        assert np.array_equal(getattr(together, name), one_by_one), name


def test_answers_are_those_of_the_learner_as_it_stands_now() -> None:
    learner = learned(0, 100, 2, {"n_centroids": 30})
    rows = np.random.default_rng(1).normal(size=(MANY, 2))
    before = learner.predict(rows).probabilities
    learner.teach(rows[:1], "c")
    after = learner.predict(rows).probabilities
    assert after.shape[1] == before.shape[1] + 1
    learner.retract(label="c")
    assert not learner.predict(rows).probabilities[:, -1].any()


@pytest.mark.parametrize("n", [0, 1])
def test_hardly_anything_is_known(n: int) -> None:
    learner = OnlineLearner(n_centroids=5)
    if n:
        learner.observe(np.zeros((1, 2)))
    verdicts = learner.predict(np.ones((MANY, 2)))
    assert set(verdicts.label) == {None}
