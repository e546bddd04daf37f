"""A learner that stands where a cover stands, as if it had seen the rows itself."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from labelwalk.arrays import Floats, Label
from labelwalk.distributed.cover import Cover
from labelwalk.engine import state
from labelwalk.engine.engine import Engine
from labelwalk.engine.scaling import Scale
from labelwalk.engine.sources import Sources
from labelwalk.kernels.cover import UNKNOWN, UNLABELLED
from labelwalk.kernels.progress import NEVER
from labelwalk.kernels.system import STEPS
from labelwalk.learner import OnlineLearner
from labelwalk.settings import Settings
from labelwalk.similarity import Gaussian, euclidean

SPARE = 16  # vertices for which there is room at first
DENSE = 2000  # vertices of which each two are looked at


def planted(
    cover: Cover, rows: Floats, labels: Sequence[Label], settings: Settings
) -> OnlineLearner:
    """Return a learner whose unlabelled vertices are those of a cover, and teach it.

    Parameters
    ----------
    cover : Cover
    rows : array of shape (n, features)
    labels : n labels
    settings : Settings

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk import OnlineLearner
    >>> from labelwalk.distributed.covers import covered
    >>> cover = covered([np.array([[0.0], [1.0], [2.0], [8.0], [9.0]])], n_centroids=5)
    >>> settings = OnlineLearner(n_centroids=5).settings
    >>> learner = planted(cover, np.array([[0.0], [9.0]]), ["low", "high"], settings)
    >>> learner.n_seen, learner.predict([[1.5], [8.5]]).label.tolist()
    (7, ['low', 'high'])
    """
    check_fits(settings)
    engine = Engine.start(settings, cover.n_features)
    now = engine.now = state.resized(engine.now, len(cover) + SPARE, 0)
    _found(now, cover)
    now.system.g[: len(cover)] = settings.sink
    now.system.f[STEPS, : len(cover)] = 1.0  # no walk takes less
    engine.stand()
    if now.here.choose_at_seen != NEVER:
        now.here.choose_at_seen = cover.n_seen + len(labels)  # by all of them
    learner = OnlineLearner.__new__(OnlineLearner)
    learner._become(settings, [], now, Scale(frozen=True), Sources())
    if len(rows):
        learner.teach(rows, labels)
        learner._engine.measure()
    return learner


def check_fits(settings: Settings) -> None:
    """Refuse settings that shards cannot have."""
    repair = "Use the defaults, or another of OnlineLearner's that fits."
    similarity = settings.similarity
    if settings.own_distances:
        raise ValueError(
            f"similarity={similarity!r}: covers of shards are Euclidean, and a distance or "
            f"similarity of your own is not. {repair}"
        )
    if isinstance(similarity, Gaussian) and similarity.bandwidth == "scale":
        raise ValueError(
            "bandwidth='scale' follows the moments of all rows, which covers do not keep. "
            "Use bandwidth='cover'."
        )
    fixed = {
        "scale": "none",
        "coarsening": "just-enough",
        "labelled": "pure",
        "readout": "example",
        "source_share": None,
    }
    for name, only in fixed.items():
        if getattr(settings, name) != only:
            raise ValueError(
                f"{name}={getattr(settings, name)!r}: shards know {name}={only!r} alone. Leave "
                f"{name} out."
            )
    if settings.n_centroids is None:
        raise ValueError("n_centroids=None keeps all rows, which covers do not. Try 1000.")
    if settings.n_centroids > DENSE and settings.rules().cut == inf:
        raise ValueError(
            f"similarity={similarity!r} has every two vertices similar, which are too many pairs "
            f"with n_centroids={settings.n_centroids}. Give it a threshold such as 1e-6, or use at "
            f"most {DENSE} centroids."
        )
    for name in ("window", "half_life"):
        if getattr(settings, name) is not None:
            raise ValueError(
                f"{name}={getattr(settings, name)}: shards have no order in time, so nothing can "
                f"be old. Leave {name} out."
            )


def _found(now: state.State, cover: Cover) -> None:
    n, here, vertices = len(cover), now.here, now.vertices
    vertices.points[:, :n] = cover.points.T
    if len(vertices.means):
        vertices.means[:, :n] = cover.means.T
    representatives = cover.means if len(vertices.means) else cover.points
    for points, apart in ((cover.points, vertices.distance), (representatives, vertices.apart)):
        for i in range(n):
            apart[i, :n] = euclidean(points[i], points)
    for column in (vertices.examples, vertices.drawn, vertices.fresh, now.system.v):
        column[:n] = cover.examples
    vertices.reach[:n] = cover.reach
    vertices.label[:n], vertices.founder[:n] = UNLABELLED, UNKNOWN
    here.n = here.n_unlabelled = here.n_founded = n
    here.n_seen = here.mass = cover.n_seen
    here.radius = cover.radius
