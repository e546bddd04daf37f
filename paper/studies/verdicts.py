"""From measurements to words."""

from __future__ import annotations

from collections.abc import Iterable

from paper.studies.findings import Verdict


def judged(agree: Iterable[bool]) -> Verdict:
    """Say whether a claim holds for all, for some, or for none of what it was measured on.

    Examples
    --------
    >>> judged([True, True]), judged([True, False]), judged([False])
    ('holds', 'holds in part', 'does not hold')
    """
    seen = list(agree)
    if not seen:
        return "not measured"
    if all(seen):
        return "holds"
    return "holds in part" if any(seen) else "does not hold"
