"""How far soft solutions move when their graph is quantized: Lemma 2 and Proposition 5."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from labelwalk.arrays import Floats
from labelwalk.solver.graphs import as_mask
from paper.bounds.arguments import (
    LARGEST,
    as_solution,
    check_constants,
    check_difference,
)
from paper.bounds.online import gap, mean_square
from paper.bounds.statement import Bound, Condition, on_solutions


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

    It holds, though not by its proof: eq. (9) puts (K^q − K^o) y where (K^q − K^o) f^o belongs, and
    so sees no change between unlabelled vertices.

    Parameters
    ----------
    f_q, f_o : (n, m) arrays
        Soft solutions on the quantized and on the full graph, both with c_l = 1.
    is_labelled : (n,) boolean array
    difference : float
        ‖L^q − L^o‖_F, as `quantization_error` returns it.
    c_u, sink : float

    Returns
    -------
    bound : Bound
    """
    left, n_labelled = _moved(f_q, f_o, is_labelled, difference, c_u, sink)
    right = math.sqrt(n_labelled) / (c_u * sink**2) * difference
    return on_solutions("Lemma 2 as printed", left, right)


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
    ‖f^o‖₂ is bounded by `lemma_1_unweighted`.

    Parameters
    ----------
    f_q, f_o, is_labelled, difference, c_u, sink
        As in `lemma_2_as_printed`.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> import numpy as np
    >>> from labelwalk.solver.harmonic import laplacian, solve_soft
    >>> labelled, y = np.array([True, False]), np.array([[1.0], [0.0]])
    >>> w_o, w_q = np.array([[0, 0.5], [0.5, 0]]), np.array([[0, 0.6], [0.6, 0]])
    >>> f_o, f_q = (solve_soft(w, labelled, y, c_u=0.1, sink=1.0) for w in (w_o, w_q))
    >>> difference = np.linalg.norm(laplacian(w_q) - laplacian(w_o))
    >>> print(lemma_2(f_q, f_o, labelled, difference, c_u=0.1, sink=1.0))
    Lemma 2: 0.0165 <= 0.165, holds
    >>> print(lemma_2_as_printed(f_q, f_o, labelled, difference, c_u=0.1, sink=1.0))
    Lemma 2 as printed: 0.0165 <= 2, holds
    """
    left, n_labelled = _moved(f_q, f_o, is_labelled, difference, c_u, sink)
    return on_solutions("Lemma 2", left, math.sqrt(n_labelled) / (sink + c_u) ** 2 * difference)


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
    own. If the difference is that of the last step, it may have been larger before, and this fails.

    Parameters
    ----------
    quantized, online : (n, m) arrays
        f_t^q[t] and f_t^o[t].
    difference : float
        ‖L^q − L^o‖_F.
    n_labelled : int
    c_u, sink : float

    Returns
    -------
    bound : Bound
    """
    check_difference(difference)
    check_constants(c_u, sink, n_labelled)
    left = gap("quantized", quantized, "online", online)
    right = n_labelled / (c_u**2 * sink**4) * difference**2
    largest = Condition("the difference was never larger", None)
    return on_solutions("Proposition 5 as printed", left, right, largest)


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

    mean (f_t^q[t] − f_t^o[t])² ≤ n_l / (γ + c_u)⁴ · mean ‖L_t^q − L_t^o‖_F².

    Parameters
    ----------
    quantized, online, n_labelled, c_u, sink
        As in `proposition_5_as_printed`.
    differences : (n,) array
        ‖L_t^q − L_t^o‖_F at each step.

    Returns
    -------
    bound : Bound

    Examples
    --------
    >>> print(proposition_5([[0.5], [0.2]], [[0.5], [0.3]], [0.0, 1.0], 1, c_u=0.1, sink=1.0))
    Proposition 5: 0.005 <= 0.342, holds
    """
    check_constants(c_u, sink, n_labelled)
    left = gap("quantized", quantized, "online", online)
    norms = _one_for_each_step(differences, len(as_solution("online", online)))
    right = n_labelled / (sink + c_u) ** 4 * mean_square(norms[:, None])
    return on_solutions("Proposition 5", left, right)


def _one_for_each_step(differences: ArrayLike, n: int) -> Floats:
    norms = np.asarray(differences, dtype=np.float64)
    if norms.shape != (n,):
        raise ValueError(f"differences has shape {norms.shape}: pass one for each of {n} steps")
    wrong = ~((norms >= 0.0) & (norms <= LARGEST))
    if wrong.any():
        raise ValueError(
            f"differences contains {norms[wrong][0]}: pass what quantization_error returns"
        )
    return norms


def _moved(
    f_q: ArrayLike,
    f_o: ArrayLike,
    is_labelled: ArrayLike,
    difference: float,
    c_u: float,
    sink: float,
) -> tuple[float, int]:
    check_constants(c_u, sink)
    check_difference(difference)
    before = as_solution("f_o", f_o)
    after = as_solution("f_q", f_q, like=before)
    return float(np.linalg.norm(after - before)), int(as_mask(is_labelled, len(before)).sum())
