"""Random streams for the laws: ties, duplicates, equal points, jumps of scale, a few labels."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from hypothesis import settings
from hypothesis import strategies as st

from labelwalk import Gaussian, OnlineLearner
from labelwalk.arrays import Label
from tests.reference.kcenters import ReferenceCover

Point = tuple[float, ...]
Step = tuple[Label | None, Point]
Coarsening = Literal["just-enough", "doubling"]
Labelled = Literal["pure", "absorb"]

CLASSES: tuple[Label, ...] = ("a", "ž", 3, -1)

growths = st.sampled_from([1.1, 1.5, 2.0, 4.0])
coarsenings: st.SearchStrategy[Coarsening] = st.sampled_from(["just-enough", "doubling"])
policies: st.SearchStrategy[Labelled] = st.sampled_from(["pure", "absorb"])


# For laws whose streams take long to learn: a quarter of the examples of the profile.
costly = settings(max_examples=max(5, settings().max_examples // 4))

PAPER = OnlineLearner.paper().settings.parameters()
NOT_IN_PLAIN = ("weight_cap", "representative", "readout", "unreached", "quarantine", "calibrate")
PLAIN: dict[str, Any] = {name: PAPER[name] for name in NOT_IN_PLAIN}


def plain_learner(n_centroids: int | None = 500, **settings: Any) -> OnlineLearner:
    """Return a learner of balanced weights alone: founders, answers at vertices, no guesses."""
    return OnlineLearner(n_centroids, **({"similarity": Gaussian()} | PLAIN | settings))


class Stream(Protocol):
    """What a learner and its twins have in common."""

    def teach(self, x: Point, label: Any, /) -> object: ...
    def observe(self, x: Point, /) -> Any: ...


@st.composite
def streams(
    draw: st.DrawFn,
    n_features: int | None = None,
    n_classes: int | None = None,
    least: int = 20,
    most: int = 60,
) -> list[Step]:
    """Examples of whole numbers, most of them unlabelled; now and then the scale jumps."""
    d = draw(st.integers(1, 4)) if n_features is None else n_features
    c = draw(st.integers(1, 4)) if n_classes is None else n_classes
    spread = draw(st.sampled_from([0, 1, 2, 5, 20, 100]))
    names = st.sampled_from((None,) * (2 + 3 * c) + CLASSES[:c])
    points = st.tuples(*(st.integers(-spread, spread) for _ in range(d)))
    scales = st.sampled_from((1.0,) * 8 + (25.0, 1000.0))
    repeats = st.sampled_from((0,) * 6 + (1, 2, 3))  # how many rows back the same point came
    rows = st.tuples(names, points, scales, repeats)
    stream: list[Step] = []
    for name, point, scale, back in draw(st.lists(rows, min_size=least, max_size=most)):
        x = tuple(scale * value for value in point)
        stream.append((name, stream[-back][1] if 0 < back <= len(stream) else x))
    return stream


def take(learner: Stream, step: Step) -> Any:
    """Teach a labelled step, observe an unlabelled one."""
    label, x = step
    return learner.observe(x) if label is None else learner.teach(x, label)


def assert_same_cover(learner: OnlineLearner, cover: ReferenceCover) -> None:
    """Same representatives, counts, reaches and labels in the same order, and R: to the bit."""
    table = learner.vertices
    assert [tuple(point) for point in table.points.tolist()] == [v.point for v in cover.vertices]
    assert table.count.tolist() == [v.count for v in cover.vertices]
    assert table.reach.tolist() == [v.reach for v in cover.vertices]
    assert table.label.tolist() == [v.label for v in cover.vertices]
    assert learner.radius == cover.radius
