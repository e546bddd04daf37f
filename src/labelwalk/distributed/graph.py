"""The graph of very many vertices: nothing is kept of two that are not similar."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from labelwalk.arrays import Floats
from labelwalk.engine.screen import PrefilterIndex
from labelwalk.kernels.batch_answer import list_pairs, local_distances


def local(points: Floats, neighbour: int) -> Floats:
    """Return how far each point is from its so-manieth nearest one at another place.

    Examples
    --------
    >>> local(np.array([[0.0], [1.0], [3.0], [3.0]]), neighbour=2)
    array([3., 2., 3., 3.])
    """
    screen, found = _screen_of(points), np.empty(len(points))
    for some, sight in screen.bound_distances(points, len(points)):
        local_distances(points, neighbour, sight, points[some], found[some])
    return found


def similarities(points: Floats, bandwidth: Floats, cut: float) -> csr_array:
    """Return how similar each two points are, zero past `cut` bandwidths and on the diagonal.

    Examples
    --------
    >>> similarities(np.array([[0.0], [1.0], [9.0]]), np.ones(3), cut=4.0).toarray().round(2)
    array([[0.  , 0.61, 0.  ],
           [0.61, 0.  , 0.  ],
           [0.  , 0.  , 0.  ]])
    """
    n, screen = len(points), _screen_of(points)
    room = 8 * n + 1024
    others, alike = np.empty(room, dtype=np.int64), np.empty(room)
    columns, values, counts = [], [], []
    for some, sight in screen.bound_distances(points, n):
        done, n_rows = 0, some.stop - some.start
        while done < n_rows:
            ends = np.empty(n_rows - done, dtype=np.int64)
            rest = sight._replace(
                products=sight.products[done:],
                squares=sight.squares[done:],
                slack=sight.slack[done:],
            )
            first = some.start + done
            listed = list_pairs(
                points, bandwidth, cut, rest, first, n_rows - done, others, alike, ends
            )
            many = int(ends[listed - 1])
            columns.append(others[:many].copy())
            values.append(alike[:many].copy())
            counts.append(np.diff(ends[:listed], prepend=0))
            done += listed
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts or [np.empty(0, int)]))])
    every = [np.concatenate(parts) if parts else np.empty(0) for parts in (values, columns)]
    return csr_array((every[0], every[1].astype(np.int64), starts), shape=(n, n))


def _screen_of(points: Floats) -> PrefilterIndex:
    screen = PrefilterIndex(*points.shape)
    screen.put(0, points)
    return screen
