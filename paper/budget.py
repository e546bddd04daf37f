"""The introduction's and the conclusion's claims: what a time budget buys, and what speed costs.

All answer the same stream as a whole, after they have seen all of it. For each method and size the
best of several bandwidths is taken.
"""

from collections.abc import Callable
from time import perf_counter

from labelwalk.arrays import Floats
from labelwalk.learner import OnlineLearner
from labelwalk.similarity import Gaussian
from labelwalk.verdicts import Verdicts
from paper.all_datasets import make_stream
from paper.baselines.full_graph import OfflineHarmonic
from paper.baselines.quantized import KMeansHarmonic, NystromHarmonic, SampleHarmonic
from paper.evaluation import Stream, StreamLearner, evaluate, labels_first
from paper.findings import Claim, Findings, Line, Panel, Picture, Table, judge, tabulate
from paper.methods import measure_typical_distance
from paper.study import Job, Measurement, Plan, Result, Study

DATA, SUBSTITUTES = ("optdigits",), ("digits",)
SIZES = (50, 100, 200, 400, 800)
WIDTHS = (0.05, 0.08, 0.12, 0.2, 0.3)
SINK = 1e-3
LITTLE = 0.03  # the largest loss of accuracy that is called little
N_WARM_UP_ROWS = 300  # compile, and load libraries
STYLES = {
    "k-centers": ("D-", "black"),
    "k-means": ("s-", "#0072B2"),
    "random sample": ("o-", "0.6"),
    "Nyström": ("^-", "#D55E00"),
    "exact": ("*", "0.35"),
}


class KCenters:
    """The paper's quantization as an offline method: learn all rows, then answer them.

    Labelled vertices are pure, as those of the other kinds are.
    """

    online = False

    def __init__(self, k: int, sigma: float) -> None:
        self.learner = OnlineLearner.paper(k, sigma, SINK, labelled="pure")
        self.teach = self.learner.teach

    def observe(self, X: Floats) -> Verdicts:
        """Learn all rows, then answer them."""
        self.learner.observe(X)
        verdicts: Verdicts = self.learner.predict(X)
        return verdicts


EXACT, DEFAULT = "exact", "default"
# made from a size and a bandwidth
METHODS: dict[str, Callable[[int, float], StreamLearner]] = {
    EXACT: lambda k, sigma: OfflineHarmonic(Gaussian(sigma, threshold=0.0), SINK),
    "k-centers": KCenters,
    "k-means": lambda k, sigma: KMeansHarmonic(k, Gaussian(sigma, threshold=0.0), SINK),
    "random sample": lambda k, sigma: SampleHarmonic(k, Gaussian(sigma, threshold=0.0), SINK),
    "Nyström": lambda k, sigma: NystromHarmonic(k, sigma, SINK),
}


def run(plan: Plan) -> list[Result]:
    """Run the exact solution, and all other methods with each size."""
    cases = [(EXACT, 0)]
    for size in SIZES[:3] if plan.quick else SIZES:
        cases += [(method, size) for method in (DEFAULT, *METHODS) if method != EXACT]
    max_examples = 1000 if plan.quick else 6000
    return plan.run(
        Job(solve, {"dataset": name, "max_examples": max_examples, "method": method, "size": size})
        for name in plan.choose(DATA, SUBSTITUTES)
        for method, size in cases
    )


def solve(dataset: str, max_examples: int, method: str, size: int) -> Measurement:
    """Accuracy and time with the best bandwidth; the default answers each example at its step."""
    stream = make_stream(dataset, 0, max_examples)
    if method != DEFAULT:
        return _choose_width(stream, lambda sigma: METHODS[method](size, sigma))
    evaluate(OnlineLearner(size), _take_first(stream))
    result = evaluate(OnlineLearner(size), stream)
    return Measurement({"accuracy": [result.accuracy]}, {"answer": float(result.seconds.sum())})


def _choose_width(stream: Stream, make: Callable[[float], StreamLearner]) -> Measurement:
    """The best accuracy of several bandwidths, and the time for it."""
    best, seconds = -1.0, 0.0
    sample = _take_first(stream)
    evaluate(make(measure_typical_distance(sample.rows)), sample)
    for width in WIDTHS:
        learner = make(width * measure_typical_distance(stream.rows))
        start = perf_counter()
        accuracy = evaluate(learner, stream).accuracy
        if accuracy > best:
            best, seconds = accuracy, perf_counter() - start
    return Measurement({"accuracy": [best]}, {"answer": seconds})


def _take_first(stream: Stream) -> Stream:
    return labels_first(stream.rows[:N_WARM_UP_ROWS], stream.truth[:N_WARM_UP_ROWS])


def conclude(results: list[Result]) -> Findings:
    """Compare accuracy with time for each kind, and with the number of centroids."""
    arguments = ("dataset", "method", "size")
    rows = [
        (*map(r.arguments.get, arguments), r.columns["accuracy"][0], r.seconds["answer"])
        for r in results
    ]
    table = tabulate(("data", "method", "size", "accuracy", "seconds"), rows)
    return Findings(
        tables={
            "budget": {name: column for name, column in table.items() if name != "seconds"},
            "budget-times": table,
        },
        pictures=[_draw_panels(table)],
        claims=[
            _judge_budgets(table),
            _judge_speed(table, "k-centers", "k-centers in place of all examples"),
            _judge_speed(table, "default", "our default profile, online"),
        ],
        notes=["Times are those of this run on this machine, and differ from run to run."],
    )


def _list_rows(table: Table, method: str) -> list[tuple[float, float, float]]:
    """Return size, accuracy and seconds of a method."""
    columns = zip(table["method"], table["size"], table["accuracy"], table["seconds"], strict=True)
    return [row for name, *row in columns if name == method]  # type: ignore[misc]


def _draw_panels(table: Table) -> Picture:
    by_time = []
    for name, style in STYLES.items():
        _, accuracy, seconds = zip(*_list_rows(table, name), strict=True)
        by_time.append(Line(name, seconds, accuracy, *style))
    sizes, accuracy, _ = zip(*_list_rows(table, "default"), strict=True)
    by_size = [Line("default profile", sizes, accuracy, "o-")]
    data = ", ".join(dict.fromkeys(table["data"]))
    panels = [
        Panel(data, "seconds", "accuracy", by_time, log_x=True),
        Panel("online", "number of centroids k", "accuracy", by_size, log_x=True),
    ]
    return Picture("budget", [panels])


def _judge_budgets(table: Table) -> Claim:
    """At each time that a Nyström solution took, the best quantization that took no longer."""
    quantized = [row for kind in ("k-centers", "k-means") for row in _list_rows(table, kind)]
    comparisons = [
        (size, seconds, accuracy, max((r[1] for r in quantized if r[2] <= seconds), default=None))
        for size, accuracy, seconds in _list_rows(table, "Nyström")
    ]
    text = "; ".join(
        f"{size} landmarks, {seconds:.2f} s: {accuracy:.3f} against "
        + ("none as fast" if other is None else f"{other:.3f}")
        for size, seconds, accuracy, other in comparisons
    )
    return Claim(
        "Given the same time, Nyström methods are inferior to quantization (section 1).",
        f"{text}.",
        judge(other is not None and accuracy <= other for _, _, accuracy, other in comparisons),
    )


def _judge_speed(table: Table, method: str, title: str) -> Claim:
    _, full, full_seconds = _list_rows(table, "exact")[0]
    rows = _list_rows(table, method)
    text = "; ".join(
        f"k = {size}: {full_seconds / seconds:.1f} times faster, {accuracy - full:+.3f}"
        for size, accuracy, seconds in rows
    )
    return Claim(
        f"[{title}] A significant speedup can be achieved with little degradation in accuracy "
        "(section 6).",
        f"Against the exact solution ({full:.3f} in {full_seconds:.2f} s): {text}. A tenth of the "
        f"time for a loss of at most {LITTLE} is called that.",
        judge([any(full_seconds >= 10 * s and full - a <= LITTLE for _, a, s in rows)]),
    )


STUDY = Study("budget", "Sections 1 and 6: what a time budget buys", run, conclude, DATA)
