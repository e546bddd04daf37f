"""Where a stream stands, and the rules it is read by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# How far the current row has come. A row that is taught is finished once it is LEARNED.
WAITING, ARRIVED, COMPARED, LEARNED, SOLVED = range(5)

NEVER = 2**62  # a count that no stream reaches

FIELDS = [
    ("n", np.int64),  # vertices
    ("n_unlabelled", np.int64),  # vertices without a label
    ("mass", np.int64),  # examples they stand for
    ("n_seen", np.int64),  # examples, outliers included
    ("n_outliers", np.int64),
    ("n_founded", np.int64),  # vertices ever founded
    ("measure_at_seen", np.int64),  # the bandwidth is measured again at these counts
    ("measure_at_founded", np.int64),
    ("radius", np.float64),  # R
    ("mu", np.float64),  # stepped mean weight of unlabelled vertices
    ("sigma", np.float64),  # bandwidth
    ("cutoff", np.float64),  # distance past which similarity is zero
    ("stage", np.int64),
    ("vertex", np.int64),  # where the current row went
]

# np.record lets Python read fields as attributes, as the compiled loops do.
PROGRESS = np.dtype((np.record, FIELDS))


class Rules(NamedTuple):
    """What does not change while a learner lives."""

    n_centroids: int
    absorb: bool  # labelled vertices take unlabelled examples in
    sink: float
    label_weight: float  # times the mean; 0: every vertex weighs its count
    labels_per_class: int
    tolerance: float
    own_distances: bool  # a function of the user's measures distances,
    own_similarities: bool  # and another similarities, in place of the Gaussian of a distance
    warm_up: int  # examples before any can be an outlier
