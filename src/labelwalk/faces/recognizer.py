"""A face recogniser: four labelled faces of each person, and a stream to adapt to."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import fields
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Ints
from labelwalk.decision import Verdicts
from labelwalk.faces.cliff import Survey, surveyed
from labelwalk.faces.profiles import Profile
from labelwalk.faces.strangers import Numbers, Stranger, strangers
from labelwalk.learner import OnlineLearner
from labelwalk.rows import as_rows

FIRST = 64  # vectors before it looks over its vertices, and the fewest in between
SHARE = 8  # and an eighth of all that came so far


class CliffWarning(UserWarning):
    """The sink is so low that strangers would be given names."""


class Seen(NamedTuple):
    """What was said of some vectors.

    Attributes
    ----------
    verdicts : Verdicts
        The label is a name, or None for a stranger.
    ids : array of integers
        By which each can be named later.
    """

    verdicts: Verdicts
    ids: Ints


class FaceRecognizer:
    """Names vectors of faces, and adapts to them; strangers stay unnamed.

    A face is named where a walk over the graph of all faces so far ends at that name more often
    than not. How readily a walk gives up, the sink, decides between missing people and naming
    strangers; it is chosen from what the vertices show (`labelwalk.faces.cliff`), when 64 vectors
    have come and whenever an eighth more has, at least 64, so that it does not matter how they were
    chunked.

    Parameters
    ----------
    profile : Profile
        How vectors are compared: `PIXELS`, `VECTORS`, or one for vectors of your own.
    n_centroids : int
        The most vertices that are kept.
    sink : "auto" or float
        A number stays as it is.

    Examples
    --------
    >>> from labelwalk.faces.profiles import VECTORS
    >>> rng = np.random.default_rng(0)
    >>> def pictures(n, who):
    ...     return np.eye(128)[who] + 0.02 * rng.normal(size=(n, 128))
    >>> recognizer = FaceRecognizer(VECTORS)
    >>> recognizer.teach(pictures(4, who=0), ["ada"] * 4)
    >>> recognizer.observe(pictures(2, who=0)).verdicts.label.tolist()
    ['ada', 'ada']
    >>> recognizer.observe(pictures(20, who=1)).verdicts.label.tolist()[-1] is None
    True
    >>> [(one.number, one.examples) for one in recognizer.strangers()]
    [(1, 16)]
    """

    def __init__(
        self, profile: Profile, *, n_centroids: int = 500, sink: Literal["auto"] | float = "auto"
    ) -> None:
        self.profile = profile
        self.learner: OnlineLearner = profile.learner(n_centroids)
        self._numbers, self._due, self._by_itself = Numbers(), FIRST, sink == "auto"
        if sink != "auto":
            self.learner.adjust(sink=sink)

    @property
    def people(self) -> tuple[str, ...]:
        """All names, in the order in which they came."""
        return tuple(str(name) for name in self.learner.classes)

    @property
    def sink(self) -> float:
        """What it is now. Set it to a number to keep it there, or to "auto".

        A number on the far side of the cliff gives a `CliffWarning`.
        """
        return self.learner.settings.sink

    @sink.setter
    def sink(self, value: Literal["auto"] | float) -> None:
        if value == "auto":
            self._by_itself = True
            self.learner.adjust(sink=self.profile.sink)
            self._find_its_side()
            return
        self.learner.adjust(sink=value)
        self._by_itself = False
        found = self.survey()
        if found is not None and found.cliff is not None and value <= found.cliff:
            warnings.warn(
                f"sink={value:g} is at the cliff or beyond: from {found.cliff:.2g} on down, "
                f"strangers would be given names. {found.chosen:.2g} is on the near side.",
                CliffWarning,
                stacklevel=2,
            )

    def teach(self, vectors: ArrayLike, names: Iterable[str]) -> None:
        """Learn who is who."""
        self.learner.teach(vectors, list(names))

    def observe(self, vectors: ArrayLike) -> Seen:
        """Learn from vectors in order, and say who each is as of its own step."""
        rows, _ = as_rows(vectors, self.learner.n_features)
        found: list[tuple[Verdicts, Ints]] = []
        while len(rows):
            n = max(1, self._due - self.learner.n_seen)
            found.append(self.learner.observe(rows[:n], ids=True))
            rows = rows[n:]
            if self.learner.n_seen >= self._due:
                self._due = self.learner.n_seen + max(FIRST, self.learner.n_seen // SHARE)
                if self._by_itself:
                    self._find_its_side()
        return Seen(_joined([one for one, _ in found]), np.concatenate([ids for _, ids in found]))

    def name(self, example: int, name: str) -> None:
        """Say who was seen, by the id that `observe` gave."""
        self.learner.teach_later(example, name)

    def retract(self, example: int) -> None:
        """Take a name back."""
        self.learner.retract(example)

    def strangers(self) -> list[Stranger]:
        """Return who has no name yet, those seen most often first."""
        return strangers(self.learner, self.profile, self._numbers)

    def survey(self) -> Survey | None:
        """Return what names would claim under other sinks, and where the cliff is."""
        return surveyed(self.learner, self.profile)

    def _find_its_side(self) -> None:
        found = self.survey()
        if found is not None and found.chosen != self.sink:
            self.learner.adjust(sink=found.chosen)


def _joined(parts: list[Verdicts]) -> Verdicts:
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(Verdicts)]
    return Verdicts(*(np.concatenate([getattr(one, name) for one in parts]) for name in names))
