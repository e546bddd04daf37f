"""People named, strangers left alone, and a sink that finds its side of the cliff."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwalk.arrays import Floats
from labelwalk.faces.profiles import PIXELS, VECTORS
from labelwalk.faces.recognizer import CliffWarning, FaceRecognizer
from labelwalk.faces.representations import Pixels, profile_of
from tests.unit.faces.people import look_alike, views

pytestmark = pytest.mark.compiled

NAMES = {1: "ada", 2: "ben"}


def knowing(*people: int) -> FaceRecognizer:
    recognizer = FaceRecognizer(VECTORS)
    for who in people:
        recognizer.teach(views(4, who), [NAMES[who]] * 4)
    return recognizer


def turns(n: int, *people: int) -> tuple[Floats, list[int]]:
    """Return views of people who take turns, and who it is each time."""
    rows = np.stack([views(n, who) for who in people], axis=1).reshape(-1, 128)
    return rows, list(people) * n


def test_people_are_named_in_all_their_views_and_strangers_never() -> None:
    recognizer = knowing(1, 2)
    rows, who = turns(150, 1, 3, 2, 4)
    said = recognizer.observe(rows).verdicts.label.tolist()
    assert said == [NAMES.get(one) for one in who]


def test_one_view_of_a_person_is_far_from_the_first_four() -> None:
    """So the test above is about adapting: the nearest label alone would not do."""
    rows, labels = views(150, 1), views(4, 1)
    nearest = np.linalg.norm(rows[:, None] - labels, axis=2).min(axis=1)
    other = np.linalg.norm(views(150, 2)[:, None] - labels, axis=2).min(axis=1)
    assert nearest.max() > 0.3
    assert other.min() > 0.5


@settings(max_examples=10)
@given(st.lists(st.integers(1, 90), min_size=1, max_size=6))
def test_any_chunks_give_the_same_recognizer(chunks: list[int]) -> None:
    rows, _ = turns(60, 1, 3, 2)
    whole, parts = knowing(1, 2), knowing(1, 2)
    expected = whole.observe(rows)
    ends = np.cumsum(chunks)
    found = [parts.observe(part) for part in np.split(rows, ends[ends < len(rows)])]
    assert np.concatenate([one.ids for one in found]).tolist() == expected.ids.tolist()
    labels = np.concatenate([one.verdicts.label for one in found]).tolist()
    assert labels == expected.verdicts.label.tolist()
    assert parts.learner.digest() == whole.learner.digest()


def test_a_sink_of_your_own_stays() -> None:
    recognizer = FaceRecognizer(VECTORS, sink=1e-3)
    recognizer.teach(views(4, 1), ["ada"] * 4)
    recognizer.observe(turns(100, 1, 3)[0])
    assert recognizer.sink == 1e-3
    recognizer.sink = "auto"
    found = recognizer.survey()
    assert found is not None
    assert recognizer.sink == found.chosen != 1e-3


def test_who_goes_over_the_cliff_is_warned() -> None:
    recognizer = knowing(1)
    recognizer.observe(turns(60, 1, 2, 3)[0])
    recognizer.observe(look_alike(views(60, 1), views(60, 2)))
    found = recognizer.survey()
    assert found is not None
    assert found.cliff is not None
    with pytest.warns(CliffWarning, match="strangers would get names"):
        recognizer.sink = found.cliff / 2
    recognizer.sink = found.chosen  # no warning


def test_a_name_is_taken_back() -> None:
    recognizer = knowing(1)
    ids = recognizer.observe(views(30, 2)).ids
    recognizer.name(int(ids[3]), "ben")
    recognizer.retract(int(ids[3]))
    assert recognizer.observe(views(30, 2, seed=1)).verdicts.label.tolist() == [None] * 30


def test_what_cannot_be_understood_changes_nothing() -> None:
    recognizer = knowing(1)
    rows = views(200, 1)
    rows[100, 3] = np.nan
    before = recognizer.learner.digest()
    with pytest.raises(ValueError, match=r"X\[100, 3\] is nan"):
        recognizer.observe(rows)
    assert recognizer.learner.digest() == before


def test_by_itself_before_anything_was_seen() -> None:
    recognizer = FaceRecognizer(VECTORS, sink=5.0)
    recognizer.sink = "auto"
    assert recognizer.sink == VECTORS.sink


def test_nothing_to_observe_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        knowing(1).observe(np.empty((0, 128)))


def test_each_representation_has_its_profile() -> None:
    assert profile_of(Pixels(32)) is PIXELS
    with pytest.raises(ValueError, match="has no profile"):
        profile_of(abs)
