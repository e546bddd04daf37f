"""Counters of a stream, and the parameters of the compiled loops."""

from enum import IntEnum
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelwalk.kernels.jit import jit

NEVER = 2**62  # larger than any count
NO_ROW = -1
NO_RECORD, INVALID = -1, -2  # instead of the number of labels that can be undone exactly


class RowStage(IntEnum):
    """How far the current row has been processed. A taught row is finished when it is LEARNED."""

    WAITING = 0
    ARRIVED = 1
    COMPARED = 2
    LEARNED = 3
    SOLVED = 4
    ENDED = 5


class Counters(Protocol):
    """Scalars of the state. The compiled loops change them in place, as fields of a record."""

    n: int  # vertices
    n_unlabelled: int  # vertices without a label
    n_absorbed: int  # examples of vertices without a label
    n_seen: int  # examples, outliers included
    n_outliers: int
    n_removed: int  # examples that were removed, or answered without being learned
    n_answer_only: int  # examples beyond the share of their source; time does not advance for them
    n_conflicts: int  # labels taught at the position of a label of another class
    n_pending: int  # labels that can be undone exactly, or NO_RECORD, or INVALID
    n_held: int  # groups in quarantine
    n_moments: int  # examples in the running moments
    n_founded: int  # vertices founded so far
    total_weight: float  # of the vertices without a label
    measure_at_seen: int  # n_seen at which bandwidths are measured next
    measure_at_founded: int  # n_founded at which bandwidths are measured next
    radius: float  # R
    mean_weight: float  # of the vertices without a label, updated in steps of five percent
    sigma: float  # bandwidth; of a self-tuning graph, that of a typical vertex
    width: float  # bandwidth divided by local distance
    evenness: float  # 0: local distances are local; 1: all are the typical one
    sharpness: float  # exponent of the scores
    choose_at_seen: int  # n_seen at which width, evenness and sharpness are chosen next
    typical: float  # typical distance from a vertex to one of its nearest
    balance_at_seen: int  # n_seen at which the class prior is fitted next
    forget_at: int  # age at which examples decay or leave next
    first_taught: int  # n_seen at the first label; 0: none
    last_taught: int  # n_seen at the last label; 0: none
    judge_at_seen: int  # n_seen at which health metrics are computed next
    watched: int  # unlabelled examples in the current drift block
    blocks: int  # drift blocks since the last restart
    usual: float  # mean departure of a block from the previous ones
    unsteady: float  # variance of that departure
    suspicion: float  # cumulative sum of unusual departures
    alarm: float  # its value at an alarm that still holds; 0: none
    alarm_at: int  # n_seen at the last alarm; 0: none
    stage: int  # RowStage of the current row
    id: int  # number of the current row, or of an earlier one that is taught now
    vertex: int  # vertex of the current row

    def __getitem__(self, name: str) -> Any: ...
    def __setitem__(self, name: str, value: Any) -> None: ...


COUNTERS_DTYPE = np.dtype((np.record, list(Counters.__annotations__.items())))
CountersArray: TypeAlias = NDArray[Any]
"""An array of one record with the fields of `Counters`."""


class KernelParams(NamedTuple):
    """Parameters of the compiled loops."""

    n_centroids: int
    absorb: bool  # labelled vertices absorb unlabelled examples
    sink: float
    label_weight: float  # as a multiple of the mean; 0: every vertex weighs its count
    weight_cap: float  # as a multiple of the mean; infinite: none
    labels_per_class: int
    tolerance: float
    cut: float  # in bandwidths; beyond, similarity is zero
    neighbour: int  # rank of the neighbour that sets the local scale; 0: one scale for all
    outlier_distance: float  # in local distances, from every vertex
    read_first: bool  # a row is answered at itself, before it is learned
    nearest_fallback: bool  # without a reachable label, answer the nearest one
    balanced: bool  # there is a prior
    quarantine_size: int  # examples that release a group from quarantine; 0: outliers are dropped
    group_distance: float  # in local distances, between the examples of a group
    warm_up: int  # examples before any can be an outlier


@jit
def weight_unit(counters: Counters, params: KernelParams) -> float:
    """Return the weight that sinks and the weights of labels are multiples of."""
    return counters.mean_weight if params.label_weight > 0.0 else 1.0


@jit
def age(counters: Counters) -> int:
    """Return the number of examples for which time has advanced: all that are not answer-only."""
    return counters.n_seen - counters.n_answer_only
