"""Active learning: which vertices to ask about next, each with an example to show.

Let N = M⁻¹ over the unlabelled vertices, so that G = N V⁻¹ is symmetric. A walk from j comes to i
with probability h_ji = N_ji / N_ii, and an answer y at i therefore moves f_j by (y − f_i) h_ji.
In the Gaussian field of Zhu, Lafferty and Ghahramani (2003) G is the covariance: an answer at i
takes G_ji² / G_ii from the variance of j.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwalk.arrays import Bools, Floats, Ints, Label
from labelwalk.concurrency import single_blas_thread
from labelwalk.engine.engine import Engine
from labelwalk.engine.state import State
from labelwalk.kernels.cover import UNLABELLED
from labelwalk.kernels.system import STEPS
from labelwalk.similarity import euclidean
from labelwalk.solver.linear_system import Graph, factorise_graph

RULES = ("error", "uncertainty", "variance")
TIE = 1e-9  # scores that differ by a smaller part differ by rounding only
CANCELLED = 1e-4  # where a variance has fallen to this part, a subtraction has cost four digits


def choose_vertices(
    graph: Graph, f: Floats, counts: Floats, n: int, by: str, first: Bools | None = None
) -> Ints:
    """Choose at most n unlabelled vertices whose answers do not overlap, best first.

    The best vertex is chosen; then it counts as labelled, and the best of the others is chosen, and
    so on. The answer is not known yet, so f does not change, but the variances of the others do. In
    a tie, the heavier vertex comes first, then the older. Vertices in `first` precede all others.

    Examples
    --------
    Two pairs of twins: one of each is asked.

    >>> import numpy as np
    >>> from labelwalk.solver.linear_system import as_graph
    >>> w = np.kron(np.eye(2), np.ones((2, 2)))
    >>> graph = as_graph(w, np.zeros(4, bool), None, sink=0.1)
    >>> print(choose_vertices(graph, np.zeros((4, 2)), np.ones(4), 2, by="variance"))
    [0 2]
    """
    labelled, chosen = graph.labelled.copy(), []
    free, N = np.flatnonzero(~labelled), count_visits(graph)
    whole = solved = np.diagonal(N)  # before any answer, and when N was last solved for
    for _ in range(min(n, len(free))):
        scores = compute_scores(by, N, whole, graph.v[free], f[free], counts[free])
        if first is not None and first[free].any():
            scores = np.where(first[free], scores, -1.0)
        i = _best(scores, graph.v[free])
        chosen.append(free[i])
        labelled[free[i]] = True
        N = _condition_on_answer(N, i)
        free, whole, solved = np.delete(free, i), np.delete(whole, i), np.delete(solved, i)
        if (np.diagonal(N) < CANCELLED * solved).any():
            N = count_visits(graph._replace(labelled=labelled))
            solved = np.diagonal(N)
    return np.array(chosen, dtype=np.int64)


def compute_scores(
    by: str, N: Floats, whole: Floats, v: Floats, f: Floats, counts: Floats
) -> Floats:
    """Score the unlabelled vertices by one of `RULES`; `whole` is the diagonal of the first N.

    - "uncertainty": the expected number of wrong examples at vertex i, counts_i (1 − max_c f_ic),
      times the share of its variance that the vertices chosen so far leave.
    - "error": the expected reduction of the errors at all vertices, Σ_j counts_j (1 − max_c f_jc)
      (Zhu, Lafferty and Ghahramani 2003). The answer at i is c with probability f_ic, and the
      probability of the sink is spread evenly over the classes.
    - "variance": the reduction of the variance of all vertices, Σ_j counts_j G_ji² / G_ii, which
      does not depend on labels (V-optimality, Ji and Han 2012).
    """
    if by == "error":
        return _errors_saved(N, f, counts)
    if by == "variance":
        with single_blas_thread():
            return np.asarray(counts @ (N * (N / np.diagonal(N))) / v, dtype=np.float64)
    wrong = counts * np.maximum(1.0 - f.max(axis=1, initial=0.0), 0.0)
    return np.asarray(wrong * (np.diagonal(N) / whole))


def _errors_saved(N: Floats, f: Floats, counts: Floats) -> Floats:
    """Score each i; entry ji of every square array is about vertex j after i is labelled."""
    h = N / np.diagonal(N)
    missing = np.maximum(1.0 - f.sum(axis=1), 0.0)
    answers = f + missing[:, None] / max(f.shape[1], 1)
    state = f.max(axis=1, initial=0.0)
    # an answer takes f_i h from every class, and adds h to its own, which only then may win
    others = np.zeros_like(N)
    for f_c in f.T:
        np.maximum(others, f_c[:, None] - h * f_c, out=others)
    saved = np.zeros(len(N))
    for f_c, chance in zip(f.T, answers.T, strict=True):
        best = np.maximum(others, f_c[:, None] + h * (1.0 - f_c))
        with single_blas_thread():
            saved += chance * (counts @ (best - state[:, None]))
    return np.maximum(saved, 0.0)


def count_visits(graph: Graph) -> Floats:
    """Return N = M⁻¹ over the unlabelled vertices."""
    free = np.flatnonzero(~graph.labelled)
    return factorise_graph(graph).solve(np.eye(len(graph.w))[:, free])[free]


def _condition_on_answer(N: Floats, i: int) -> Floats:
    """Return N after i is labelled: without the walks that reach i."""
    rest = np.delete(np.arange(len(N)), i)
    fewer = N[np.ix_(rest, rest)] - np.outer(N[rest, i], N[i, rest] / N[i, i])
    return np.maximum(fewer, 0.0)


def _best(scores: Floats, v: Floats) -> int:
    scores = np.nan_to_num(scores)  # walks that never end have infinite ones
    tied = np.flatnonzero(scores >= scores.max() - TIE * abs(scores.max()))
    return int(tied[np.argmax(v[tied])])


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A vertex to label.

    Attributes
    ----------
    example_id : int or None
        Id of the remembered, unlabelled example of the vertex that is nearest to its
        representative, to answer with `teach_later`; None if there is none.
    example : array
        That example, or the representative, to answer with `teach`.
    vertex : int
        The row of `learner.vertices`.
    count : int
        Number of examples that the vertex represents.
    guess : str, int or None
        The most probable class at present.
    confidence : float
        The probability of that class.
    """

    example_id: int | None
    example: Floats
    vertex: int
    count: int
    guess: Label | None
    confidence: float


def questions(
    engine: Engine, classes: Sequence[Label], shares: Floats, n: int, by: str
) -> list[Question]:
    """Return at most n questions, best first, without overlap.

    Vertices with a remembered example come before all others. Without labels, `by` is "variance".
    """
    state = engine.state
    if state.n == 0:
        return []
    graph, (settled, _) = state.graph, engine.settle(shares)
    f = np.ascontiguousarray(settled.f[STEPS + 1 :, : state.n].T)
    counts = state.vertices.examples[: state.n].astype(np.float64)
    places = _find_unlabelled_examples(state)
    holders = state.memory.seen_vertex[places]
    has_example = np.isin(np.arange(state.n), holders)
    rule = by if graph.labelled.any() else "variance"
    chosen = choose_vertices(graph, f, counts, n, rule, has_example).tolist()
    bias = settled.bias[1:]
    return [_question(engine, f[i], bias, classes, i, places[holders == i]) for i in chosen]


def _question(
    engine: Engine, f: Floats, bias: Floats, classes: Sequence[Label], i: int, places: Ints
) -> Question:
    state, scores = engine.state, f * bias
    best = int(np.argmax(scores)) if len(scores) and scores.max() > 0.0 else None
    number, example = None, state.representatives[:, i]
    if len(places):
        nearest = places[np.argmin(euclidean(example, state.memory.seen_rows[places]))]
        number, example = int(state.memory.seen_number[nearest]), state.memory.seen_rows[nearest]
    return Question(
        example_id=number,
        example=engine.scale.original(np.array(example)),
        vertex=i,
        count=int(state.vertices.examples[i]),
        guess=None if best is None else classes[best],
        confidence=0.0 if best is None else float(f[best]),
    )


def _find_unlabelled_examples(state: State) -> Ints:
    """Return the indices of remembered examples with a vertex and without a label, in order."""
    memory = state.memory
    labelled_ids = memory.seen_first[memory.seen_label != UNLABELLED]
    places = np.flatnonzero((memory.seen_vertex >= 0) & ~np.isin(memory.seen_number, labelled_ids))
    return places[np.argsort(memory.seen_number[places])]
