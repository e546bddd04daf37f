"""Groups of faces without a name, and their numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.profiles import PIXELS, VECTORS, Profile
from labelwalk.faces.recognizer import FaceRecognizer, StrangerNumbers, compute_kinship
from tests.unit.faces.people import views

groupings = st.lists(st.integers(0, 5), min_size=8, max_size=8).map(
    lambda group: [[i for i in range(8) if group[i] == g] for g in sorted(set(group))]
)


@given(st.lists(groupings, min_size=1, max_size=5))
def test_numbers_differ_and_stay(all_groups: list[list[list[int]]]) -> None:
    """The least number of those in a group that nobody has yet; else one that never was."""
    numbers = StrangerNumbers()
    known: dict[int, int] = {}
    most = 0
    for groups in all_groups:
        taken: set[int] = set()
        for group, number in zip(groups, numbers.assign(groups, range(8)), strict=True):
            before = {known[one] for one in group if one in known} - taken
            assert number == (min(before) if before else most + 1)
            most = max(most, number)
            taken.add(number)
            known.update(dict.fromkeys(group, number))


def test_numbers_are_stored_again_when_half_of_a_group_is_gone() -> None:
    numbers = StrangerNumbers()
    numbers.assign([[7, 9, 11]], alive=[7, 9, 11])
    stored = numbers.to_json()
    numbers.assign([[9, 11, 12]], alive=[9, 11, 12])
    assert numbers.are_stored_in(stored)
    numbers.assign([[11, 12]], alive=[11, 12])
    assert not numbers.are_stored_in(stored)


@given(st.integers(0, 10**6), st.sampled_from([VECTORS, PIXELS]))
def test_two_are_kin_as_their_profile_has_it(seed: int, profile: Profile) -> None:
    random = np.random.default_rng(seed)
    rows = profile.bandwidth * random.normal(size=(12, 8))
    expected = [[profile.are_kin(one, other) for other in rows] for one in rows]
    assert np.array_equal(compute_kinship(rows, profile), expected)
    assert 12 < np.sum(expected) <= 144


def test_looking_changes_no_number() -> None:
    recognizer = FaceRecognizer(VECTORS)
    recognizer.teach(views(4, 1), ["ada"] * 4)
    recognizer.observe(views(60, 2))
    (stranger,) = recognizer.strangers()
    recognizer.name(stranger.newest, "ben")
    assert recognizer.strangers() == []
    recognizer.retract(stranger.newest)
    assert [one.number for one in recognizer.strangers()] == [stranger.number]


def test_each_stranger_is_one_group_under_a_number_that_stays() -> None:
    recognizer = FaceRecognizer(VECTORS)
    recognizer.teach(views(4, 1), ["ada"] * 4)
    recognizer.observe(views(100, 2))
    (first,) = recognizer.strangers()
    assert first.number == 1
    assert 90 <= first.examples <= 100
    recognizer.observe(np.concatenate([views(150, 3), views(20, 1)]))
    second, again = recognizer.strangers()
    assert (again.number, second.number) == (1, 2)
    assert again.examples == first.examples


def test_a_stranger_can_be_named_by_the_newest_example() -> None:
    recognizer = FaceRecognizer(VECTORS)
    recognizer.teach(views(4, 1), ["ada"] * 4)
    recognizer.observe(views(60, 2))
    (stranger,) = recognizer.strangers()
    recognizer.name(stranger.newest, "ben")
    assert recognizer.people == ("ada", "ben")
    assert recognizer.strangers() == []
    said = recognizer.observe(views(60, 2, seed=1)).verdicts.label.tolist()
    assert said == ["ben"] * 60
