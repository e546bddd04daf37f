"""Faces recognized from four labels each, with the sink that the recognizer chooses.

Faces from twelve tracking videos, as vectors of dlib's network and as 32 × 32 pixels. "Office": the
eight people with most faces, whose videos are cut into ten segments that take turns. "Places": one
man in an office, where four of his faces are labelled, then in a room and a lobby, then outdoors;
all other people, and detections without a face, appear as strangers at random times. "For 500
frames": an unknown person stands in front of a camera that knows five others, and is named as in a
video, by the votes of the views on a track. Every face is answered before it is learned. The
nearest neighbour uses the radius that is best given the truth. Where a line gives sink and cliff,
the sink is that of the last update, some faces earlier, and the cliff that of the end. The
constants of a profile (bandwidth, usual sink, weights, smoothing) are the same for all lines, but
were chosen on these faces: see docs/decisions/faces.md.

    python benchmarks/faces.py --data FOLDER [--write FILE.md]
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _report import Line, run_with_data
from scipy.spatial.distance import cdist

from labelwalk.arrays import Floats, Ints
from labelwalk.demo import warm_up
from labelwalk.faces.pipeline import Tracker, Votes
from labelwalk.faces.profiles import MAJORITY, PIXELS, VECTORS, Profile
from labelwalk.faces.recognizer import FaceRecognizer
from labelwalk.faces.representations import Pixels
from paper.baselines.predictions import Predictions
from paper.datasets import PLACES, interleave_people, mix_with_strangers
from paper.evaluation import EvaluationResult, Stream, evaluate, labels_at_first_appearance

LABELS, HELD, PEOPLE = 4, 500, 5


class NumberedPeople:
    """A recognizer to be evaluated, of people with numbers, who are taught one by one."""

    def __init__(self, profile: Profile) -> None:
        self.recognizer = FaceRecognizer(profile)

    def teach(self, X: Floats, labels: list[int]) -> None:
        for row, number in zip(X, labels, strict=True):
            self.recognizer.teach(row[None], [str(number)])

    def observe(self, X: Floats) -> Predictions:
        verdicts = self.recognizer.observe(X).verdicts
        numbers = [None if name is None else int(name) for name in verdicts.label]
        return Predictions(np.array(numbers, dtype=object), verdicts.confidence)


class Faces(NamedTuple):
    """All faces, under one representation."""

    data: dict[str, Any]
    kind: str
    vectors: Floats
    profile: Profile

    def evaluate(self, order: Ints, who: Ints) -> tuple[NumberedPeople, Stream, EvaluationResult]:
        """Run through faces, the first four of each person labelled."""
        people = NumberedPeople(self.profile)
        stream = labels_at_first_appearance(self.vectors[order], who, per_class=LABELS)
        return people, stream, evaluate(people, stream)


def office(faces: Faces, precision: float, recall: float) -> Iterator[Line]:
    _, stream, result = faces.evaluate(*interleave_people(faces.data["person"]))
    found = result.precision, result.recall
    yield Line(
        f"eight people, {faces.kind}",
        f"precision {found[0]:.4f}, recall {found[1]:.4f}",
        f"{precision:.2f}, {recall:.2f}",
        found[0] >= precision and found[1] >= recall,
    )
    if faces.profile is PIXELS:
        nearest = recall_of_the_nearest(stream, 0.99)
        yield Line(
            "the nearest neighbour's recall at precision 0.99",
            f"{nearest:.4f}; ours {found[1]:.4f} at {found[0]:.4f}",
            "half of ours",
            bool(found[0] >= 0.99 and found[1] >= 2 * nearest),
        )


def recall_of_the_nearest(stream: Stream, precision: float) -> float:
    rows, who, taught = stream
    far = cdist(rows[~taught], rows[taught])
    order = np.argsort(far.min(axis=1), kind="stable")
    right = (who[taught][far.argmin(axis=1)] == who[~taught])[order]
    good = np.cumsum(right) >= precision * np.arange(1, len(right) + 1)
    return float(np.cumsum(right)[good].max(initial=0) / len(right))


def places(faces: Faces, least: tuple[float, ...]) -> Iterator[Line]:
    order, who = mix_with_strangers(faces.data)
    people, stream, result = faces.evaluate(order, who)
    accepted = result.answered[result.truth < 0].mean()
    names, recalls = [str(name) for name in faces.data["seq_names"]], []
    sequence = faces.data["seq"][order][stream.answered]
    for place in PLACES:
        there = (result.truth == 0) & (sequence == names.index(place))
        recalls.append(float(result.correct[there].mean()))
    shown = " / ".join(f"{recall:.3f}" for recall in recalls)
    survey = people.recognizer.survey()
    edge = "none in sight" if survey is None or survey.cliff is None else f"{survey.cliff:.1e}"
    yield Line(
        f"one man in three places, {faces.kind}",
        f"recall {shown}, false accepts {100 * accepted:.2f} %; sink {people.recognizer.sink:.1e}, "
        f"cliff {edge}",
        " / ".join(f"{one:.2f}" for one in least) + " at 1 %",
        accepted <= 0.01 and all(r >= bound for r, bound in zip(recalls, least, strict=False)),
    )


def hold_before_camera(faces: Faces) -> Iterator[Line]:
    """Each person with enough faces, held before a camera that knows five others."""
    person = faces.data["person"]
    counts = np.bincount(person[person >= 0])
    for who in np.flatnonzero(counts >= HELD):
        others = [one for one in np.argsort(-counts, kind="stable") if one != who][:PEOPLE]
        recognizer = FaceRecognizer(faces.profile)
        views = {one: faces.vectors[person == one][: LABELS + 100] for one in others}
        for one in others:
            recognizer.teach(views[one][:LABELS], [str(one)] * LABELS)
        for one in others:
            recognizer.observe(views[one][LABELS:])
        there = np.flatnonzero(person == who)[:HELD]
        alone, votes = observe_person(recognizer, faces.vectors[there], faces.data["frame"][there])
        voted, most = int((votes > MAJORITY).sum()), votes.max()
        largest = recognizer.strangers()[0].examples if recognizer.strangers() else 0
        yield Line(
            f"{faces.data['person_names'][who]} for {HELD} frames, {faces.kind}",
            f"named in {voted} (votes up to {most:.2f}), each view by itself in {alone}; "
            f"{largest} in one group",
            "never, one group",
            voted == 0 and largest >= 0.95 * HELD,
        )


def observe_person(recognizer: FaceRecognizer, rows: Floats, frames: Ints) -> tuple[int, Floats]:
    """Return how many views have a name each by itself, and how sure the votes of tracks are."""
    alone, confidences, last, patience = 0, [], -np.inf, Tracker().patience
    for row, frame in zip(rows, frames, strict=True):
        if frame - last > patience + 1:
            votes = Votes(recognizer.profile)
        last = frame
        seen = recognizer.observe(row[None])
        shares = zip(recognizer.people, seen.verdicts.probabilities[0].tolist(), strict=True)
        votes.take(row, dict(shares), int(seen.ids[0]))
        alone += seen.verdicts.label[0] is not None
        confidences.append(votes.confidence)
    return alone, np.array(confidences)


def twice(faces: Faces) -> Line:
    """All people, sequence after sequence, and then once more."""
    order = np.flatnonzero(faces.data["person"] >= 0)
    who = faces.data["person"][order].astype(np.int64)
    people, _, result = faces.evaluate(order, who)
    second = (people.observe(faces.vectors[order]).label == who).mean()
    return Line(
        f"all sequences and once more, {faces.kind}",
        f"right {result.accuracy:.4f}, then {second:.4f}",
        "not worse",
        second >= result.accuracy,
    )


def lines(data: Path) -> Iterator[Line]:
    warm_up()
    crops = dict(np.load(data / "face_streams" / "otb_haar_faces_64.npz"))
    network = dict(np.load(data / "face_streams" / "otb_haar_faces_dlib128.npz"))
    as_vector = Pixels(32)
    pixels = np.array([as_vector(np.repeat(one[:, :, None], 3, 2)) for one in crops["faces"]])
    vectors = Faces(network, "vectors", network["emb"].astype(np.float64), VECTORS)
    small = Faces(network, "pixels", pixels, PIXELS)
    yield from office(vectors, 0.99, 0.98)
    yield from office(small, 0.95, 0.65)
    yield from places(vectors, (0.99, 0.95, 0.97))
    yield from places(small, (0.88, 0.83))
    yield from hold_before_camera(vectors)
    yield twice(vectors)


if __name__ == "__main__":
    run_with_data("Faces", __doc__, lines)
