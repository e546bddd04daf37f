"""Leave-one-out prediction of each label from all others.

If labelled vertex i is released, walks pass through it. A walk from i either returns to i and
starts again, or ends at another label or in the sink. The answer is the ratio of these ends. One
factorization of the graph with all labels gives them for every i.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.concurrency import single_blas_thread
from labelwalk.engine.state import State
from labelwalk.kernels.answer import NO_CLASS, write_answer
from labelwalk.settings import Settings
from labelwalk.solver.linear_system import Graph, factorise_graph
from labelwalk.verdicts import Verdicts, blank_answers, decide, label_array

# The score of a label that got no probability at all: a class that was recorded wrongly, or the
# only label of its class, is hopeless in every graph and must not decide between them.
FLOOR = 0.01


def held_out(graph: Graph, codes: Ints, n_classes: int) -> Floats:
    """Class probabilities of each labelled vertex if only this one is released.

    Out of labelled i flows w_ij v_j. With P the absorption, the part that ends at another label l
    is n_il = w_il v_l + Σ_{unlabelled j} w_ij v_j P_jl. The part n_i0 that ends in the sink is
    computed alike, and the rest returns to i. The answer is n_il / (n_i0 + Σ_{l≠i} n_il), summed
    over the labels of a class. This equals a_il / (1 − a_ii), a the absorption of released i, but
    avoids a subtraction that loses all digits if nearly every walk returns.

    The sink of a labelled vertex is used after its release, and only the codes of labelled vertices
    are used. Rows are 0 where no other label can be reached.

    Examples
    --------
    The middle of a chain joins two labels of class 0: each is found again through it.

    >>> import numpy as np
    >>> from labelwalk.solver.linear_system import as_graph
    >>> w = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> graph = as_graph(w, np.array([True, False, True]), None, sink=1.0)
    >>> print(held_out(graph, np.array([0, -1, 0]), n_classes=2))
    [[0.2 0. ]
     [0.2 0. ]]
    """
    l, u = np.flatnonzero(graph.labelled), np.flatnonzero(~graph.labelled)
    y = _one_hot(codes[l], n_classes)
    flow = graph.w[l] * graph.v
    with single_blas_thread():
        ends = flow[:, u] @ find_ends(graph)[u]
    ends[:, :-1] += flow[:, l]
    ends[:, -1] += graph.gamma[l]
    returns = np.arange(len(l))
    ends[returns, returns] = 0.0
    with single_blas_thread():
        return np.asarray(ends[:, :-1] @ y / ends.sum(axis=1, keepdims=True), dtype=np.float64)


def has_label_sibling(labels: Ints) -> Bools:
    """Return which labels have another label of the same class.

    Examples
    --------
    >>> import numpy as np
    >>> print(has_label_sibling(np.array([0, 1, 0])))
    [ True False  True]
    """
    return np.asarray(np.bincount(labels, minlength=1)[labels] > 1)


def score(held: Floats, codes: Ints) -> Floats:
    """Return log(p + FLOOR) of the probability p of each label while it was left out.

    The mean measures how well a graph predicts its own labels.
    """
    return np.log(held[np.arange(len(codes)), codes] + FLOOR)


def find_ends(graph: Graph) -> Floats:
    """Return the probabilities that a walk from each vertex ends at each labelled vertex.

    The last column is the sink. Walks from a labelled vertex end at once.
    """
    l = np.flatnonzero(graph.labelled)
    ways_out = np.column_stack([graph.w[:, l] * graph.v[l], graph.gamma])
    ends = factorise_graph(graph).solve(ways_out)
    ends[l, np.arange(len(l))] = 1.0
    return ends


def _one_hot(codes: Ints, n_classes: int) -> Floats:
    wrong = (codes < 0) | (codes >= n_classes)
    if wrong.any():
        raise ValueError(
            f"codes contains {codes[wrong][0]} at a labelled vertex: pass a class in "
            f"0 .. {n_classes - 1}, or leave the vertex unlabelled"
        )
    return np.eye(n_classes)[codes]


class LeftOut(NamedTuple):
    """Left-out labels, and the answer to each. Labels that are alone in their class are omitted.

    Attributes
    ----------
    label : array of n labels
        The taught labels.
    verdicts : Verdicts
        The answers without the label.
    """

    label: NDArray[np.object_]
    verdicts: Verdicts


def predict_left_out(
    state: State, bias: Floats, settings: Settings, classes: Sequence[Label]
) -> LeftOut:
    """Leave out each labelled vertex in turn, and answer it like an example.

    The biases of the relaxed system apply the prior.
    """
    codes = state.vertices.label[: state.n].astype(np.int64)
    labels = codes[codes >= 0]
    counted = np.flatnonzero(has_label_sibling(labels))
    answers = blank_answers(len(counted), len(classes))
    if len(counted):
        values = held_out(state.graph, codes, len(classes))
        nearest_label = find_nearest_label(state, codes)
        sharpness = float(state.counters.sharpness)
        for row, i in enumerate(counted.tolist()):
            guess = int(nearest_label[i]) if settings.unreached == "nearest" else NO_CLASS
            write_answer(answers, row, values[i], 0.0, bias, guess, sharpness)
    verdicts = decide(answers, classes, settings.abstain_below)
    return LeftOut(label_array(labels[counted], classes), verdicts)


def find_nearest_label(state: State, codes: Ints) -> Ints:
    """Return the class of the nearest other label; in a tie, of the oldest."""
    l = np.flatnonzero(codes >= 0)
    apart = state.vertices.mean_distances[np.ix_(l, l)].copy()
    np.fill_diagonal(apart, np.inf)
    nearest_label: Ints = codes[l][apart.argmin(axis=1)]
    return nearest_label
