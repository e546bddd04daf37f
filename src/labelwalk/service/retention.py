"""How long events are kept: learners stay, what made them may go."""

from __future__ import annotations

import time

from labelwalk.service.ledger import Ledger
from labelwalk.service.snapshots import Snapshots


def let_go_of_the_old(ledger: Ledger, snapshots: Snapshots, seconds: float) -> None:
    """Drop events that are older than need be, up to a round from which a start can begin.

    Parameters
    ----------
    ledger, snapshots : Ledger, Snapshots
    seconds : float
        How long events are kept at least.
    """
    base = snapshots.older_than(int(1000 * (time.time() - seconds)))
    if base is None:
        return
    ledger.drop(ledger.at(base))
    snapshots.strike(before=base)
