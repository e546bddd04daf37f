"""What people and strangers are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.recognizer import clean_name, format_person, parse_unknown

pytestmark = pytest.mark.shell


@given(st.integers(1, 10**9 - 1))
def test_strangers_are_known_by_what_they_are_called(number: int) -> None:
    assert parse_unknown(format_person(number)) == number
    assert parse_unknown(f" #{number} ") == number


@pytest.mark.parametrize("text", ["", "#", "# a", "3", "unknown", "unknown 3", "Ada #3", "#3#"])
def test_who_is_not_called_so(text: str) -> None:
    assert parse_unknown(text) is None


@pytest.mark.parametrize(
    "name", ["", "  ", "a\nb", "\x07", "unknown", "Unknown #3", "#3", "\ud800"]
)
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"name=|surrogates not allowed"):
        clean_name(name)


@pytest.mark.parametrize(
    "name", ["Ada", "Zoë Ångström", "明", "O'Neil #2 (office)", "unknown soldier"]
)
def test_names_stay_as_they_are(name: str) -> None:
    assert clean_name(f" {name} ") == name
