"""The views on a track, taken together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.pipeline import MAX_TRACK_EXAMPLES, VOTE_DECAY, Votes
from labelwalk.faces.profiles import VECTORS

VIEW = np.zeros(128)


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=50))
def test_each_view_counts_less_than_the_next(said: list[tuple[float, float]]) -> None:
    votes = Votes(VECTORS)
    for example, (ada, ben) in enumerate(said):
        votes.take(VIEW, {"ada": ada, "ben": ben}, example)
    weights = [VOTE_DECAY**age for age in range(len(said) - 1, -1, -1)]
    shares = [np.average([one[who] for one in said], weights=weights) for who in (0, 1)]
    assert votes.confidence == pytest.approx(max(shares))
    if max(shares) > 0.5 + 1e-9 and abs(shares[0] - shares[1]) > 1e-9:
        assert votes.name == ("ada" if shares[0] > shares[1] else "ben")
    if max(shares) < 0.5 - 1e-9:
        assert votes.name is None
    assert list(votes.examples) == list(range(len(said)))[-MAX_TRACK_EXAMPLES:]


def test_one_view_neither_gives_a_name_nor_takes_it() -> None:
    votes = Votes(VECTORS)
    names = []
    for example, share in enumerate([0.0] * 10 + [1.0] + [0.0] * 10 + [1.0] * 20 + [0.0]):
        votes.take(VIEW, {"ada": share}, example)
        names.append(votes.name)
    assert names[:21] == [None] * 21
    assert names[-1] == "ada"


def test_who_looks_unlike_the_view_before_begins_anew() -> None:
    votes = Votes(VECTORS)
    for example in range(10):
        votes.take(VIEW, {"ada": 1.0}, example)
    votes.take(VIEW + 1.0, {"ada": 0.1}, 10)
    assert (votes.name, votes.confidence, list(votes.examples)) == (None, 0.1, [10])


def test_nobody_is_known_and_somebody_no_more() -> None:
    votes = Votes(VECTORS)
    assert (votes.name, votes.confidence) == (None, 0.0)
    votes.take(VIEW, {}, 0)
    assert (votes.name, votes.confidence) == (None, 0.0)
    votes.take(VIEW, {"ada": 1.0}, 1)
    assert votes.name == "ada"
    votes.take(VIEW, {"ben": 0.2}, 2)
    assert votes.name is None
