"""Shards sketched apart, merged and solved: as right as one learner that saw the whole stream.

Four labels a class, which lie in whichever shards they fall. One learner is taught them, and then
observes all other rows once: "online" is what it said of each at its own step, "after" what it says
of them all at the end. Shards are cut from the same rows, in the order of the stream or sorted by
class; each is sketched by itself, sketches merge as in a job, and the model names the same rows. An
answer of None counts as wrong. Figures are means over 20 shuffles; faces come in one order. After ±
stands the standard deviation of a difference, over shuffles. For comparison, "in another order" is
the same learner, taught the same labels, with the other rows shuffled once more. Faces come with
the default settings, and with those of the recogniser, whose sink stays as it is at first.

Asked of each cut: in the mean no more than a point under the single stream, online and after. Laws
are checked on all merged covers: over all pairs of vertices, and all pairs of a row and a vertex.
Jobs are done on files, 8 shards sorted by class, and again with the last task of each step first.

    python benchmarks/sharded.py [--data FOLDER] [--write docs/results/sharded.md]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from _data import LabelledStream, faces, letter, optdigits, shuffled, split
from _report import Line, parse, report
from _shards import (
    IN_ORDER,
    SORTED,
    Backwards,
    Given,
    answers,
    done,
    shards,
    sketched,
    written,
)
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits

from labelwalk import OnlineLearner
from labelwalk.arrays import Floats
from labelwalk.distributed import model_of
from labelwalk.distributed.cover import Cover
from labelwalk.faces.profiles import VECTORS

CUTS = [(cut, n) for cut in (IN_ORDER, SORTED) for n in (2, 8, 32)]
JOB = (SORTED, 8)
WITHIN = 0.01
ROUNDING = 1e-12  # of distances, relative


class Data(NamedTuple):
    """Rows, and the learner that they are given to."""

    name: str
    load: Callable[[int], LabelledStream]
    learner: Callable[[], OnlineLearner]
    seeds: int
    abstains: bool = False


def share_right(given: Given, said: Any) -> float:
    """Return the share of rows without labels that are named rightly."""
    return float(np.mean(_words(said) == given.truth[~given.taught].astype(str)))


def share_named(said: Any) -> float:
    return float(np.mean(_words(said) != "None"))


@dataclass
class Laws:
    """What was found on merged covers."""

    covers: int = 0
    kept: bool = True
    stated: list[float] = field(default_factory=list)  # distortion, in radii
    found: list[float] = field(default_factory=list)

    def look(self, cover: Cover, rows: Floats) -> None:
        """Measure every distance that a law speaks of."""
        farthest = cdist(rows, cover.points).min(axis=1).max()
        self.covers += 1
        self.kept &= cover.n_seen == len(rows)
        self.kept &= bool(pdist(cover.points).min() >= cover.radius * (1.0 - ROUNDING))
        self.kept &= bool(farthest <= cover.distortion * (1.0 + ROUNDING))
        self.stated.append(cover.distortion / cover.radius)
        self.found.append(farthest / cover.radius)

    def line(self, name: str) -> Line:
        told = (
            f"{self.covers} covers; the farthest row is {_range(self.found)} radii away, "
            f"stated are {_range(self.stated)}"
        )
        asked = "each row counted once, vertices a radius apart, rows within what is stated"
        return Line(f"{name}: laws", told, asked, self.kept)


def _words(said: Any) -> Any:
    return np.asarray(said).astype(str)


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


class Single(NamedTuple):
    """What a single stream says: at each step, at the end, and at the end of another order."""

    online: Any
    after: Any
    otherwise: Any


def single(data: Data, given: Given, seed: int) -> Single:
    rows, taught = given.rows[~given.taught], given.rows[given.taught]
    learner, other = data.learner(), data.learner()
    for one in (learner, other):
        one.teach(taught, given.truth[given.taught].tolist())
    online = learner.observe(rows).label
    other.observe(rows[shuffled(1000 + seed, len(rows))])
    return Single(online, learner.predict(rows).label, other.predict(rows).label)


def sharded(data: Data, given: Given, laws: Laws, cut: str, n: int) -> Any:
    settings = data.learner().settings
    whole = sketched(given, shards(given, cut, n), settings)
    rows = given.rows[~given.taught]
    laws.look(whole.cover, rows)
    return model_of(whole, settings).label(rows).label


def given_by(data: Data, seed: int) -> Given:
    stream = data.load(seed).whole
    return Given(stream.rows, stream.truth, ~stream.answered)


def jobs(data: Data, given: Given, said: Any) -> Line:
    """Do the whole job on files, twice, and compare with what was said of the same shards."""
    parts, settings = shards(given, *JOB), data.learner().settings
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = written(given, parts, folder / "rows")
        forwards = done(rows, folder / "one", settings)
        same = done(rows, folder / "other", settings, Backwards()) == forwards
        words = answers(folder / "one", parts)[~given.taught]
    as_above = np.array_equal(_words(words), _words(said))
    told = [f"{'the same' if same else 'other'} bytes"]
    told += [f"{'the' if as_above else 'other'} answers above"]
    asked = "the same bytes, the answers above"
    return Line(f"{data.name}: jobs", ", ".join(told), asked, same and as_above)


class Measured(NamedTuple):
    """One row a seed: what was right, and precise; the single stream first, then the cuts."""

    right: Floats
    precise: Floats
    laws: Laws
    job: Line


def measured(data: Data) -> Measured:
    right, precise, laws = [], [], Laws()
    for seed in range(data.seeds):
        given = given_by(data, seed)
        said = [*single(data, given, seed), *(sharded(data, given, laws, *cut) for cut in CUTS)]
        right.append([share_right(given, one) for one in said])
        precise.append([share_right(given, one) / share_named(one) for one in said])
        if seed == 0:
            job = jobs(data, given, said[len(Single._fields) + CUTS.index(JOB)])
    return Measured(np.array(right), np.array(precise), laws, job)


def lines_of(data: Data) -> Iterator[Line]:
    right, precise, laws, job = measured(data)
    online, after, otherwise, *cuts = right.T
    _, sure, _, *how_sure = precise.mean(axis=0)
    told = f"online {online.mean():.4f}, after {after.mean():.4f}, in another order "
    told += _against(otherwise, after, "after") + _precision(data, sure)
    yield Line(f"{data.name}: single stream", told, "", True)
    for (cut, n), own, sure in zip(CUTS, cuts, how_sure, strict=True):
        told = f"{own.mean():.4f}: {_against(own, online, 'online')}, "
        told += _against(own, after, "after") + _precision(data, sure)
        reached = own.mean() >= max(online.mean(), after.mean()) - WITHIN
        yield Line(f"{data.name}: {n} shards {cut}", told, "≥ −0.01 to both", bool(reached))
    yield laws.line(data.name)
    yield job


def _against(own: Floats, other: Floats, name: str) -> str:
    gap = own - other
    spread = f" ± {gap.std(ddof=1):.4f}" if len(gap) > 1 else ""
    return f"{gap.mean():+.4f}{spread} to {name}".replace("-", "−")


def _precision(data: Data, value: float) -> str:
    return f"; precision {value:.4f}" if data.abstains else ""


def digits(seed: int) -> LabelledStream:
    X, y = load_digits(return_X_y=True)
    order = shuffled(seed, len(y))
    return split(X[order], y[order])


def all_data(folder: Path | None) -> list[Data]:
    found = [Data("digits of scikit-learn, k = 200", digits, lambda: OnlineLearner(200), 20)]
    if folder is None:
        return found
    return [
        *found,
        Data("optdigits, k = 500", lambda s: optdigits(folder, s), lambda: OnlineLearner(500), 20),
        Data("letter, 6000, k = 500", lambda s: letter(folder, s), lambda: OnlineLearner(500), 20),
        Data("faces, k = 300", lambda s: faces(folder, s), lambda: OnlineLearner(300), 1),
        Data(
            "faces, k = 300, settings of the recogniser",
            *(lambda s: faces(folder, s), lambda: VECTORS.learner(300), 1, True),
        ),
    ]


def lines(folder: Path | None) -> Iterator[Line]:
    for data in all_data(folder):
        yield from lines_of(data)


def main() -> int:
    arguments = parse(__doc__ or "", data=True, needed=False)
    return report("Shards", __doc__ or "", lines(arguments.data), arguments.write)


if __name__ == "__main__":
    sys.exit(main())
