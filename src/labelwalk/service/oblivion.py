"""Erasing everywhere at once: from copies, journal, states and learner."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import NamedTuple

from labelwalk.service.backup import erase_in_copies
from labelwalk.service.erasing import Unwanted, carry_out, planned, remade
from labelwalk.service.events import Forget, about_it, written
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.pupil import Pupil
from labelwalk.service.replay import ERASE
from labelwalk.service.snapshots import Snapshots

MEANING = {
    False: "They are gone from learner, journal, snapshots and backups, as if they had never come.",
    True: "Some came before the events that are kept: what these left in the learner remains.",
}


class Erased(NamedTuple):
    """What was erased: how many examples; and whether older ones still have their influence."""

    examples: int
    older: bool

    @property
    def meaning(self) -> str:
        """What that means, for people."""
        return MEANING[self.older]


def check_known(pupil: Pupil, unwanted: Unwanted) -> None:
    """See that what is to be erased is there.

    Raises
    ------
    ValueError
    """
    label = unwanted.label
    if (label is None) == (not unwanted.examples):
        raise ValueError("give a label or examples, one of the two, to be forgotten.")
    if label is not None and label not in pupil.learner.classes:
        raise ValueError(f"{label!r} is no class of {pupil.name!r}. Choose among its classes.")
    for example in unwanted.examples:
        if not 0 <= example < pupil.n_numbered:
            raise ValueError(
                f"there is no example {example}: {pupil.n_numbered} came so far. Count from 0."
            )


def erase(
    journal: Journal, snapshots: Snapshots, pupils: dict[int, Pupil], unwanted: Unwanted
) -> Erased:
    """Make something as if it had never been; it is nowhere on the disk when this returns.

    Copies come first: should it be broken off, asking again finds all that is left.

    Parameters
    ----------
    journal, snapshots : Journal, Snapshots
        Nothing else is written meanwhile.
    pupils : dict
        All learners; the one concerned is replaced.
    unwanted : Unwanted
    """
    number, label = unwanted.learner, unwanted.label
    before = pupils[number]
    plan = planned(journal, unwanted)
    older = erase_in_copies(journal, replace(unwanted, examples=plan.examples)) or plan.older
    carry_out(plan, journal, snapshots)
    if plan.payloads:
        pupils.update(remade(journal, snapshots, number, min(plan.payloads)))
        pupils[number].skip_to(before.n_numbered)
    older |= unwanted.remains(pupils[number], plan)
    about = json.dumps({"examples": plan.n_erased, "first": before.n_numbered})
    entries = [Entry(number, ERASE, about, [])]
    pupils[number].n_changes = before.n_changes + 1  # who watches must see that it is another
    if label is not None and label in pupils[number].learner.classes:
        older, struck = True, Forget(label)
        first = pupils[number].happen(struck).first
        entries.append(Entry(number, Forget.kind, about_it(struck, first), written(struck)))
    prior = pupils[number].learner.settings.prior
    older |= isinstance(prior, dict) and label in prior  # since the learner was made
    journal.append(entries)
    states = {i: pupil.to_bytes() for i, pupil in pupils.items()}
    snapshots.keep(journal.last, states, pupils)
    journal.database.cleanse()
    return Erased(plan.n_erased, older)
