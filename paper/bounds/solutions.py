"""Soft solutions, online and quantized: Lemmas 1 and 2, Propositions 2, 4 and 5.

With c_l = 1 ≥ c_u, eq. (7) is solved by f = (K + C)⁻¹ C y, where no eigenvalue of K is below γ. The
norm of y is √n_l. Sequences of answers have one row for each step t.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats
from labelwalk.solver.harmonic import solve_soft
from paper.bounds.statement import Bound, Condition, as_solution, bound_solutions, check_constants


def lemma_1_as_printed(f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float) -> Bound:
    """Lemma 1 as printed: ‖f‖₂ ≤ √n_l / (γ + 1). It fails.

    Its proof takes C⁻¹K + I for a symmetric matrix, which it is only if c_u = c_l.

    Parameters
    ----------
    f : (n, m) array
        The soft solution, as `solve_soft` returns it with c_l = 1.
    is_labelled : (n,) boolean array
    c_u, sink : float
        The arguments of `solve_soft`.

    Examples
    --------
    One label among three friends: each of them has nearly the value of the labelled one.

    >>> labelled = np.array([True, False, False, False])
    >>> y = labelled[:, None].astype(float)
    >>> f = solve_soft(np.ones((4, 4)), labelled, y, c_u=0.01, sink=0.1)
    >>> print(lemma_1_as_printed(f, labelled, c_u=0.01, sink=0.1))
    Lemma 1 as printed: 1.33 <= 0.909, fails; not met: c_u = c_l
    >>> print(lemma_1(f, labelled, c_u=0.01, sink=0.1))
    Lemma 1: 0.7 <= 0.909, holds
    """
    check_constants(c_u, sink)
    left = float(np.linalg.norm(as_solution("f", f)))
    equal = Condition("c_u = c_l", c_u == 1.0)
    right = math.sqrt(np.sum(is_labelled)) / (sink + 1.0)
    return bound_solutions("Lemma 1 as printed", left, right, equal)


def lemma_1(f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float) -> Bound:
    """Lemma 1 in the norm it is true of: ‖C^½ f‖₂ ≤ √n_l / (γ + 1).

    C^½ f = (C^-½ K C^-½ + I)⁻¹ C^½ y, now a symmetric matrix, without eigenvalues below γ + 1.
    So ‖f‖₂ ≤ √(n_l / c_u) / (γ + 1). For the parameters see `lemma_1_as_printed`.
    """
    check_constants(c_u, sink)
    root = np.where(is_labelled, 1.0, math.sqrt(c_u))[:, None]
    left = float(np.linalg.norm(root * as_solution("f", f)))
    return bound_solutions("Lemma 1", left, math.sqrt(np.sum(is_labelled)) / (sink + 1.0))


def lemma_1_unweighted(f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float) -> Bound:
    """Lemma 1 in the printed norm, with its true bound: ‖f‖₂ ≤ √n_l / (γ + c_u).

    No eigenvalue of K + C is below γ + c_u. For large γ this is the printed rate. For the
    parameters see `lemma_1_as_printed`.
    """
    check_constants(c_u, sink)
    left = float(np.linalg.norm(as_solution("f", f)))
    right = math.sqrt(np.sum(is_labelled)) / (sink + c_u)
    return bound_solutions("Lemma 1, unweighted", left, right)


def largest_value(n_labelled: int, *, c_u: float, sink: float, normalised: bool = False) -> float:
    """Return a bound on every entry of a soft solution, for any graph.

    - plain Laplacian: 1 / (1 + γ), since a vertex is drawn to averages and to its own y;
    - normalised: √n_l / (1 + γ) at labelled vertices (Lemma 1). As L − I has no eigenvalue beyond
      ±1, no more than that over γ + c_u at all others, and no more than over √c_u (Lemma 1).

    Examples
    --------
    >>> largest_value(4, c_u=0.01, sink=1.0), largest_value(4, c_u=0.01, sink=1.0, normalised=True)
    (0.5, 1.0)
    """
    check_constants(c_u, sink, n_labelled)
    if n_labelled == 0:
        return 0.0
    if not normalised:
        return 1.0 / (1.0 + sink)
    factor = min(1.0 / (sink + c_u), 1.0 / math.sqrt(c_u))  # at unlabelled vertices
    return math.sqrt(n_labelled) / (1.0 + sink) * max(1.0, factor)


def largest_entry(
    f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float, normalised: bool = False
) -> Bound:
    """No entry of a soft solution exceeds `largest_value`."""
    n_labelled = int(np.sum(is_labelled))
    right = largest_value(n_labelled, c_u=c_u, sink=sink, normalised=normalised)
    left = float(np.abs(as_solution("f", f)).max(initial=0.0))
    return bound_solutions("largest entry", left, right)


def solve_online(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    targets: ArrayLike,
    *,
    c_u: float,
    sink: float,
    normalised: bool = False,
) -> Floats:
    """Return the answers of the online harmonic solution, f_t[t]: row t uses examples up to t.

    The arguments are those of `solve_soft`, with examples in their order. One system is solved for
    each of them: use it for some hundreds.

    Examples
    --------
    The second example uses the label of the first, and not the third.

    >>> w, labelled = np.ones((3, 3)), np.array([True, False, True])
    >>> f = solve_online(w, labelled, [[1.0], [0.0], [-1.0]], c_u=0.1, sink=1.0)
    >>> print(f.round(3))
    [[ 0.5  ]
     [ 0.189]
     [-0.2  ]]
    """
    w, labelled, y = np.asarray(similarity), np.asarray(is_labelled), np.asarray(targets)
    answers = np.zeros(y.shape)
    for t in range(1, len(w) + 1):
        past = (w[:t, :t], labelled[:t], y[:t])
        answers[t - 1] = solve_soft(*past, c_u=c_u, sink=sink, normalised=normalised)[-1]
    return answers


def proposition_2(
    quantized: ArrayLike, online: ArrayLike, offline: ArrayLike, truth: ArrayLike
) -> Bound:
    """Proposition 2, eqs. (4) to (6): the error is at most 9/2 of the sum of its three parts.

    The arguments are f_t^q[t], f_t^o[t], f_t^* and y_t. It holds for all numbers, not only those
    within [−1, 1], and with 3 in place of 9/2.

    Examples
    --------
    >>> print(proposition_2([[0.5]], [[0.7]], [[0.8]], [[1.0]]))
    Proposition 2: 0.25 <= 0.405, holds
    """
    y = as_solution("truth", truth)
    sequences = (("quantized", quantized), ("online", online), ("offline", offline))
    q, o, star = (as_solution(name, values, like=y) for name, values in sequences)
    parts = mean_square(star - y) + mean_square(o - star) + mean_square(q - o)
    return bound_solutions("Proposition 2", mean_square(q - y), 4.5 * parts)


def proposition_4_as_printed(
    online: ArrayLike,
    offline: ArrayLike,
    n_labelled: int,
    *,
    c_u: float,
    sink: float,
    normalised: bool = False,
) -> Bound:
    """Proposition 4 as printed, eq. (8): mean (f_t^o[t] − f_t^*)² ≤ 4 n_l / (γ + 1)².

    It rests on Lemma 1, and fails on the normalised Laplacian for small γ.

    Parameters
    ----------
    online, offline : (n, m) arrays
        f_t^o[t], as `solve_online` returns it, and f_t^*, as `solve_soft` does.
    n_labelled : int
    c_u, sink, normalised
        The arguments of both.
    """
    check_constants(c_u, sink, n_labelled)
    left = _mean_square_gap("online", online, "offline", offline)
    large = Condition("plain Laplacian, or γ + c_u ≥ 1", not normalised or sink + c_u >= 1.0)
    right = 4.0 * n_labelled / (sink + 1.0) ** 2
    return bound_solutions("Proposition 4 as printed", left, right, large)


def proposition_4(
    online: ArrayLike,
    offline: ArrayLike,
    n_labelled: int,
    *,
    c_u: float,
    sink: float,
    normalised: bool = False,
) -> Bound:
    """Proposition 4 as far as it is true: mean (f_t^o[t] − f_t^*)² ≤ 4 B², B = `largest_value`.

    On the plain Laplacian that is 4 / (γ + 1)², without n_l. On the normalised one it is the
    printed bound if γ + c_u ≥ 1. For the parameters see `proposition_4_as_printed`.

    Examples
    --------
    >>> w, labelled, y = np.ones((3, 3)), np.array([True, False, True]), [[1.0], [0.0], [-1.0]]
    >>> online = solve_online(w, labelled, y, c_u=0.1, sink=1.0)
    >>> offline = solve_soft(w, labelled, y, c_u=0.1, sink=1.0)
    >>> print(proposition_4(online, offline, 2, c_u=0.1, sink=1.0))
    Proposition 4: 0.0419 <= 1, holds
    """
    left = _mean_square_gap("online", online, "offline", offline)
    right = 4.0 * largest_value(n_labelled, c_u=c_u, sink=sink, normalised=normalised) ** 2
    return bound_solutions("Proposition 4", left, right)


def lemma_2_as_printed(
    f_q: ArrayLike,
    f_o: ArrayLike,
    is_labelled: ArrayLike,
    difference: float,
    *,
    c_u: float,
    sink: float,
) -> Bound:
    """Lemma 2 as printed: ‖f^q − f^o‖₂ ≤ √n_l / (c_u γ²) · ‖L^q − L^o‖_F.

    It holds, though not by its proof: eq. (9) has (K^q − K^o) y in place of (K^q − K^o) f^o, and
    so ignores changes between unlabelled vertices.

    Parameters
    ----------
    f_q, f_o : (n, m) arrays
        Soft solutions on the quantized and on the full graph, both with c_l = 1.
    is_labelled : (n,) boolean array
    difference : float
        ‖L^q − L^o‖_F, as `quantization_error` returns it.
    c_u, sink : float
    """
    left = _distance(f_q, f_o, c_u, sink)
    right = math.sqrt(np.sum(is_labelled)) / (c_u * sink**2) * difference
    return bound_solutions("Lemma 2 as printed", left, right)


def lemma_2(
    f_q: ArrayLike,
    f_o: ArrayLike,
    is_labelled: ArrayLike,
    difference: float,
    *,
    c_u: float,
    sink: float,
) -> Bound:
    """Lemma 2 without its factor 1 / c_u: ‖f^q − f^o‖₂ ≤ √n_l / (γ + c_u)² · ‖L^q − L^o‖_F.

    (K^q + C) f^q = C y = (K^o + C) f^o gives f^q − f^o = (K^q + C)⁻¹ (K^o − K^q) f^o, and
    ‖f^o‖₂ is bounded by `lemma_1_unweighted`. For the parameters see `lemma_2_as_printed`.

    Examples
    --------
    >>> from labelwalk.solver.harmonic import laplacian
    >>> labelled, y = np.array([True, False]), np.array([[1.0], [0.0]])
    >>> w_o, w_q = np.array([[0, 0.5], [0.5, 0]]), np.array([[0, 0.6], [0.6, 0]])
    >>> f_o, f_q = (solve_soft(w, labelled, y, c_u=0.1, sink=1.0) for w in (w_o, w_q))
    >>> difference = np.linalg.norm(laplacian(w_q) - laplacian(w_o))
    >>> print(lemma_2(f_q, f_o, labelled, difference, c_u=0.1, sink=1.0))
    Lemma 2: 0.0165 <= 0.165, holds
    >>> print(lemma_2_as_printed(f_q, f_o, labelled, difference, c_u=0.1, sink=1.0))
    Lemma 2 as printed: 0.0165 <= 2, holds
    """
    left = _distance(f_q, f_o, c_u, sink)
    right = math.sqrt(np.sum(is_labelled)) / (sink + c_u) ** 2 * difference
    return bound_solutions("Lemma 2", left, right)


def proposition_5_as_printed(
    quantized: ArrayLike,
    online: ArrayLike,
    difference: float,
    n_labelled: int,
    *,
    c_u: float,
    sink: float,
) -> Bound:
    """Proposition 5 as printed, eq. (10), with one difference of Laplacians for all steps.

    mean (f_t^q[t] − f_t^o[t])² ≤ n_l / (c_u² γ⁴) · ‖L^q − L^o‖_F². Each step has Laplacians of its
    own. With the difference of the last step, which may have been larger before, it fails.

    Parameters
    ----------
    quantized, online : (n, m) arrays
        f_t^q[t] and f_t^o[t].
    difference : float
        ‖L^q − L^o‖_F.
    n_labelled : int
    c_u, sink : float
    """
    check_constants(c_u, sink, n_labelled)
    left = _mean_square_gap("quantized", quantized, "online", online)
    right = n_labelled / (c_u**2 * sink**4) * difference**2
    largest = Condition("the difference was never larger", None)
    return bound_solutions("Proposition 5 as printed", left, right, largest)


def proposition_5(
    quantized: ArrayLike,
    online: ArrayLike,
    differences: ArrayLike,
    n_labelled: int,
    *,
    c_u: float,
    sink: float,
) -> Bound:
    """Proposition 5 with the difference of every step, and Lemma 2 without its 1 / c_u.

    mean (f_t^q[t] − f_t^o[t])² ≤ n_l / (γ + c_u)⁴ · mean ‖L_t^q − L_t^o‖_F². `differences` is
    ‖L_t^q − L_t^o‖_F at each step; for the others see `proposition_5_as_printed`.

    Examples
    --------
    >>> print(proposition_5([[0.5], [0.2]], [[0.5], [0.3]], [0.0, 1.0], 1, c_u=0.1, sink=1.0))
    Proposition 5: 0.005 <= 0.342, holds
    """
    check_constants(c_u, sink, n_labelled)
    left = _mean_square_gap("quantized", quantized, "online", online)
    n_steps = len(as_solution("online", online))
    norms = as_solution("differences", np.reshape(differences, (-1, 1)), np.empty((n_steps, 1)))
    right = n_labelled / (sink + c_u) ** 4 * mean_square(norms)
    return bound_solutions("Proposition 5", left, right)


def mean_square(rows: Floats) -> float:
    """Return the mean over steps of the squared norm of a row; 0 without any step."""
    return float(np.square(rows).sum() / max(len(rows), 1))


def _mean_square_gap(name: str, values: ArrayLike, other_name: str, others: ArrayLike) -> float:
    reference = as_solution(other_name, others)
    return mean_square(as_solution(name, values, like=reference) - reference)


def _distance(f_q: ArrayLike, f_o: ArrayLike, c_u: float, sink: float) -> float:
    check_constants(c_u, sink)
    reference = as_solution("f_o", f_o)
    return float(np.linalg.norm(as_solution("f_q", f_q, like=reference) - reference))
