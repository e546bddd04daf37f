"""Events out of faces: each face appears once, leaves once, and is counted once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.faces.frame_run import Event, Presence, PresenceTracker, Who
from labelwalk.faces.frames import Box, Frame
from labelwalk.faces.pipeline import Face

pytestmark = pytest.mark.shell
NOTHING = np.zeros((1, 1, 3), np.uint8)


def face(track: int, who: Who) -> Face:
    name, stranger = (who, None) if isinstance(who, str) else (None, who)
    return Face(Box(10, 20, 30, 40), track, name, stranger, 0.9, 0)


def watched(frames: list[dict[int, Who]], patience: int = 0) -> tuple[list[Event], list[Presence]]:
    """Let faces pass that are said to be somebody, by track, in each frame."""
    visits, events = PresenceTracker(), list[Event]()
    for i, there in enumerate(frames):
        alive = {track for earlier in frames[max(0, i - patience) : i + 1] for track in earlier}
        frame = Frame(i + 1, i / 25.0, NOTHING)
        events += visits.update(frame, [face(*one) for one in there.items()], alive)
    return events + visits.end(), visits.presences()


def told(events: list[Event]) -> list[tuple[str, int, Who]]:
    return [(one.kind, one.frame, one.name or one.stranger) for one in events]


def test_a_stranger_is_numbered_named_and_leaves() -> None:
    events, presences = watched([{1: who} for who in (None, None, 3, None, 3, "Ada", "Ada")])
    assert told(events) == [
        ("appears", 1, None),
        ("named", 3, 3),
        ("named", 6, "Ada"),
        ("leaves", 7, "Ada"),
    ]
    assert (events[-1].since, events[-1].faces) == (1, 7)
    assert presences == [Presence(3, 5, 1), Presence("Ada", 2, 1)]


def test_a_name_that_is_taken_back_is_told() -> None:
    events, presences = watched([{1: who} for who in ("Ada", None, None, "Ada")])
    assert told(events) == [
        ("appears", 1, "Ada"),
        ("unnamed", 2, None),
        ("named", 4, "Ada"),
        ("leaves", 4, "Ada"),
    ]
    assert presences == [Presence("Ada", 2, 1), Presence(None, 2, 1)]


def test_who_steps_into_the_place_of_another() -> None:
    events, presences = watched([{1: who} for who in (1, 1, None, 2)])
    assert told(events) == [("appears", 1, 1), ("named", 4, 2), ("leaves", 4, 2)]
    assert presences == [Presence(1, 2, 1), Presence(2, 2, 1)]


def test_who_is_missing_for_a_while_has_not_left() -> None:
    frames: list[dict[int, Who]] = [{1: "Ada"}, {}, {1: "Ada"}, {}, {}, {2: "Ada"}]
    events, presences = watched(frames, patience=1)
    assert told(events) == [
        ("appears", 1, "Ada"),
        ("leaves", 3, "Ada"),
        ("appears", 6, "Ada"),
        ("leaves", 6, "Ada"),
    ]
    assert presences == [Presence("Ada", 3, 2)]


def test_boxes_are_in_pixels_of_the_source() -> None:
    visits = PresenceTracker()
    [event] = visits.update(Frame(5, 0.16, NOTHING, scale=0.5), [face(1, None)], alive=[1])
    assert event.to_json() == {
        "event": "appears",
        "frame": 5,
        "seconds": 0.16,
        "track": 1,
        "box": [20, 40, 60, 80],
        "name": None,
        "stranger": None,
        "confidence": 0.9,
    }


who = st.sampled_from(["Ada", "Ben", 1, 2, None])


@given(st.lists(st.dictionaries(st.integers(1, 4), who), max_size=20), st.integers(0, 3))
def test_laws(frames: list[dict[int, Who]], patience: int) -> None:
    events, presences = watched(frames, patience)
    n_faces = sum(map(len, frames))
    assert sum(one.faces for one in presences) == n_faces
    assert sum(one.faces or 0 for one in events) == n_faces
    said = Counter(one for there in frames for one in there.values())
    for one in presences:
        if isinstance(one.who, str):
            assert one.faces == said[one.who]  # names are counted as they were given
        elif one.who is not None:
            assert one.faces >= said[one.who]
    for track in {event.track for event in events}:
        kinds = [event.kind for event in events if event.track == track]
        assert kinds[0] == "appears"
        assert kinds[-1] == "leaves"
        assert kinds.count("appears") == kinds.count("leaves")
        for before, after in pairwise(kinds):
            assert (before == "leaves") == (after == "appears")
