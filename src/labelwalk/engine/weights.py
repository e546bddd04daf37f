"""Influence of examples: shares of sources, and weights of vertices, which are capped and fade."""

import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from labelwalk._validation import as_labels, is_number, shown
from labelwalk.arrays import Floats, Ints, Label
from labelwalk.engine.state import State
from labelwalk.kernels.assign import release_old
from labelwalk.kernels.counters import Counters, KernelParams, age
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.loop import ANSWER_ONLY
from labelwalk.settings import Settings

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
        """Return the sources from the pairs in a model file.

        Raises
        ------
        ValueError
            A name is invalid, or a count is not a positive number.
        """
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
        """Return UNLABELLED for each example, or BARRED if it is answered and not learned."""
        trial = Sources(self.counts)
        admitted = [trial.admit(name, share) for name in names]
        return np.where(admitted, UNLABELLED, ANSWER_ONLY).astype(np.int64)


def as_sources(source: Label | Iterable[Label], n: int, share: float | None) -> list[Label]:
    """Return the source of each of n examples, from n names or a single one.

    Raises
    ------
    ValueError
        There is no share, the number of names is not n, or a name is neither a string nor an
        integer.
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


def weigh(state: State, rules: KernelParams) -> None:
    """Recompute the weights of all vertices; degrees and residuals must be rebuilt afterwards."""
    counters, n = state.counters, state.n
    free, v = ~state.system.clamped[:n], state.system.v[:n]
    v[:] = state.vertices.decayed_count[:n]
    if rules.label_weight > 0:
        if counters.n_unlabelled:
            counters.mean_weight = compute_capped_mean(v[free], rules.weight_cap)
        v[free] = np.minimum(v[free], rules.weight_cap * counters.mean_weight)
        v[~free] = rules.label_weight * counters.mean_weight
        state.system.g[:n] = rules.sink * counters.mean_weight
    counters.total_weight = float(v[free].sum())


def compute_capped_mean(counts: Floats, cap: float) -> float:
    """Return the mean weight if each vertex has its count as weight, but at most `cap` means.

    If the m heaviest are capped, the mean is the sum of the others divided by n - cap * m.
    """
    n, ascending = len(counts), np.sort(counts)
    light, mean = np.cumsum(ascending), float(ascending[0])
    for m in range(n):
        mean = float(light[n - 1 - m]) / (n - cap * m if m else n)
        if ascending[n - 1 - m] <= cap * mean:
            break
    return mean


STEPS_PER_HALF_LIFE = 16
MIN_EXAMPLES = 0.25  # what a vertex must still weigh to stay
FADED_HALF_LIVES = 2  # half-lives after which an example is as light as that
MAX_STEP = 2**60  # examples between two steps: more than any stream has
SPARSE_SHARE = 0.8  # of k: with fewer vertices, R comes down
MIN_RADIUS = 1e-160  # the square of a smaller distance vanishes


def schedule_fading(counters: Counters, half_life: float) -> None:
    """Set the count of examples at which the next step of fading is due."""
    counters.forget_at = age(counters) + step_size(half_life)


def step_size(half_life: float) -> int:
    """Return the number of examples between two steps of fading."""
    return max(1, round(min(half_life / STEPS_PER_HALF_LIFE, MAX_STEP)))


def fade(state: State, half_life: float) -> None:
    """Reduce the weights of all unlabelled examples, and drop old groups in quarantine."""
    free = state.vertices.label[: state.n] == UNLABELLED
    state.vertices.decayed_count[: state.n][free] *= 0.5 ** (step_size(half_life) / half_life)
    release_old(
        state.quarantine,
        state.counters,
        age(state.counters) - math.ceil(FADED_HALF_LIVES * half_life),
    )


def find_light(state: State) -> Ints:
    """Return the vertices that have become too light to keep."""
    free = state.vertices.label[: state.n] == UNLABELLED
    return np.flatnonzero(free & (state.vertices.decayed_count[: state.n] < MIN_EXAMPLES))


def lower_radius(counters: Counters, settings: Settings) -> None:
    """Lower R if many vertices were removed, so that finer ones fit; in the end R starts again."""
    if (
        settings.n_centroids is not None
        and counters.n_unlabelled < SPARSE_SHARE * settings.n_centroids
    ):
        finer = counters.radius / settings.growth
        counters.radius = finer if finer >= MIN_RADIUS else 0.0
