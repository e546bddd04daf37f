"""Section 4 of the paper: every statement with numbers, and the rate of Proposition 6 over k."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from labelwalk.arrays import Floats, Ints
from labelwalk.learner import OnlineLearner
from labelwalk.solver.harmonic import solve_soft
from paper.baselines.full_graph import compute_similarities, scale_bandwidth
from paper.bounds import Bound, Constants, generalization, quantization, solutions
from paper.bounds.generalization import PROPOSITION_4, PROPOSITION_5, fit_exponent
from paper.datasets import moons
from paper.findings import Claim, Findings, Line, Panel, Picture, Table, judge, tabulate
from paper.study import Job, Measurement, Plan, Result, Study, select

GROWTH, C_U, N_LABELS = 1.5, 0.1, 8
DIMENSIONS = (1, 2, 3)
CENTROIDS = (25, 50, 100, 200, 400, 800)
FULL, QUICK = (300, 30_000), (100, 4000)  # examples of the statements, and points of a cube
STYLES = {
    "measured": ("o-", "black"),
    "radius bound": ("--", "0.35"),
    "proposition 6": (":", "0.35"),
    "optimum at least": ("-", "0.7"),
}
NOTES = [
    "Two moons with eight labels, each example moved to its nearest centroid, a fifth as "
    "many; γ is n^(1/8) and n^(1/4). The figure shows points spread evenly over a cube: "
    "the largest distance to a centroid, R m / (m − 1), the constant of Proposition 6, and "
    "half the distance of k + 1 points far apart, below which no k centroids can come.",
    "The theory speaks of soft constraints, the normalised Laplacian and a sink that grows "
    "with n; the algorithm has hard constraints, the plain one and a small sink.",
    "A statement that holds here may fail elsewhere. As printed, Lemma 1, the step (9) in "
    "the proof of Lemma 2, Propositions 3 (its β), 4, 5 and 7 fail on graphs that "
    "tests/paper/test_bounds.py has; docs/results/bounds.md gives what is true instead.",
]


def run(plan: Plan) -> list[Result]:
    """Compute all statements, and the distortion in each dimension."""
    n, n_points = QUICK if plan.quick else FULL
    cubes = [Job(measure_distortion, {"dimension": d, "n": n_points}) for d in DIMENSIONS]
    return plan.run([Job(compute_statements, {"n": n}), *cubes])


def conclude(results: list[Result]) -> Findings:
    """Judge which statements hold, and how fast the distortion falls."""
    statements = select(results, compute_statements)[0].columns
    over_k = {r.arguments["dimension"]: r.columns for r in select(results, measure_distortion)}
    panels = [
        Panel(
            f"a cube of dimension {d}",
            "number of centroids k",
            "largest distance to a centroid",
            [Line(name, table["k"], table[name], *style) for name, style in STYLES.items()],
            log_x=True,
            log_y=True,
        )
        for d, table in over_k.items()
    ]
    return Findings(
        tables={"bounds-statements": statements}
        | {f"bounds-distortion-{d}": table for d, table in over_k.items()},
        pictures=[Picture("bounds-distortion", [panels])],
        claims=[*_judge_statements(statements), _judge_rates(over_k)],
        notes=NOTES,
    )


def compute_statements(n: int) -> Measurement:
    """Both sides of all statements, on two moons with eight labels, for two schedules of γ."""
    names = ("statement", "sink", "left", "right", "holds", "covered")
    rows = [
        (bound.name, sink, bound.left, bound.right, bool(bound.holds), bound.covered)
        for sink in (PROPOSITION_5.sink(n), PROPOSITION_4.sink(n))
        for bound in _list_statements(n, sink)
    ]
    return Measurement(tabulate(names, rows))


def _list_statements(n: int, sink: float) -> Iterator[Bound]:
    """Yield lemmas and propositions 2 to 7, in the order of the paper."""
    data = moons(n)
    X, y, labelled = data.X, np.where(data.y == 1, 1.0, -1.0)[:, None], np.arange(n) < N_LABELS
    sigma = 0.3 * scale_bandwidth(X)
    centres, assigned, moved = _quantize(X, n // 5, sigma)
    w, w_centres = (compute_similarities(x, x, sigma) for x in (X, centres))
    w_q = w_centres[np.ix_(assigned, assigned)]

    constants = Constants(C_U, sink, normalised=True)
    offline, f_q = (solve_soft(graph, labelled, y, **constants._asdict()) for graph in (w, w_q))
    online, online_q = (solutions.solve_online(g, labelled, y, constants) for g in (w, w_q))
    differences = [
        quantization.quantization_error(w[:t, :t], w_centres, assigned[:t]) for t in range(1, n + 1)
    ]
    last = differences[-1]
    yield solutions.proposition_2(online_q, online, offline, y)
    printed = generalization.printed_beta(N_LABELS, constants, largest_eigenvalue=2.0)
    proven = generalization.proven_beta(N_LABELS, constants)
    for beta, name in ((printed, "the printed β"), (proven, "the proven β")):
        bound = generalization.proposition_3(offline, y, labelled, beta=beta, delta=0.05)
        yield replace(bound, name=f"{bound.name} with {name}")
    yield solutions.lemma_1_as_printed(offline, labelled, constants)
    yield solutions.lemma_1(offline, labelled, constants)
    yield solutions.proposition_4_as_printed(online, offline, N_LABELS, constants)
    yield solutions.proposition_4(online, offline, N_LABELS, constants)
    yield solutions.lemma_2_as_printed(f_q, offline, N_LABELS, last, constants)
    yield solutions.lemma_2(f_q, offline, N_LABELS, last, constants)
    yield solutions.proposition_5_as_printed(online_q, online, last, N_LABELS, constants)
    yield solutions.proposition_5(online_q, online, differences, N_LABELS, constants)

    yield moved
    optimum = quantization.bracket_optimum(X, n // 5)
    yield quantization.k_centers_law(moved.left, optimum.high, GROWTH)
    slope = quantization.gaussian_lipschitz(sigma)
    yield quantization.proposition_7_as_printed(w, w_centres, assigned, moved.left, slope)
    yield quantization.proposition_7(w, w_centres, assigned, moved.left, slope)


def measure_distortion(dimension: int, n: int) -> Measurement:
    """The largest distance of a point to its nearest centroid, in a cube, over k."""
    points = np.random.default_rng(0).random((n, dimension))
    rows = []
    for k in CENTROIDS:
        bound = _quantize(points, k, bandwidth=1.0)[-1]
        law = quantization.proposition_6(
            bound.left, n_centroids=k, dimension=dimension, side=1.0, growth=GROWTH
        )
        optimum = quantization.bracket_optimum(points, k)
        rows.append((k, bound.left, bound.right, law.right, optimum.low))
    return Measurement(tabulate(("k", *STYLES), rows))


def _quantize(X: Floats, k: int, bandwidth: float) -> tuple[Floats, Ints, Bound]:
    """Return centroids, the nearest of each example, and the bound of their distances."""
    learner = OnlineLearner.paper(k, bandwidth, 0.1, GROWTH)
    learner.observe(X)
    centres = learner.vertices.points
    assigned = quantization.find_nearest(X, centres)
    bound = quantization.distortion(X, centres, assigned, learner.radius, GROWTH)
    return centres, assigned, bound


def _judge_statements(table: Table) -> list[Claim]:
    claims = []
    for name in dict.fromkeys(table["statement"]):
        rows = [i for i, other in enumerate(table["statement"]) if other == name]
        sides = "; ".join(
            f"γ = {table['sink'][i]:.3g}: {table['left'][i]:.3g} ≤ {table['right'][i]:.3g}"
            for i in rows
        )
        outside = "" if all(table["covered"][i] for i in rows) else " Its conditions are not met."
        verdict = judge(bool(table["holds"][i]) for i in rows)
        claims.append(Claim(f"{name}: left side ≤ right side.", f"{sides}.{outside}", verdict))
    return claims


def _judge_rates(over_k: dict[int, Table]) -> Claim:
    slopes = {d: fit_exponent(table["k"], table["measured"]) for d, table in over_k.items()}
    return Claim(
        "Proposition 6: the largest distortion is O(k^(-1/d)).",
        "Fitted exponents on points spread evenly over cubes: "
        + ", ".join(f"d = {d}: {slope:.2f} (-1/d = {-1 / d:.2f})" for d, slope in slopes.items())
        + ". No less steep than 0.8 / d is called agreement.",
        judge(slope <= -0.8 / d for d, slope in slopes.items()),
    )


STUDY = Study("bounds", "Section 4: the bounds, with numbers in them", run, conclude)
