"""Who somebody is by their last views on one track, taken together."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from labelwalk.arrays import Floats
from labelwalk.faces.profiles import MAJORITY, Profile

FADE = 0.8  # what a view on a track still counts when the next has come
LAST = 32  # views of a track that are kept by their numbers


class Votes:
    """The votes of the views on a track, as long as each is like the one before.

    One poor view does not take a name away, and one chance likeness does not give one. Where a view
    is unlike the one before, somebody else may have stepped there, and votes begin anew.

    Parameters
    ----------
    profile : Profile
        How views are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.faces.profiles import VECTORS
    >>> votes, view = Votes(VECTORS), np.zeros(128)
    >>> for example, share in enumerate([0.9, 0.8, 0.2]):
    ...     votes.take(view, {"ada": share}, example)
    >>> votes.name
    'ada'
    >>> votes.take(view + 1.0, {"ada": 0.4}, 3)
    >>> votes.name is None, list(votes.examples)
    (True, [3])
    """

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._last: Floats | None = None
        self._shares: dict[str, float] = {}
        self._weight = 0.0
        self.examples: deque[int] = deque(maxlen=LAST)

    @property
    def last(self) -> Floats:
        """The last view."""
        assert self._last is not None  # whoever asks has seen one
        return self._last

    @property
    def likeliest(self) -> str | None:
        """Whom most votes are for; None where nobody is known."""
        return max(self._shares, key=lambda name: self._shares[name], default=None)

    @property
    def confidence(self) -> float:
        """How often walks from the last views end at the likeliest name."""
        return max(self._shares.values(), default=0.0) / max(1.0, self._weight)

    @property
    def name(self) -> str | None:
        """The name that walks end at more often than not, if there is one."""
        return self.likeliest if self.confidence > MAJORITY else None

    def take(self, view: Floats, shares: Mapping[str, float], example: int) -> None:
        """Take in what walks from the next view say; who is known no more has no votes either.

        Parameters
        ----------
        view : array
        shares : mapping from names to floats
            How often walks from it end at each.
        example : int
            Its number.
        """
        if self._last is None or not self._profile.are_kin(self._last, view):
            self._shares, self._weight = {}, 0.0
            self.examples.clear()
        self._last = view
        self._shares = {
            name: FADE * self._shares.get(name, 0.0) + share for name, share in shares.items()
        }
        self._weight = FADE * self._weight + 1.0
        self.examples.append(example)

    def settle(self, name: str) -> None:
        """Take a person's word for it: what was said before counts no more."""
        self._shares, self._weight = {name: 1.0}, 1.0
