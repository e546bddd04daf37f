"""What is lost by answering as the stream comes: Propositions 2 and 4.

Sequences have one row for each step t. Labels are ±1 in one column, or one-hot rows, and c_l = 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats
from labelwalk.solver.graphs import as_graph, as_targets
from labelwalk.solver.harmonic import solve_soft
from paper.bounds.arguments import as_solution, check_constants
from paper.bounds.sizes import largest_value
from paper.bounds.statement import Bound, Condition, on_solutions


def online_solution(
    similarity: ArrayLike,
    is_labelled: ArrayLike,
    targets: ArrayLike,
    *,
    c_u: float,
    sink: float,
    normalised: bool = False,
) -> Floats:
    """Return the answers of the online harmonic solution, f_t[t]: row t knows examples up to t.

    Parameters
    ----------
    similarity, is_labelled, targets, c_u, sink, normalised
        As in `solve_soft`, with examples in the order they come. One system is solved for each of
        them: for some hundreds.

    Returns
    -------
    f : (n, m) array

    Examples
    --------
    The second example knows the label of the first, and nothing of the third.

    >>> import numpy as np
    >>> w, labelled = np.ones((3, 3)), np.array([True, False, True])
    >>> f = online_solution(w, labelled, [[1.0], [0.0], [-1.0]], c_u=0.1, sink=1.0)
    >>> print(f.round(3))
    [[ 0.5  ]
     [ 0.189]
     [-0.2  ]]
    """
    w, _, _, labelled = as_graph(similarity, is_labelled, None, sink)
    y = as_targets(targets, labelled)
    answers = np.zeros_like(y)
    for t in range(1, len(w) + 1):
        known, mask = w[:t, :t], labelled[:t]
        f = solve_soft(known, mask, y[:t], c_u=c_u, sink=sink, normalised=normalised)
        answers[t - 1] = f[-1]
    return answers


def proposition_2(
    quantized: ArrayLike, online: ArrayLike, offline: ArrayLike, truth: ArrayLike
) -> Bound:
    """Proposition 2, eqs. (4) to (6): the error is at most 9/2 of the sum of its three parts.

    It holds for all numbers, not only those within [−1, 1], and with 3 in place of 9/2.

    Parameters
    ----------
    quantized, online, offline, truth : (n, m) arrays
        f_t^q[t], f_t^o[t], f_t^* and y_t.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> print(proposition_2([[0.5]], [[0.7]], [[0.8]], [[1.0]]))
    Proposition 2: 0.25 <= 0.405, holds
    """
    y = as_solution("truth", truth)
    steps = (("quantized", quantized), ("online", online), ("offline", offline))
    q, o, star = (as_solution(name, values, like=y) for name, values in steps)
    parts = mean_square(star - y) + mean_square(o - star) + mean_square(q - o)
    return on_solutions("Proposition 2", mean_square(q - y), 4.5 * parts)


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

    It stands on Lemma 1, and fails on the normalised Laplacian for small γ.

    Parameters
    ----------
    online, offline : (n, m) arrays
        f_t^o[t], as `online_solution` returns it, and f_t^*, as `solve_soft` does.
    n_labelled : int
        How many of the n examples are labelled.
    c_u, sink, normalised
        As both were solved.

    Returns
    -------
    bound : Bound
    """
    left = gap("online", online, "offline", offline)
    check_constants(c_u, sink, n_labelled)
    large = Condition("plain Laplacian, or γ + c_u ≥ 1", not normalised or sink + c_u >= 1.0)
    right = 4.0 * n_labelled / (sink + 1.0) ** 2
    return on_solutions("Proposition 4 as printed", left, right, large)


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
    printed bound where γ + c_u ≥ 1.

    Parameters
    ----------
    online, offline, n_labelled, c_u, sink, normalised
        As in `proposition_4_as_printed`.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> import numpy as np
    >>> w, labelled, y = np.ones((3, 3)), np.array([True, False, True]), [[1.0], [0.0], [-1.0]]
    >>> online = online_solution(w, labelled, y, c_u=0.1, sink=1.0)
    >>> offline = solve_soft(w, labelled, y, c_u=0.1, sink=1.0)
    >>> print(proposition_4(online, offline, 2, c_u=0.1, sink=1.0))
    Proposition 4: 0.0419 <= 1, holds
    """
    left = gap("online", online, "offline", offline)
    right = 4.0 * largest_value(n_labelled, c_u=c_u, sink=sink, normalised=normalised) ** 2
    return on_solutions("Proposition 4", left, right)


def gap(name: str, values: ArrayLike, other_name: str, others: ArrayLike) -> float:
    """Return the mean square of the difference of two sequences of answers."""
    reference = as_solution(other_name, others)
    return mean_square(as_solution(name, values, like=reference) - reference)


def mean_square(rows: Floats) -> float:
    """Return the mean over steps of the squared norm of a row; 0 without any step."""
    return float(np.square(rows).sum() / max(len(rows), 1))
