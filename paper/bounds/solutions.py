"""Soft solutions, online and quantized: Lemmas 1 and 2, Propositions 2, 4 and 5.

With c_l = 1 ≥ c_u, eq. (7) is solved by f = (K + C)⁻¹ C y, where no eigenvalue of K is below γ. The
norm of y is √n_l. Solutions are arrays with a row for each example, answers with one for each step.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats
from labelwalk.solver.harmonic import solve_soft
from paper.bounds import Bound, Condition, Constants, as_solution, bound_solutions


def lemma_1_as_printed(f: ArrayLike, is_labelled: ArrayLike, constants: Constants) -> Bound:
    """Lemma 1 as printed: ‖f‖₂ ≤ √n_l / (γ + 1). It fails.

    Its proof takes C⁻¹K + I for a symmetric matrix, which it is only if c_u = c_l.

    Examples
    --------
    One label among three friends: each of them has nearly the value of the labelled one.

    >>> labelled, constants = np.array([True, False, False, False]), Constants(0.01, 0.1)
    >>> y = labelled[:, None].astype(float)
    >>> f = solve_soft(np.ones((4, 4)), labelled, y, c_u=0.01, sink=0.1)
    >>> print(lemma_1_as_printed(f, labelled, constants))
    Lemma 1 as printed: 1.33 <= 0.909, fails; not met: c_u = c_l
    >>> print(lemma_1(f, labelled, constants))
    Lemma 1: 0.7 <= 0.909, holds
    """
    constants.check()
    left = float(np.linalg.norm(as_solution("f", f)))
    equal = Condition("c_u = c_l", constants.c_u == 1.0)
    right = math.sqrt(np.sum(is_labelled)) / (constants.sink + 1.0)
    return bound_solutions("Lemma 1 as printed", left, right, equal)


def lemma_1(f: ArrayLike, is_labelled: ArrayLike, constants: Constants) -> Bound:
    """Lemma 1 in the norm it is true of: ‖C^½ f‖₂ ≤ √n_l / (γ + 1).

    C^½ f = (C^-½ K C^-½ + I)⁻¹ C^½ y, now a symmetric matrix, without eigenvalues below γ + 1.
    So ‖f‖₂ ≤ √(n_l / c_u) / (γ + 1). And as no eigenvalue of K + C is below γ + c_u, also
    ‖f‖₂ ≤ √n_l / (γ + c_u): for large γ this is the printed rate.
    """
    constants.check()
    root = np.where(is_labelled, 1.0, math.sqrt(constants.c_u))[:, None]
    left = float(np.linalg.norm(root * as_solution("f", f)))
    return bound_solutions("Lemma 1", left, math.sqrt(np.sum(is_labelled)) / (constants.sink + 1.0))


def largest_value(n_labelled: int, constants: Constants) -> float:
    """Return a bound on every entry of a soft solution, for any graph.

    - plain Laplacian: 1 / (1 + γ), since a vertex is drawn to averages and to its own y;
    - normalised: √n_l / (1 + γ) at labelled vertices (Lemma 1). As L − I has no eigenvalue beyond
      ±1, no more than that over γ + c_u at all others, and no more than over √c_u (Lemma 1).

    Examples
    --------
    >>> largest_value(4, Constants(0.01, 1.0)), largest_value(4, Constants(0.01, 1.0, True))
    (0.5, 1.0)
    """
    constants.check(n_labelled)
    c_u, sink, normalised = constants
    if n_labelled == 0:
        return 0.0
    if not normalised:
        return 1.0 / (1.0 + sink)
    factor = min(1.0 / (sink + c_u), 1.0 / math.sqrt(c_u))  # at unlabelled vertices
    return math.sqrt(n_labelled) / (1.0 + sink) * max(1.0, factor)


def solve_online(
    similarity: ArrayLike, is_labelled: ArrayLike, targets: ArrayLike, constants: Constants
) -> Floats:
    """Return the answers of the online harmonic solution, f_t[t]: row t uses examples up to t.

    One system is solved for each example: use it for some hundreds.

    Examples
    --------
    The second example uses the label of the first, and not the third.

    >>> w, labelled = np.ones((3, 3)), np.array([True, False, True])
    >>> f = solve_online(w, labelled, [[1.0], [0.0], [-1.0]], Constants(0.1, 1.0))
    >>> print(f.round(3))
    [[ 0.5  ]
     [ 0.189]
     [-0.2  ]]
    """
    w, labelled, y = np.asarray(similarity), np.asarray(is_labelled), np.asarray(targets)
    answers = np.zeros(y.shape)
    for t in range(1, len(w) + 1):
        past = (w[:t, :t], labelled[:t], y[:t])
        answers[t - 1] = solve_soft(*past, **constants._asdict())[-1]
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
    parts = _mean_square(star - y) + _mean_square(o - star) + _mean_square(q - o)
    return bound_solutions("Proposition 2", _mean_square(q - y), 4.5 * parts)


def proposition_4_as_printed(
    online: ArrayLike, offline: ArrayLike, n_labelled: int, constants: Constants
) -> Bound:
    """Proposition 4 as printed, eq. (8): mean (f_t^o[t] − f_t^*)² ≤ 4 n_l / (γ + 1)².

    It rests on Lemma 1, and fails on the normalised Laplacian for small γ.
    """
    constants.check(n_labelled)
    c_u, sink, normalised = constants
    left = _mean_square(_subtract("online", online, "offline", offline))
    large = Condition("plain Laplacian, or γ + c_u ≥ 1", not normalised or sink + c_u >= 1.0)
    right = 4.0 * n_labelled / (sink + 1.0) ** 2
    return bound_solutions("Proposition 4 as printed", left, right, large)


def proposition_4(
    online: ArrayLike, offline: ArrayLike, n_labelled: int, constants: Constants
) -> Bound:
    """Proposition 4 as far as it is true: mean (f_t^o[t] − f_t^*)² ≤ 4 B², B = `largest_value`.

    On the plain Laplacian that is 4 / (γ + 1)², without n_l. On the normalised one it is the
    printed bound if γ + c_u ≥ 1.
    """
    left = _mean_square(_subtract("online", online, "offline", offline))
    return bound_solutions("Proposition 4", left, 4.0 * largest_value(n_labelled, constants) ** 2)


def lemma_2_as_printed(
    f_q: ArrayLike, f_o: ArrayLike, n_labelled: int, difference: float, constants: Constants
) -> Bound:
    """Lemma 2 as printed: ‖f^q − f^o‖₂ ≤ √n_l / (c_u γ²) · ‖L^q − L^o‖_F.

    It holds, though not by its proof: eq. (9) has (K^q − K^o) y in place of (K^q − K^o) f^o, and
    so ignores changes between unlabelled vertices. `difference` is `quantization_error`.
    """
    constants.check()
    left = float(np.linalg.norm(_subtract("f_q", f_q, "f_o", f_o)))
    right = math.sqrt(n_labelled) / (constants.c_u * constants.sink**2) * difference
    return bound_solutions("Lemma 2 as printed", left, right)


def lemma_2(
    f_q: ArrayLike, f_o: ArrayLike, n_labelled: int, difference: float, constants: Constants
) -> Bound:
    """Lemma 2 without its factor 1 / c_u: ‖f^q − f^o‖₂ ≤ √n_l / (γ + c_u)² · ‖L^q − L^o‖_F.

    (K^q + C) f^q = C y = (K^o + C) f^o gives f^q − f^o = (K^q + C)⁻¹ (K^o − K^q) f^o, and
    ‖f^o‖₂ ≤ √n_l / (γ + c_u).
    """
    constants.check()
    left = float(np.linalg.norm(_subtract("f_q", f_q, "f_o", f_o)))
    right = math.sqrt(n_labelled) / (constants.sink + constants.c_u) ** 2 * difference
    return bound_solutions("Lemma 2", left, right)


def proposition_5_as_printed(
    quantized: ArrayLike,
    online: ArrayLike,
    difference: float,
    n_labelled: int,
    constants: Constants,
) -> Bound:
    """Proposition 5 as printed, eq. (10), with one difference of Laplacians for all steps.

    mean (f_t^q[t] − f_t^o[t])² ≤ n_l / (c_u² γ⁴) · ‖L^q − L^o‖_F². Each step has Laplacians of its
    own. With the difference of the last step, which may have been larger before, it fails.
    """
    constants.check(n_labelled)
    left = _mean_square(_subtract("quantized", quantized, "online", online))
    right = n_labelled / (constants.c_u**2 * constants.sink**4) * difference**2
    largest = Condition("the difference was never larger", None)
    return bound_solutions("Proposition 5 as printed", left, right, largest)


def proposition_5(
    quantized: ArrayLike,
    online: ArrayLike,
    differences: ArrayLike,
    n_labelled: int,
    constants: Constants,
) -> Bound:
    """Proposition 5 with the difference of every step, and Lemma 2 without its 1 / c_u.

    mean (f_t^q[t] − f_t^o[t])² ≤ n_l / (γ + c_u)⁴ · mean ‖L_t^q − L_t^o‖_F².
    """
    constants.check(n_labelled)
    left = _mean_square(_subtract("quantized", quantized, "online", online))
    n_steps = len(as_solution("online", online))
    norms = as_solution("differences", np.reshape(differences, (-1, 1)), np.empty((n_steps, 1)))
    right = n_labelled / (constants.sink + constants.c_u) ** 4 * _mean_square(norms)
    return bound_solutions("Proposition 5", left, right)


def _mean_square(rows: Floats) -> float:
    """Return the mean over steps of the squared norm of a row; 0 without any step."""
    return float(np.square(rows).sum() / max(len(rows), 1))


def _subtract(name: str, values: ArrayLike, other_name: str, reference: ArrayLike) -> Floats:
    other = as_solution(other_name, reference)
    return as_solution(name, values, like=other) - other
