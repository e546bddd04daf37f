"""Where a stream stands, and the rules it is read by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# How far the current row has come. A row that is taught is finished once it is LEARNED.
WAITING, ARRIVED, COMPARED, LEARNED, SOLVED, ENDED = range(6)

NEVER = 2**62  # a count that no stream reaches
NO_ROW = -1
NO_RECORD, SPOILED = -1, -2  # of what stood before labels were taught

FIELDS = [
    ("n", np.int64),  # vertices
    ("n_unlabelled", np.int64),  # vertices without a label
    ("mass", np.int64),  # examples they stand for
    ("n_seen", np.int64),  # examples, outliers included
    ("n_outliers", np.int64),
    ("n_gone", np.int64),  # examples that no longer count, or were answered and not learned
    ("n_barred", np.int64),  # examples whose source had its share: for them no time passes
    ("n_conflicts", np.int64),  # labels taught where one of another class was
    ("n_pending", np.int64),  # labels that can be taken back without a trace, or NO_RECORD
    ("n_held", np.int64),  # groups in quarantine
    ("n_moments", np.int64),  # examples in the running moments
    ("n_founded", np.int64),  # vertices ever founded
    ("load", np.float64),  # what unlabelled vertices weigh in all
    ("measure_at_seen", np.int64),  # the bandwidth is measured again at these counts
    ("measure_at_founded", np.int64),
    ("radius", np.float64),  # R
    ("mu", np.float64),  # stepped mean weight of unlabelled vertices
    ("sigma", np.float64),  # bandwidth; of a self-tuning graph, that of a typical vertex
    ("width", np.float64),  # bandwidth over local distance
    ("evenness", np.float64),  # 0: local distances are local; 1: all are the typical one
    ("sharpness", np.float64),  # the power that scores are raised to
    ("choose_at_seen", np.int64),  # these three are chosen again at this count
    ("typical", np.float64),  # typical distance from a vertex to one of its nearest
    ("balance_at_seen", np.int64),  # the prior is brought to bear again at this count
    ("forget_at", np.int64),  # what is old fades at this count, without the barred
    ("first_taught", np.int64),  # count at the first label, and at the last; 0: none
    ("last_taught", np.int64),
    ("judge_at_seen", np.int64),  # the signs of health are judged again at this count
    ("watched", np.int64),  # unlabelled examples in this block
    ("blocks", np.int64),  # blocks since the watch for drift began, or began again
    ("usual", np.float64),  # how far a block departs from those before,
    ("unsteady", np.float64),  # and the variance of that
    ("suspicion", np.float64),  # summed departures beyond the usual
    ("alarm", np.float64),  # what they came to at an alarm that still holds; 0: none does
    ("alarm_at", np.int64),  # when the last one was; 0: there was none
    ("stage", np.int64),
    ("id", np.int64),  # the number of the current row, or that of an earlier one taught late
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
    weight_cap: float  # times the mean; infinite: none
    labels_per_class: int
    tolerance: float
    cut: float  # bandwidths past which similarity is zero
    neighbour: int  # whose distance is the local scale of a self-tuning graph; 0: one for all
    far: float  # an outlier is farther than so many local distances from every vertex
    read_first: bool  # answers are read at the example, before it is learned
    guess: bool  # the nearest label is named where no other can be reached
    balanced: bool  # there is a prior
    support: int  # examples that let a group out of quarantine; 0: outliers are dropped
    together: float  # local distances within which they are a group
    warm_up: int  # examples before any can be an outlier
