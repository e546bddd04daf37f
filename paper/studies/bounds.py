"""Section 4 of the paper: every statement with numbers in it, and the rates over k and n."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from labelwalk.learner import OnlineLearner
from labelwalk.solver.harmonic import solve_soft
from paper.baselines.full_graph import gaussian_similarities, scale_bandwidth
from paper.bounds import distortion, generalisation, laplacians, online, perturbation, sizes
from paper.bounds.schedules import PROPOSITION_4, PROPOSITION_5, fitted_exponent
from paper.bounds.statement import Bound
from paper.datasets.synthetic import moons, uniform_cube
from paper.studies.findings import Claim, Findings, Line, Panel, Picture, Plan, Study
from paper.studies.jobs import Found, Job
from paper.studies.verdicts import judged

GROWTH, C_U, N_LABELS = 1.5, 0.1, 8
DIMENSIONS = (1, 2, 3)
CENTROIDS = (25, 50, 100, 200, 400, 800)
FULL, QUICK = (300, 30_000), (100, 4000)  # examples of the statements, and points of a cube


def jobs(plan: Plan) -> list[Job]:
    """Return a job for the statements, and one for the distortion in each dimension."""
    n, points = QUICK if plan.quick else FULL
    statements = Job("bounds/statements", statements_on_moons, {"n": n})
    return [
        statements,
        *(
            Job(f"bounds/distortion-{d}", distortion_over_k, {"dimensions": d, "n": points})
            for d in DIMENSIONS
        ),
    ]


def statements_on_moons(n: int) -> Found:
    """Both sides of all statements, on two moons with eight labels, for two schedules of γ."""
    table: dict[str, list[object]] = {
        name: [] for name in ("statement", "sink", "left", "right", "holds", "covered")
    }
    case = _Case(n)
    for sink in (PROPOSITION_5.sink(n), PROPOSITION_4.sink(n)):
        for bound in case.statements(sink):
            row = (bound.name, sink, bound.left, bound.right, bound.holds, bound.covered)
            for column, value in zip(table.values(), row, strict=True):
                column.append(value)
    return Found(table, {})


def distortion_over_k(dimensions: int, n: int) -> Found:
    """The largest distance of a point to its nearest centroid, in a cube, over k."""
    rows = uniform_cube(n, dimensions)
    table: dict[str, list[float]] = {
        name: [] for name in ("k", "measured", "radius bound", "proposition 6", "optimum at least")
    }
    for k in CENTROIDS:
        learner = OnlineLearner.paper(k, 1.0, 0.1, GROWTH)
        learner.observe(rows)
        centres = learner.vertices.points
        bound = distortion.distortion(
            rows, centres, distortion.nearest(rows, centres), radius=learner.radius, growth=GROWTH
        )
        law = distortion.proposition_6(
            bound.left, n_centroids=k, dimension=dimensions, side=1.0, growth=GROWTH
        )
        table["k"].append(k)
        table["measured"].append(bound.left)
        table["radius bound"].append(bound.right)
        table["proposition 6"].append(law.right)
        table["optimum at least"].append(distortion.optimum_between(rows, k).low)
    return Found(table, {})


def conclude(plan: Plan) -> Findings:
    """Say which statements hold, and how fast the distortion falls."""
    statements, *over_k = (plan.result(job).columns for job in jobs(plan))
    return Findings(
        tables={"bounds-statements": statements}
        | {f"bounds-distortion-{d}": t for d, t in zip(DIMENSIONS, over_k, strict=True)},
        pictures=[_picture(over_k)],
        claims=[*_claims_of_statements(statements), _claim_of_rates(over_k)],
        notes=[
            "Two moons with eight labels, each example moved to its nearest centroid, a fifth as "
            "many; γ is n^(1/8) and n^(1/4). The figure shows points spread evenly over a cube: "
            "the largest distance to a centroid, R m / (m − 1), the constant of Proposition 6, and "
            "half the distance of k + 1 points far apart, below which no k centroids can come.",
            "The theory speaks of soft constraints, the normalised Laplacian and a sink that grows "
            "with n; the algorithm has hard constraints, the plain one and a small sink.",
            "A statement that holds here may fail elsewhere. As printed, Lemma 1, the step (9) in "
            "the proof of Lemma 2, Propositions 3 (its β), 4, 5 and 7 fail on graphs that "
            "tests/paper/test_bounds.py keeps; docs/guide/bounds.md gives what is true instead.",
        ],
    )


class _Case:
    """Two moons and their quantization: each example moved to its nearest centroid."""

    def __init__(self, n: int) -> None:
        data = moons(n)
        self.rows, self.y = data.X, np.where(data.y == 1, 1.0, -1.0)[:, None]
        self.labelled = np.arange(n) < N_LABELS
        sigma = 0.3 * scale_bandwidth(self.rows)
        self.lipschitz = laplacians.gaussian_lipschitz(sigma)
        self.k = n // 5
        learner = OnlineLearner.paper(self.k, sigma, 0.1, GROWTH)
        learner.observe(self.rows)
        self.radius, self.centres = learner.radius, learner.vertices.points
        self.own = distortion.nearest(self.rows, self.centres)
        self.w, self.w_centres = (
            gaussian_similarities(x, x, sigma) for x in (self.rows, self.centres)
        )
        self.w_q = self.w_centres[np.ix_(self.own, self.own)]

    def statements(self, sink: float) -> Iterator[Bound]:
        """Lemmas and propositions 2 to 7, in the order of the paper."""
        soft: dict[str, Any] = {"c_u": C_U, "sink": sink, "normalised": True}
        size, n_l = {"c_u": C_U, "sink": sink}, N_LABELS
        offline, f_q = (solve_soft(w, self.labelled, self.y, **soft) for w in (self.w, self.w_q))
        at_t = online.online_solution(self.w, self.labelled, self.y, **soft)
        at_t_q = online.online_solution(self.w_q, self.labelled, self.y, **soft)
        differences = [self._difference(t) for t in range(1, len(self.rows) + 1)]
        yield online.proposition_2(at_t_q, at_t, offline, self.y)
        printed = generalisation.printed_beta(n_l, **size, largest_eigenvalue=2.0)
        proven = generalisation.proven_beta(n_l, **soft)
        for beta, whose in ((printed, "the printed β"), (proven, "the proven β")):
            bound = generalisation.proposition_3(
                offline, self.y, self.labelled, beta=beta, delta=0.05
            )
            yield replace(bound, name=f"{bound.name} with {whose}")
        yield sizes.lemma_1_as_printed(offline, self.labelled, **size)
        yield sizes.lemma_1(offline, self.labelled, **size)
        yield online.proposition_4_as_printed(at_t, offline, n_l, **soft)
        yield online.proposition_4(at_t, offline, n_l, **soft)
        yield perturbation.lemma_2_as_printed(f_q, offline, self.labelled, differences[-1], **size)
        yield perturbation.lemma_2(f_q, offline, self.labelled, differences[-1], **size)
        yield perturbation.proposition_5_as_printed(at_t_q, at_t, differences[-1], n_l, **size)
        yield perturbation.proposition_5(at_t_q, at_t, differences, n_l, **size)
        yield from self._quantization()

    def _quantization(self) -> Iterator[Bound]:
        moved = distortion.distortion(
            self.rows, self.centres, self.own, radius=self.radius, growth=GROWTH
        )
        yield moved
        optimum = distortion.optimum_between(self.rows, self.k)
        yield distortion.k_centers_law(moved.left, optimum.high, growth=GROWTH)
        pair = (self.w, self.w_centres, self.own)
        slope: dict[str, Any] = {"distortion": moved.left, "lipschitz": self.lipschitz}
        yield laplacians.proposition_7_as_printed(*pair, **slope)
        yield laplacians.proposition_7(*pair, **slope)

    def _difference(self, t: int) -> float:
        return laplacians.quantization_error(self.w[:t, :t], self.w_centres, self.own[:t])


def _picture(over_k: list[dict[str, list[float]]]) -> Picture:
    looks = {"measured": ("o-", "black"), "radius bound": ("--", "0.35")}
    looks |= {"proposition 6": (":", "0.35"), "optimum at least": ("-", "0.7")}
    panels = [
        Panel(
            f"a cube of dimension {d}",
            "number of centroids k",
            "largest distance to a centroid",
            [Line(name, table["k"], table[name], *look) for name, look in looks.items()],
            log_across=True,
            log_up=True,
        )
        for d, table in zip(DIMENSIONS, over_k, strict=True)
    ]
    return Picture("bounds-distortion", [panels])


def _claims_of_statements(table: dict[str, list[Any]]) -> list[Claim]:
    claims = []
    for name in dict.fromkeys(table["statement"]):
        rows = [i for i, other in enumerate(table["statement"]) if other == name]
        sides = "; ".join(
            f"γ = {table['sink'][i]:.3g}: {table['left'][i]:.3g} ≤ {table['right'][i]:.3g}"
            for i in rows
        )
        outside = "" if all(table["covered"][i] for i in rows) else " Its conditions are not met."
        holds = judged(bool(table["holds"][i]) for i in rows)
        claims.append(Claim(f"{name}: left side ≤ right side.", f"{sides}.{outside}", holds))
    return claims


def _claim_of_rates(over_k: list[dict[str, list[float]]]) -> Claim:
    slopes = [fitted_exponent(table["k"], table["measured"]) for table in over_k]
    return Claim(
        "Proposition 6: the largest distortion is O(k^(-1/d)).",
        "Fitted exponents on points spread evenly over cubes: "
        + ", ".join(
            f"d = {d}: {slope:.2f} (-1/d = {-1 / d:.2f})"
            for d, slope in zip(DIMENSIONS, slopes, strict=True)
        )
        + ". No less steep than 0.8 / d is called agreement.",
        judged(slope <= -0.8 / d for d, slope in zip(DIMENSIONS, slopes, strict=True)),
    )


STUDY = Study("bounds", "Section 4: the bounds, with numbers in them", jobs, conclude)
