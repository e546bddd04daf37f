"""What has happened to a learner, as far back as there is room: signs that crossed their limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints, Record

ROOM = 64  # events; the oldest give way
SIGNS = 16  # at most that may be judged


class Diary(NamedTuple):
    """A ring of events, the next one at n_events modulo ROOM."""

    event_at: Ints  # examples seen
    event_sign: Ints  # which sign, by number
    event_ok: Bools  # whether it is well again
    event_value: Floats
    event_limit: Floats
    sign_ok: Bools  # (SIGNS) how each was judged last


def blank() -> Diary:
    """Return a diary in which all is well and nothing has happened."""
    return Diary(
        event_at=np.zeros(ROOM, dtype=np.int64),
        event_sign=np.zeros(ROOM, dtype=np.int64),
        event_ok=np.zeros(ROOM, dtype=np.bool_),
        event_value=np.zeros(ROOM),
        event_limit=np.zeros(ROOM),
        sign_ok=np.ones(SIGNS, dtype=np.bool_),
    )


def note(diary: Diary, here: Record, sign: int, ok: bool, value: float, limit: float) -> None:
    """Write down a sign where it is judged otherwise than the last time."""
    if diary.sign_ok[sign] == ok:
        return
    diary.sign_ok[sign] = ok
    place = here.n_events % ROOM
    diary.event_at[place] = here.n_seen
    diary.event_sign[place] = sign
    diary.event_ok[place] = ok
    diary.event_value[place] = value
    diary.event_limit[place] = limit
    here.n_events += 1


def places(here: Record) -> Iterator[int]:
    """Yield where the events are that are still remembered, oldest first."""
    for number in range(max(0, int(here.n_events) - ROOM), int(here.n_events)):
        yield number % ROOM
