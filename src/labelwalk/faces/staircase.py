"""The steps in which names claim more as the sink falls, and the sink to take in view of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

STRIDE = 2  # sinks in which a jump is looked for
JUMP = 0.03  # of all examples, newly claimed within a stride


class Staircase:
    """What names would claim, by sinks from high to low; each is looked at when first asked for.

    No sink claims less than one above it, so two that claim about the same tell of all between.

    Parameters
    ----------
    claimed : function
        From the place of a sink to the share of examples that would be named under it.
    n : int
        How many sinks there are.
    most : float
        A share that none exceeds.

    Examples
    --------
    >>> shares = [0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.7, 0.9]
    >>> stairs = Staircase(shares.__getitem__, len(shares))
    >>> stairs.jumps(1, 6), stairs.first_jump(1, 9)
    (False, 5)
    """

    def __init__(self, claimed: Callable[[int], float], n: int, most: float = 1.0) -> None:
        self.claimed, self.n, self.most = cache(claimed), n, most

    def jumps(self, high: int, low: int) -> bool:
        """Return whether much is newly claimed from one sink to another below it."""
        before = self.claimed(high)
        if self.most - before <= JUMP:
            return False
        return self.claimed(min(low, self.n - 1)) - before > JUMP

    def first_jump(self, begin: int, end: int) -> int | None:
        """Return the first place from `begin` on, before `end`, from which a stride jumps."""
        if begin == end or not self.jumps(begin, end - 1 + STRIDE):
            return None
        if end - begin == 1:
            return begin
        half = (begin + end) // 2
        found = self.first_jump(begin, half)
        return self.first_jump(half, end) if found is None else found


def choice(stairs: Staircase, usual: int, lowest: int) -> tuple[int, int | None]:
    """Return which sink to take, and where the cliff is, if anywhere.

    From the usual sink it goes up while the next stride claims much at once, and then down to a
    stride before that. Jumps further up are trusted: there people join views of their own.

    Parameters
    ----------
    stairs : Staircase
    usual, lowest : int
        The sink to begin with, and the lowest that may be chosen.

    Examples
    --------
    >>> shares = [0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.7, 0.9]
    >>> choice(Staircase(shares.__getitem__, 9), usual=2, lowest=8)
    (3, 5)
    >>> choice(Staircase(lambda place: 0.2, 9), usual=4, lowest=7)
    (7, None)
    """
    if not stairs.jumps(usual, stairs.n - 1):
        return lowest, None
    at = usual
    while at > 0 and stairs.jumps(at, at + STRIDE):
        at -= 1
    cliff = stairs.first_jump(at, stairs.n)
    if cliff is None:
        return lowest, None
    return min(max(cliff - STRIDE, 0), lowest), cliff
