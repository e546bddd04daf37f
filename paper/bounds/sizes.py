"""How large a soft solution is: Lemma 1.

With c_l = 1 ≥ c_u, eq. (7) is solved by f = (K + C)⁻¹ C y, where no eigenvalue of K is below γ.
Labels are ±1 in one column, or one-hot rows, so that the norm of y is √n_l.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats
from labelwalk.solver.graphs import as_mask
from paper.bounds.arguments import as_solution, check_constants
from paper.bounds.statement import Bound, Condition, on_solutions


def lemma_1_as_printed(f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float) -> Bound:
    """Lemma 1 as printed: ‖f‖₂ ≤ √n_l / (γ + 1). It fails.

    Its proof takes C⁻¹K + I for a symmetric matrix, which it is only where c_u = c_l.

    Parameters
    ----------
    f : (n, m) array
        The soft solution, as `solve_soft` returns it with c_l = 1.
    is_labelled : (n,) boolean array
    c_u, sink : float
        As they were given to `solve_soft`.

    Returns
    -------
    bound : Bound

    Examples
    --------
    One label among three friends: each of them holds nearly as much as the labelled one.

    >>> import numpy as np
    >>> from labelwalk.solver.harmonic import solve_soft
    >>> labelled = np.array([True, False, False, False])
    >>> y = labelled[:, None].astype(float)
    >>> f = solve_soft(np.ones((4, 4)), labelled, y, c_u=0.01, sink=0.1)
    >>> print(lemma_1_as_printed(f, labelled, c_u=0.01, sink=0.1))
    Lemma 1 as printed: 1.33 <= 0.909, fails; not met: c_u = c_l
    >>> print(lemma_1(f, labelled, c_u=0.01, sink=0.1))
    Lemma 1: 0.7 <= 0.909, holds
    """
    values, n_labelled = _taken(f, is_labelled, c_u, sink)
    left = float(np.linalg.norm(values))
    equal = Condition("c_u = c_l", c_u == 1.0)
    return on_solutions("Lemma 1 as printed", left, math.sqrt(n_labelled) / (sink + 1.0), equal)


def lemma_1(f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float) -> Bound:
    """Lemma 1 in the norm it is true of: ‖C^½ f‖₂ ≤ √n_l / (γ + 1).

    C^½ f = (C^-½ K C^-½ + I)⁻¹ C^½ y, now a symmetric matrix, without eigenvalues below γ + 1.
    So ‖f‖₂ ≤ √(n_l / c_u) / (γ + 1).

    Parameters
    ----------
    f, is_labelled, c_u, sink
        As in `lemma_1_as_printed`.

    Returns
    -------
    bound : Bound
    """
    values, n_labelled = _taken(f, is_labelled, c_u, sink)
    root = np.where(as_mask(is_labelled, len(values)), 1.0, math.sqrt(c_u))
    left = float(np.linalg.norm(root[:, None] * values))
    return on_solutions("Lemma 1", left, math.sqrt(n_labelled) / (sink + 1.0))


def lemma_1_unweighted(f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float) -> Bound:
    """Lemma 1 in the printed norm, with what is true there: ‖f‖₂ ≤ √n_l / (γ + c_u).

    No eigenvalue of K + C is below γ + c_u. For large γ this is the printed rate.

    Parameters
    ----------
    f, is_labelled, c_u, sink
        As in `lemma_1_as_printed`.

    Returns
    -------
    bound : Bound
    """
    values, n_labelled = _taken(f, is_labelled, c_u, sink)
    left = float(np.linalg.norm(values))
    return on_solutions("Lemma 1, unweighted", left, math.sqrt(n_labelled) / (sink + c_u))


def largest_value(n_labelled: int, *, c_u: float, sink: float, normalised: bool = False) -> float:
    """Return what no entry of a soft solution exceeds, whatever the graph.

    - plain Laplacian: 1 / (1 + γ), since a vertex is drawn to averages and to its own y;
    - normalised: √n_l / (1 + γ) at labelled vertices (Lemma 1). As L − I has no eigenvalue beyond
      ±1, no more than that over γ + c_u at all others, and no more than over √c_u (Lemma 1).

    Examples
    --------
    >>> largest_value(4, c_u=0.01, sink=1.0), largest_value(4, c_u=0.01, sink=1.0, normalised=True)
    (0.5, 1.0)
    >>> largest_value(4, c_u=0.01, sink=0.24, normalised=True)
    6.45161290...
    """
    check_constants(c_u, sink, n_labelled)
    if n_labelled == 0:
        return 0.0
    if not normalised:
        return 1.0 / (1.0 + sink)
    elsewhere = min(1.0 / (sink + c_u), 1.0 / math.sqrt(c_u))
    return math.sqrt(n_labelled) / (1.0 + sink) * max(1.0, elsewhere)


def largest_entry(
    f: ArrayLike, is_labelled: ArrayLike, *, c_u: float, sink: float, normalised: bool = False
) -> Bound:
    """No entry of a soft solution exceeds `largest_value`.

    Parameters
    ----------
    f, is_labelled, c_u, sink
        As in `lemma_1_as_printed`.
    normalised : bool
        Whether f was solved on the normalised Laplacian.

    Returns
    -------
    bound : Bound
    """
    values, n_labelled = _taken(f, is_labelled, c_u, sink)
    right = largest_value(n_labelled, c_u=c_u, sink=sink, normalised=normalised)
    return on_solutions("largest entry", float(np.abs(values).max(initial=0.0)), right)


def _taken(f: ArrayLike, is_labelled: ArrayLike, c_u: float, sink: float) -> tuple[Floats, int]:
    check_constants(c_u, sink)
    values = as_solution("f", f)
    return values, int(as_mask(is_labelled, len(values)).sum())
