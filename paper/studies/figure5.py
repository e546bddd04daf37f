"""Figure 5: faces, precision against recall; one man in three places, and eight people.

The curve that is drawn is the best over the grid of a method, for each method alike, by the mean of
its best precision at recalls from 0.5 to 0.95. The table holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paper.evaluation import CurvePoint, precision_at_recall
from paper.studies import faces
from paper.studies.findings import Claim, Findings, Line, Panel, Picture, Plan, Study
from paper.studies.jobs import Job
from paper.studies.verdicts import judged

RECALLS = tuple(np.arange(0.5, 0.951, 0.05).round(2).tolist())
OURS, DEFAULT, NEAREST = "ours (Figure 1)", "ours (default profile)", "nearest neighbour"
PLACES, PLACES_INSTEAD = ("places", "places_pixels"), (faces.STRANGERS,)
PEOPLE, PEOPLE_INSTEAD = ("office", "office_pixels"), ("digits",)
PLACES_NOTE = (
    "The paper's recording of one person in a cubicle, a conference room and a corner with a couch "
    "was not published. Here: one man in three tracking videos (office; dark room and lobby; "
    "outdoors), with all other people and all false detections as strangers at random moments."
)
CHOICE_NOTE = (
    "Each curve is the best over a grid of one more parameter of its method, chosen with the "
    "truth: bandwidth for ours, the share of radii for boosting; the nearest neighbour has none."
)
PEOPLE_NOTE = (
    "The paper's recording of eight people was not published. Here: eight people of twelve "
    "tracking videos, whose frames are cut into ten segments each that take turns."
)


def worth(curve: list[CurvePoint]) -> float:
    """Return the mean over recalls from 0.5 to 0.95 of the best precision; 0 where none is reached.

    Examples
    --------
    >>> worth([CurvePoint(0.1, 1.0, 0.95)]), worth([CurvePoint(0.1, 1.0, 0.5)])
    (1.0, 0.1)
    """
    return float(np.mean([precision_at_recall(curve, recall) or 0.0 for recall in RECALLS]))


Curves = dict[str, list[CurvePoint]]


def _best_curves(plan: Plan, jobs: list[Job]) -> Curves:
    """The best curve of each method over its grid."""
    best: Curves = {}
    for job in jobs:
        name, curve = _method(job), _curve(plan, job)
        if name not in best or worth(curve) > worth(best[name]):
            best[name] = curve
    return best


def _method(job: Job) -> str:
    quarter = job.arguments.get("quarter")
    names = {faces.ours: OURS, faces.default: DEFAULT, faces.nearest: NEAREST}
    return f"boosting, {quarter}" if quarter else names[job.work]


def _curve(plan: Plan, job: Job) -> list[CurvePoint]:
    columns = plan.result(job).columns
    return [CurvePoint(*row) for row in zip(*columns.values(), strict=True)]


def _table(plan: Plan, jobs: list[Job]) -> dict[str, list[object]]:
    table: dict[str, list[object]] = {
        name: [] for name in ("method", "parameter", "precision", "recall")
    }
    for job in jobs:
        for point in _curve(plan, job):
            table["method"].append(job.key.rpartition("/")[2])
            for name, value in point._asdict().items():
                table[name].append(value)
    return table


def _picture(name: str, dataset: str, best: Curves) -> Picture:
    looks = {
        OURS: ("D-", "black"),
        DEFAULT: ("s--", "#0072B2"),
        NEAREST: ("o-", "0.6"),
        "boosting, all": ("-", "#D55E00"),
        "boosting, first quarter": ("--", "#D55E00"),
        "boosting, last quarter": (":", "#D55E00"),
    }
    lines = [
        Line(method, [p.recall for p in curve], [p.precision for p in curve], *looks[method])
        for method, curve in best.items()
    ]
    return Picture(name, [[Panel(dataset, "recall", "precision", lines)]])


def _claims_of_places(dataset: str, best: Curves) -> list[Claim]:
    score = {method: worth(curve) for method, curve in best.items()}
    whole = score["boosting, all"]
    quarters = [score["boosting, first quarter"], score["boosting, last quarter"]]
    means = "Mean best precision at recalls from 0.5 to 0.95"
    return [
        Claim(
            f"[{dataset}] Our learner is better than the nearest-neighbour classifier (5a).",
            f"{means}: {score[OURS]:.3f} against {score[NEAREST]:.3f}.",
            judged([score[OURS] > score[NEAREST]]),
        ),
        Claim(
            f"[{dataset}] Semi-supervised boosting is as good when its weak learners come from "
            "the whole stream (5a).",
            f"{means}: boosting {whole:.3f}, ours {score[OURS]:.3f}. Within 0.03 is as good.",
            judged([whole >= score[OURS] - 0.03]),
        ),
        Claim(
            f"[{dataset}] Boosting degrades significantly when they come from a quarter (5a).",
            f"{means}: first quarter {quarters[0]:.3f}, last quarter {quarters[1]:.3f}, all "
            f"{whole:.3f}. A loss of 0.03 is called significant.",
            judged(quarter < whole - 0.03 for quarter in quarters),
        ),
    ]


def _claims_of_people(dataset: str, best: Curves) -> list[Claim]:
    at_90 = precision_at_recall(best[OURS], 0.9)
    gains = _gains(best)
    return [
        Claim(
            f"[{dataset}] 95 percent precision at 90 percent recall (5b).",
            "Recall 0.9 is not reached."
            if at_90 is None
            else f"Precision {at_90:.3f} at a recall of at least 0.9.",
            judged([at_90 is not None and at_90 >= 0.95]),
        ),
        Claim(
            f"[{dataset}] Precision is 10 percent higher than that of the nearest neighbour at the "
            "same recall (5b).",
            "Gain at recalls that both reach: "
            + ", ".join(f"{recall:.2f}: {gain:+.3f}" for recall, gain in gains.items())
            + f". The largest recall is {_largest_recall(best[OURS])} for ours and "
            f"{_largest_recall(best[NEAREST])} for the nearest neighbour.",
            judged(gain >= 0.1 for gain in gains.values()),
        ),
    ]


def _gains(best: Curves) -> dict[float, float]:
    """Gain of precision over the nearest label, at recalls that both reach."""
    gains = {}
    for recall in RECALLS[::3]:
        mine = precision_at_recall(best[OURS], recall)
        theirs = precision_at_recall(best[NEAREST], recall)
        if mine is not None and theirs is not None:
            gains[recall] = mine - theirs
    return gains


def _largest_recall(curve: list[CurvePoint]) -> str:
    return f"{max(point.recall for point in curve):.3f}"


@dataclass(frozen=True)
class _Part:
    """What the two halves of the figure differ in."""

    name: str
    wanted: tuple[str, ...]
    instead: tuple[str, ...]
    note: str
    claims: Callable[[str, Curves], list[Claim]]
    boosting: bool

    def jobs(self, plan: Plan) -> list[Job]:
        return [job for dataset in self._data(plan) for job in self._curves(plan, dataset)]

    def conclude(self, plan: Plan) -> Findings:
        findings = Findings(notes=[self.note, CHOICE_NOTE])
        for dataset in self._data(plan):
            jobs = self._curves(plan, dataset)
            best, name = _best_curves(plan, jobs), f"{self.name}-{dataset.replace(' ', '-')}"
            findings.tables[name] = _table(plan, jobs)
            findings.pictures.append(_picture(name, dataset, best))
            findings.claims.extend(self.claims(dataset, best))
        return findings

    def study(self, title: str) -> Study:
        return Study(self.name, title, self.jobs, self.conclude, self.wanted)

    def _data(self, plan: Plan) -> list[str]:
        return plan.of(self.wanted, self.instead)

    def _curves(self, plan: Plan, dataset: str) -> list[Job]:
        return faces.curve_jobs(plan, dataset, boosting=self.boosting)


ADAPTATION = _Part(
    "fig5a", PLACES, PLACES_INSTEAD, PLACES_NOTE, _claims_of_places, boosting=True
).study("Figure 5a: one man in three places, among strangers")
OFFICE = _Part(
    "fig5b", PEOPLE, PEOPLE_INSTEAD, PEOPLE_NOTE, _claims_of_people, boosting=False
).study("Figure 5b: eight people, four labels each at their first appearance")
