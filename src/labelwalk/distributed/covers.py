"""Rows to a cover, and covers to one: the parts of a job that know nothing of each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from labelwalk.arrays import Floats
from labelwalk.distributed.cover import Cover, empty
from labelwalk.distributed.covering import Covering
from labelwalk.distributed.far import split_far
from labelwalk.parameters import check_number, check_whole
from labelwalk.rows import as_rows

GROWTH = 1.5  # as in `labelwalk.settings`
LAYERS = 3  # covers of rows among which distances are of another order, at most
LEAST = 1 / 64  # of the rows, the densest, that have a layer to themselves


def covered(blocks: Iterable[Floats], n_centroids: int, growth: float = GROWTH) -> Cover:
    """Return at most `n_centroids` vertices that stand for all rows.

    It depends on the rows and their order alone, and not on how they are cut into blocks.

    Parameters
    ----------
    blocks : iterable of arrays of shape (n, features)
    n_centroids : int
        k.
    growth : float
        Where vertices have to merge, they go on past k only while the next distance is at most
        this times the last.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0], [1.0], [10.0], [10.5], [0.2]])
    >>> cover = covered([rows[:2], rows[2:]], n_centroids=2)
    >>> cover.points.tolist(), cover.examples.tolist(), cover.distortion
    ([[0.0], [10.0]], [3, 2], 1.0)
    """
    check_whole("n_centroids", n_centroids, "1000")
    check_number("growth", growth, 1, 1e100, "1.5", above=True)
    covering: Covering | None = None
    for block in blocks:
        rows, _ = as_rows(block, None if covering is None else covering.n_features)
        if covering is None:
            covering = Covering(n_centroids + 1, rows.shape[1])
        covering.take(rows, n_centroids, growth)
    return empty(0) if covering is None else covering.cover()


def coarser(cover: Cover, n_centroids: int) -> Cover:
    """Return a cover of the same rows by some of the same vertices, fast where they are many.

    Vertices are covered as rows are, and each joins the nearest of those that stand then.

    Parameters
    ----------
    cover : Cover
    n_centroids : int

    Examples
    --------
    >>> import numpy as np
    >>> fine = covered([np.array([[0.0], [1.0], [9.0], [9.5]])], n_centroids=4)
    >>> found = coarser(fine, n_centroids=2)
    >>> found.points.tolist(), found.means.tolist(), found.examples.tolist(), found.distortion
    ([[0.0], [9.0]], [[0.5], [9.25]], [2, 2], 1.0)
    """
    check_whole("n_centroids", n_centroids, "1000")
    covering = Covering(n_centroids + 1, cover.n_features)
    covering.take(cover.points, n_centroids, GROWTH)
    covering.adopt([cover])
    return covering.cover()


def united(covers: Sequence[Cover], n_centroids: int) -> Cover:
    """Return one cover, of at most `n_centroids` vertices, of all that these stand for.

    Closest pairs merge while closer than the largest radius, or while there are too many. Then
    each vertex that was there goes to the nearest of those that are left.

    Parameters
    ----------
    covers : sequence of Cover
        Of rows with the same features; older ones first. Empty ones change nothing.
    n_centroids : int

    Examples
    --------
    >>> import numpy as np
    >>> covers = [covered([np.array([[x], [x + 0.1]])], n_centroids=1) for x in (0.0, 5.0, 0.3)]
    >>> merged = united(covers, n_centroids=2)
    >>> merged.points.tolist(), merged.examples.tolist()
    ([[0.0], [5.0]], [4, 2])
    """
    check_whole("n_centroids", n_centroids, "1000")
    some = [cover for cover in covers if len(cover)]
    if not some:
        return empty(0)
    widths = sorted({cover.n_features for cover in some})
    if len(widths) > 1:
        raise ValueError(
            f"covers are of rows with {' and '.join(map(str, widths))} features. Merge covers of "
            "the same columns."
        )
    covering = Covering(sum(map(len, some)), widths[0])
    covering.radius = max(cover.radius for cover in some)
    for i, cover in enumerate(some):
        covering.put(cover, gap=cover.radius if i == 0 else 0.0)
    covering.merge(n_centroids, n_centroids, 1.0, within=covering.radius)
    covering.adopt(some)
    return covering.cover()


def unite_layers(covers: Sequence[Cover], n_centroids: int) -> list[Cover]:
    """Return what `united` does, but have what is far from all else in another cover of its own.

    Of what is far the same is done again. The finest cover comes first.

    Examples
    --------
    >>> import numpy as np
    >>> near, far = covered([np.arange(9.0)[:, None]], 20), covered([np.array([[5e4], [9e4]])], 20)
    >>> [cover.points.ravel().tolist() for cover in unite_layers([far, near], n_centroids=3)]
    [[0.0, 4.0, 8.0], [50000.0, 90000.0]]
    """
    layers: list[Cover] = []
    left = [cover for cover in covers if len(cover)]
    while left:
        near, left = split_far(left, LEAST) if len(layers) < LAYERS - 1 else (left, [])
        layers.append(united(near, n_centroids))
    return layers or [empty(0)]
