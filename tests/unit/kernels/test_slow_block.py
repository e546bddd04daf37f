"""Slow blocks: vertices with long walks are solved directly, and the bound knows of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.arrays import Floats
from labelwalk.engine import state
from labelwalk.kernels.answer import NO_CLASS
from labelwalk.kernels.certificate import choose_cutoff, compute_error, count_slow
from labelwalk.kernels.relaxation import eliminate, relax_until_certified, solve_slow_block
from labelwalk.kernels.system import STEPS, System
from labelwalk.solver import relaxation
from tests.reference.harmonic import quantized_row_form

seeds = st.integers(0, 2**32 - 1)
ways_out = st.sampled_from([1e-3, 1e-5, 1e-7])


def weakly_joined_system(seed: int, way_out: float, n: int = 40, m: int = 3) -> System:
    """Return a system whose last m vertices are joined to each other, and barely to the others."""
    rng = np.random.default_rng(seed)
    w = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    w[-m:, :-m] *= way_out
    w[-m:, -m:] = 1.0
    w = np.tril(w, -1) + np.tril(w, -1).T
    w[0, 1:-m] = w[1:-m, 0] = 0.5
    w[0, -1] = w[-1, 0] = way_out
    system = state.create_state(n, 1, 2).system
    system.w[:] = w
    system.v[:] = rng.choice([1.0, 2.0, 5.0], n)
    system.g[:] = way_out**2
    system.clamped[:2] = True
    system.f[1:, :2] = np.eye(2)
    system.f[1:, 2:] = rng.random((2, n - 2))
    system.f[STEPS, 2:] = 1.0
    relaxation.refresh(system, n)
    return system


def exact(system: System) -> Floats:
    f: Floats = quantized_row_form(system.w, system.v, [0, 1], np.eye(2), float(system.g[0]))
    return f


@given(seeds, ways_out)
def test_an_elimination_solves_its_system(seed: int, way_out: float) -> None:
    rng = np.random.default_rng(seed)
    flow, escape, b = rng.random((6, 6)), way_out * rng.random(6), rng.normal(size=(6, 2))
    np.fill_diagonal(flow, 0.0)
    matrix = np.diag(flow.sum(axis=1) + escape) - flow
    expected = np.linalg.solve(matrix, b)
    solution = b.copy()
    eliminate(flow.copy(), escape.copy(), solution)
    np.testing.assert_allclose(solution, expected, rtol=1e-7)


@given(seeds, ways_out)
def test_a_slow_block_is_found_and_its_equations_hold_once_it_is_solved(
    seed: int, way_out: float
) -> None:
    system = weakly_joined_system(seed, way_out)
    n = len(system.v)
    relaxation.solve_exactly(system, n)
    system.f[1:, 2:] = np.random.default_rng(seed).random((2, n - 2))
    relaxation.refresh(system, n)
    system.marked[:] = True
    cutoff = choose_cutoff(system, n, float(system.f[STEPS, n - 1]))
    assert 1 <= count_slow(system, n, cutoff) <= n // 10
    inside, before = system.f[STEPS] > cutoff, system.f.copy()
    solve_slow_block(system, n, cutoff, 0.0)
    total = system.d + system.g
    assert np.abs(system.r[1:, inside] / total[inside]).max() <= 1e-12
    assert (system.f[:, ~inside] == before[:, ~inside]).all()
    stored = system.r.copy()
    relaxation.refresh(system, n)
    np.testing.assert_allclose(system.r[1:, 2:], stored[1:, 2:], atol=1e-12)
    most_steps = system.f[STEPS].max()
    np.testing.assert_allclose(system.r[STEPS, 2:], stored[STEPS, 2:], atol=1e-13 * most_steps)


@given(seeds, ways_out, st.sampled_from([1e-2, 1e-3]))
def test_an_answer_from_a_slow_block_is_within_its_bound(
    seed: int, way_out: float, tolerance: float
) -> None:
    system = weakly_joined_system(seed, way_out)
    n, readout = len(system.v), state.create_state(len(system.v), 1, 2).readout
    readout.share[0] = 1.0
    solution = exact(system).T
    for vertex in (n - 1, 5):
        readout.vertex[0] = vertex
        as_it_stands = compute_error(system, n, readout, 1)
        assert np.abs(readout.values - solution[:, vertex]).max() <= as_it_stands + 1e-9
        error = relax_until_certified(system, n, readout, 1, NO_CLASS, tolerance)
        if error < 0:
            relaxation.solve_exactly(system, n)
            error = compute_error(system, n, readout, 1)
        assert error <= tolerance
        assert np.abs(system.f[1:, vertex] - solution[:, vertex]).max() <= error + 1e-9


def test_where_all_walks_are_alike_there_is_no_slow_block() -> None:
    system = weakly_joined_system(0, 1.0)
    n = len(system.v)
    relaxation.solve_exactly(system, n)
    system.marked[:] = True
    assert choose_cutoff(system, n, float(np.median(system.f[STEPS]))) == np.inf


@given(seeds)
def test_what_no_label_can_reach_is_left_as_it_is(seed: int) -> None:
    system = weakly_joined_system(seed, 1e-3)
    n, alone = len(system.v), np.arange(len(system.v)) >= len(system.v) - 3
    system.w[np.ix_(alone, ~alone)] = system.w[np.ix_(~alone, alone)] = 0.0
    system.f[1:, alone] = 0.0
    relaxation.refresh(system, n)
    relaxation.solve_exactly(system, n)
    assert not system.f[1:, alone].any()
    assert (system.f[STEPS, alone] == 1.0).all()
    np.testing.assert_allclose(system.f[1:, ~alone].T, exact(system)[~alone], atol=1e-9)
