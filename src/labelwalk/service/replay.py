"""What was kept, made learners again: the last states, and all that happened since."""

from __future__ import annotations

import json

from labelwalk.service.database import DamagedError
from labelwalk.service.events import Observe, Teach, read_back
from labelwalk.service.ledger import Ledger, Stored
from labelwalk.service.pupil import Pupil, pupil_from_bytes
from labelwalk.service.snapshots import Snapshots

CREATE, DELETE, ERASE = "create", "delete", "erase"


def restored(ledger: Ledger, snapshots: Snapshots) -> dict[int, Pupil]:
    """Return all learners as they are after the last event.

    Raises
    ------
    DamagedError
        Something is not as it was kept.
    """
    last = snapshots.latest()
    states = {} if last is None else last.states
    try:
        pupils = {learner: pupil_from_bytes(content) for learner, content in states.items()}
    except ValueError as error:
        raise DamagedError(f"{ledger.database.path}: a state cannot be read: it {error}") from error
    for stored in ledger.events(after=None if last is None else last.at.sequence):
        try:
            redo(pupils, ledger, stored)
        except (ValueError, KeyError) as error:
            raise DamagedError(f"event {stored.sequence} cannot be done again: {error}") from error
    return pupils


def redo(pupils: dict[int, Pupil], ledger: Ledger, stored: Stored) -> None:
    """Let an event happen again, without what is erased of it.

    What cannot be done without what is erased never was: it would have been refused.
    """
    if stored.kind == CREATE:
        [content] = ledger.unlocked(stored).parts
        if content is not None:
            pupils[stored.learner] = pupil_from_bytes(content)
    elif stored.kind == DELETE:
        del pupils[stored.learner]
    else:
        pupils[stored.learner].skip_to(first_of(stored))
        if stored.kind != ERASE:
            _redo(pupils[stored.learner], stored, ledger.unlocked(stored).parts)


def _redo(pupil: Pupil, stored: Stored, parts: list[bytes | None]) -> None:
    gone = [part is None for part in parts]
    pupil.lessened |= any(gone)
    first, event = pupil.n_numbered, read_back(stored.kind, stored.about, parts)
    try:
        if event is not None:
            pupil.happen(event)
    except ValueError as error:
        if not pupil.lessened or type(error) is not ValueError:
            raise
        gone = [True] * len(parts)
    if stored.kind in (Observe.kind, Teach.kind):
        pupil.pass_over(first, gone)


def first_of(stored: Stored) -> int:
    """Return how many numbers had been given to examples before an event."""
    return int(json.loads(stored.about)["first"])
