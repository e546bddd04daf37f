"""The introduction's and the conclusion's claims: what a time budget buys, and what speed costs.

All answer the same stream as a whole, after they have seen all of it. For each method and size the
best of several bandwidths is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian
from labelwalk.verdicts import Verdicts
from paper.baselines.k_means import KMeansHarmonic
from paper.baselines.nystrom import NystromHarmonic
from paper.baselines.offline import OfflineHarmonic
from paper.baselines.random_sample import SampleHarmonic
from paper.evaluation import Stream, accuracy, evaluate, labels_first
from paper.studies.contestants import typical_distance
from paper.studies.everywhere import stream_of
from paper.studies.findings import Claim, Findings, Line, Panel, Picture, Plan, Study
from paper.studies.jobs import Found, Job
from paper.studies.verdicts import judged

WANTED, INSTEAD = ("optdigits",), ("digits",)
SIZES = (50, 100, 200, 400, 800)
WIDTHS = (0.05, 0.08, 0.12, 0.2, 0.3)
SINK = 1e-3
LITTLE = 0.03
KINDS = ("k-centers", "k-means", "random sample", "Nyström")


class KCenters:
    """The paper's quantization as an offline method: learn all rows, then answer them.

    Labelled vertices are pure, as those of the other kinds are.
    """

    online = False

    def __init__(self, k: int, sigma: float) -> None:
        self.learner = OnlineLearner.paper(k, sigma, SINK, labelled="pure")

    def teach(self, X: Floats, labels: list[int]) -> None:
        """Learn labelled rows."""
        self.learner.teach(X, labels)

    def observe(self, X: Floats) -> Verdicts:
        """Learn all rows, then answer them."""
        self.learner.observe(X)
        verdicts: Verdicts = self.learner.predict(X)
        return verdicts


def jobs(plan: Plan) -> list[Job]:
    """Return the jobs of all kinds and sizes, of the exact solution, and of our default over k."""
    most = 1000 if plan.quick else 6000
    sizes = SIZES[:3] if plan.quick else SIZES
    found = []
    for dataset in plan.of(WANTED, INSTEAD):
        base = {"dataset": dataset, "most": most}
        found.append(Job(f"budget/{dataset}/exact", exact, base))
        for size in sizes:
            found.append(Job(f"budget/{dataset}/default-{size}", default, {**base, "k": size}))
            found += [
                Job(
                    f"budget/{dataset}/{kind.replace(' ', '-')}-{size}",
                    approximate,
                    {**base, "kind": kind, "size": size},
                )
                for kind in KINDS
            ]
    return found


def exact(dataset: str, most: int) -> Found:
    """The solution on all examples."""
    stream = stream_of(dataset, 0, most)
    return _best_width(stream, lambda sigma: OfflineHarmonic(Gaussian(sigma, threshold=0.0), SINK))


def approximate(dataset: str, most: int, kind: str, size: int) -> Found:
    """The solution on fewer representatives, or by fewer landmarks."""
    stream = stream_of(dataset, 0, most)

    def method(sigma: float) -> object:
        similarity = Gaussian(sigma, threshold=0.0)
        if kind == "k-centers":
            return KCenters(size, sigma)
        if kind == "k-means":
            return KMeansHarmonic(size, similarity=similarity, sink=SINK)
        if kind == "random sample":
            return SampleHarmonic(size, similarity=similarity, sink=SINK)
        return NystromHarmonic(size, similarity=similarity, sink=SINK)

    return _best_width(stream, method)


def default(dataset: str, most: int, k: int) -> Found:
    """Our default profile with k centroids, each example answered at its own step."""
    stream = stream_of(dataset, 0, most)
    evaluate(OnlineLearner(k), labels_first(stream.rows[:300], stream.truth[:300]))  # compiles
    outcome = evaluate(OnlineLearner(k), stream)
    return Found({"accuracy": [accuracy(outcome)]}, {"answer": float(outcome.seconds.sum())})


def conclude(plan: Plan) -> Findings:
    """Accuracy against time for each kind, and against the number of centroids."""
    table = _table(plan)
    timeless = {name: table[name] for name in ("data", "method", "size", "accuracy")}
    return Findings(
        tables={"budget": timeless, "budget-times": table},
        pictures=[_picture(table)],
        claims=[
            _claim_of_budgets(table),
            _claim_of_speed(table, "k-centers", "k-centers in place of all examples"),
            _claim_of_speed(table, "default", "our default profile, online"),
        ],
        notes=["Times are those of this run on this machine, and differ from run to run."],
    )


def _best_width(stream: Stream, method: Callable[[float], Any]) -> Found:
    """The best of several bandwidths, and the time that one took."""
    best, seconds = -1.0, 0.0
    few = labels_first(stream.rows[:300], stream.truth[:300])
    evaluate(method(typical_distance(few.rows)), few)  # compiles, and loads libraries
    for width in WIDTHS:
        learner = method(width * typical_distance(stream.rows))
        begun = perf_counter()
        reached = accuracy(evaluate(learner, stream))
        if reached > best:
            best, seconds = reached, perf_counter() - begun
    return Found({"accuracy": [best]}, {"answer": seconds})


Table = dict[str, list[Any]]


def _table(plan: Plan) -> Table:
    table: Table = {name: [] for name in ("data", "method", "size", "accuracy", "seconds")}
    for job in jobs(plan):
        found = plan.result(job)
        table["data"].append(job.arguments["dataset"])
        table["method"].append(job.arguments.get("kind", job.work.__name__))
        table["size"].append(job.arguments.get("size", job.arguments.get("k", 0)))
        table["accuracy"].append(found.columns["accuracy"][0])
        table["seconds"].append(found.about["seconds"]["answer"])
    return table


def _rows(table: Table, method: str) -> list[tuple[float, float, float]]:
    """Size, accuracy and seconds of a method."""
    columns = zip(table["method"], table["size"], table["accuracy"], table["seconds"], strict=True)
    return [(size, share, seconds) for name, size, share, seconds in columns if name == method]


def _picture(table: Table) -> Picture:
    looks = {
        "k-centers": ("D-", "black"),
        "k-means": ("s-", "#0072B2"),
        "random sample": ("o-", "0.6"),
        "Nyström": ("^-", "#D55E00"),
        "exact": ("*", "0.35"),
    }
    by_time = [
        Line(name, [r[2] for r in _rows(table, name)], [r[1] for r in _rows(table, name)], *look)
        for name, look in looks.items()
    ]
    ours = _rows(table, "default")
    by_size = [Line("default profile", [r[0] for r in ours], [r[1] for r in ours], "o-")]
    data = ", ".join(dict.fromkeys(table["data"]))
    panels = [
        Panel(data, "seconds", "accuracy", by_time, log_across=True),
        Panel("online", "number of centroids k", "accuracy", by_size, log_across=True),
    ]
    return Picture("budget", [panels])


def _claim_of_budgets(table: Table) -> Claim:
    """At each time that a Nyström solution took, the best quantization that took no longer."""
    quantized = [row for kind in ("k-centers", "k-means") for row in _rows(table, kind)]
    compared = [
        (size, seconds, reached, max((r[1] for r in quantized if r[2] <= seconds), default=None))
        for size, reached, seconds in _rows(table, "Nyström")
    ]
    told = "; ".join(
        f"{size} landmarks, {seconds:.2f} s: {reached:.3f} against "
        + ("none as fast" if other is None else f"{other:.3f}")
        for size, seconds, reached, other in compared
    )
    return Claim(
        "Given the same time, Nyström methods are inferior to quantization (section 1).",
        f"{told}.",
        judged(other is not None and reached <= other for _, _, reached, other in compared),
    )


def _claim_of_speed(table: Table, method: str, who: str) -> Claim:
    _, full, whole_time = _rows(table, "exact")[0]
    ours = _rows(table, method)
    told = "; ".join(
        f"k = {size}: {whole_time / seconds:.1f} times faster, {reached - full:+.3f}"
        for size, reached, seconds in ours
    )
    return Claim(
        f"[{who}] A significant speedup can be achieved with little degradation in accuracy "
        "(section 6).",
        f"Against the exact solution ({full:.3f} in {whole_time:.2f} s): {told}. A tenth of the "
        f"time for a loss of at most {LITTLE} is called that.",
        judged([any(whole_time >= 10 * s and full - a <= LITTLE for _, a, s in ours)]),
    )


STUDY = Study("budget", "Sections 1 and 6: what a time budget buys", jobs, conclude, WANTED)
