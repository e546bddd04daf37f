"""Sources of examples: decayed counts, and the maximum share of each."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from labelwalk._validation import as_labels, is_number, shown
from labelwalk.arrays import Ints, Label
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.loop import ANSWER_ONLY

MEMORY = 1000  # examples over which shares are counted, the older the less
FIRST = 20  # examples of a source that are learned whatever its share
SILENT = 0.5  # of an example: a source with less is forgotten, and has no share to keep


class Sources:
    """Decayed counts of the examples that were learned from each source.

    Examples
    --------
    >>> sources = Sources()
    >>> learned = [sources.admit(name, share=0.5) for name in ["a"] * 90 + ["b"] * 10]
    >>> sum(learned[:90]), sum(learned[90:])
    (90, 10)
    >>> any(sources.admit("a", share=0.5) for _ in range(100))
    False
    """

    def __init__(self, counts: dict[Label, float] | None = None) -> None:
        self.counts = dict(counts or {})

    @classmethod
    def from_pairs(cls, pairs: list[list[Any]]) -> Self:
        """Return the sources from the pairs in a model file, or raise ValueError."""
        names = as_labels([name for name, _ in pairs], len(pairs))
        counts = [count for _, count in pairs]
        if not all(is_number(count) and 0.0 < count <= MEMORY + 1 for count in counts):
            raise ValueError("its counts of sources are not numbers")
        return cls(dict(zip(names, counts, strict=True)))

    def admit(self, source: Label, share: float) -> bool:
        """Count an example of a source; return whether it should be learned.

        If there are so few sources that all would exceed the share, each may have as much as any
        other; so a single source has no limit.
        """
        for name, count in list(self.counts.items()):
            self.counts[name] = count * (1.0 - 1.0 / MEMORY)
            if self.counts[name] < SILENT:
                del self.counts[name]
        own, total = self.counts.get(source, 0.0), sum(self.counts.values())
        fair = max(share, 1.0 / max(1, len(self.counts)))
        if own >= FIRST and own > fair * total + 1.0:
            return False
        self.counts[source] = own + 1.0
        return True

    def codes(self, names: list[Label], share: float) -> Ints:
        """Return UNLABELLED for each example, or ANSWER_ONLY if it is answered and not learned."""
        trial = Sources(self.counts)
        admitted = [trial.admit(name, share) for name in names]
        return np.where(admitted, UNLABELLED, ANSWER_ONLY).astype(np.int64)


def as_sources(source: Label | Iterable[Label], n: int, share: float | None) -> list[Label]:
    """Return the source of each of n examples, from n names or a single one.

    Raise ValueError if there is no share, the number of names is not n, or a name is invalid.
    """
    if share is None:
        raise ValueError(
            f"source={shown(source)} requires a learner with a source share, but this one has "
            "source_share=None. Create it with a share, such as source_share=0.5."
        )
    single = isinstance(source, str | int | np.integer)
    try:
        return as_labels([source] * n if single else source, n)  # type: ignore[list-item]
    except ValueError:
        raise ValueError(
            f"source={shown(source)} does not give the sources of {n} examples. Pass one string or "
            "integer for all examples, or one for each."
        ) from None
