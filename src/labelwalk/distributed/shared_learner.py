"""A shared learner of several partitions: each sends sketches, and answers from the merged model.

The age of an answer is bounded in rows. A partition sends its sketch before it has taken more than
`every` rows since the last time, and at once after labels. It takes no row while more than twice
`every` of its rows are not in a model: `every` in updates that were sent, and `every` since. It
asks for the newest model before each block. That model lacks at most 2 `every` rows of each
partition, this block included, and the labels of updates in progress: a label is in the first model
that is begun after its update arrived.
"""

import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from labelwalk._validation import as_labels, as_rows, check_whole, shown
from labelwalk.arrays import Floats, Label
from labelwalk.distributed import sketches
from labelwalk.distributed.filesystem import VersionedFiles, explain_write_errors, parse_location
from labelwalk.distributed.keyed_learners import PositionedLearners, count_learned
from labelwalk.distributed.model import Model, solve_cover
from labelwalk.settings import Settings
from labelwalk.storage.atomic_write import write_atomic
from labelwalk.verdicts import Verdicts, blank_answers, decide


class SketchUpdate(NamedTuple):
    """A sketch of all rows of a partition up to a position."""

    name: str
    position: int
    sketch: sketches.Sketch


class ModelUpdate(NamedTuple):
    """A model, and the rows it has learned from."""

    version: int  # number of rows of all partitions
    positions: dict[str, int]  # of each partition
    model: Model | None  # None before the first row, or if the caller has it already


@dataclass(frozen=True)
class SharedAnswer:
    """The answer of a model to a block of rows, and how many rows the model may lack.

    The `version` is the number of rows the model has learned from; 0 before the first model, when
    nothing is answered. The `lag` is the largest number of rows that all partitions have taken and
    the model lacks: those of this partition, counted, the block itself included, and 2 × `every`
    for each other partition.
    """

    verdicts: Verdicts
    version: int
    lag: int


class Acknowledgement(Protocol):
    """The result of an update in progress, such as a `concurrent.futures.Future`."""

    def done(self) -> bool:
        """Return whether the update is in a model."""

    def result(self) -> int:
        """Wait until it is, and return the saved position of the partition."""


class CoordinatorLink(Protocol):
    """How a partition reaches the coordinator."""

    def start(self, name: str) -> SketchUpdate:
        """Return the saved sketch of a partition."""

    def send(self, update: SketchUpdate) -> Acknowledgement:
        """Send an update without waiting."""

    def news(self, version: int) -> ModelUpdate:
        """Return the newest model, without the model itself if it has this version."""


class Coordinator:
    """Stores the newest sketch of each partition in a file, and makes the model of all of them.

    A sketch has all rows of its partition and replaces the one before, so sending it twice counts
    nothing twice. Several threads may send updates at the same time: those that wait while a model
    is made are all in the next one.

    Parameters
    ----------
    folder : path
        Of the sketches. A new coordinator continues with them.
    names : sequence of str
        All partitions there will be.
    settings : Settings
    """

    def __init__(
        self, folder: str | os.PathLike[str], names: Sequence[str], settings: Settings
    ) -> None:
        check_names(names)
        self._settings, self._budget = settings, sketches.budget_from_settings(settings)
        self._files = VersionedFiles(folder, ".arrow")
        self._save_lock, self._merge_lock = threading.Lock(), threading.Lock()
        self._names = list(names)
        self._updates = {name: self.start(name) for name in names}
        self._newest = self._make_model()

    def start(self, name: str) -> SketchUpdate:
        """Return the saved sketch of a partition: it continues from there."""
        check_partition(name, self._names)
        with self._save_lock:  # a file being written looks like one of a killed writer
            saved = self._files.load(
                name, lambda path: parse_location(str(path)).parse(sketches.sketch_from_bytes)
            )
        return SketchUpdate(name, *(saved or (0, sketches.Sketch())))

    def hand_over(self, update: SketchUpdate) -> int:
        """Save a sketch, make a model with it, and return the saved position of its partition.

        Rows with other features than those of other partitions raise a ValueError and change
        nothing.
        """
        name, position, sketch = update
        check_partition(name, self._names)
        with self._save_lock:
            self._check_features(sketch)
            if position > self._updates[name].position:
                self._files.save(name, position, lambda path: _write_sketch(path, sketch))
                self._updates[name] = update
        with self._merge_lock:
            if self._newest.positions[name] < position:
                self._newest = self._make_model()
        return position

    def news(self, version: int = -1) -> ModelUpdate:
        """Return the newest model, without the model itself if it has this version."""
        newest = self._newest
        return newest if newest.version > version else newest._replace(model=None)

    def sketch(self) -> sketches.Sketch:
        """Return the sketch of all rows that were sent."""
        return self._merge()[1]

    def _merge(self) -> tuple[dict[str, int], sketches.Sketch]:
        """Return the positions of all partitions, and the sketch of all rows up to there."""
        with self._save_lock:
            updates = list(self._updates.values())
        parts, budget = [update.sketch for update in updates], self._budget
        merged = sketches.merge(parts, budget.n_centroids, budget.labels_per_class)
        return {update.name: update.position for update in updates}, merged

    def _make_model(self) -> ModelUpdate:
        positions, merged = self._merge()
        if not merged.n_seen:
            return ModelUpdate(0, positions, None)
        cover = sketches.decide_held(merged, self._budget.n_centroids).cover
        model = solve_cover(cover, *merged.collect_labelled(), self._settings)
        return ModelUpdate(merged.n_seen, positions, model)

    def _check_features(self, sketch: sketches.Sketch) -> None:
        parts = [update.sketch for update in self._updates.values()]
        widths = {other.n_features for other in parts if other.n_seen}
        if sketch.n_seen and widths and sketch.n_features not in widths:
            raise ValueError(
                f"Rows have {sketch.n_features} features, but rows of other partitions have "
                f"{widths.pop()}. Use the same columns in all partitions."
            )


def check_names(names: Sequence[str]) -> None:
    """Raise an error for invalid names of partitions."""
    is_list = not isinstance(names, str) and all(isinstance(name, str) for name in names)
    if not is_list or not names or len(set(names)) < len(names):
        raise ValueError(
            f"names={shown(names)} must be a list of distinct strings. Pass the names of all "
            "partitions, such as ['left', 'right']."
        )


def check_partition(name: str, names: Sequence[str]) -> None:
    """Raise an error for an unknown partition."""
    if name not in names:
        raise ValueError(f"{shown(name)} is not a partition. Choose one of {shown(list(names))}.")


def _write_sketch(path: Path, sketch: sketches.Sketch) -> None:
    with explain_write_errors(path, "Resolve this, and send the same block again."):
        write_atomic(path, [memoryview(sketches.sketch_to_bytes(sketch))])


class InProcessLink:
    """The link to a coordinator in this process: `send` returns when the update is in a model."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.start, self.news = coordinator.start, coordinator.news
        self._hand_over = coordinator.hand_over

    def send(self, update: SketchUpdate) -> Acknowledgement:
        """Send an update."""
        future: Future[int] = Future()
        future.set_result(self._hand_over(update))
        return future


class Partitions(PositionedLearners[SharedAnswer]):
    """The partitions of a shared learner in this process, by name.

    Rows are answered from the newest model. Labels are strings, and are sent at once.

    Parameters
    ----------
    link : CoordinatorLink
        To the coordinator, such as ``InProcessLink(coordinator)``.
    settings : Settings
        Those of the coordinator.
    every : int
        Rows after which a partition sends its sketch; the largest size of a block.

    Examples
    --------
    >>> import tempfile
    >>> from labelwalk import OnlineLearner
    >>> settings = OnlineLearner(50).settings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coordinator = Coordinator(folder, ["left", "right"], settings)
    ...     partitions = Partitions(InProcessLink(coordinator), settings, every=4)
    ...     partitions.teach("left", [[0.0], [9.0]], ["low", "high"], position=0)
    ...     answer = partitions.observe("right", [[1.0], [8.0]], position=0)
    ...     answer.verdicts.label.tolist(), answer.version, answer.lag
    (['low', 'high'], 2, 10)
    """

    def __init__(self, link: CoordinatorLink, settings: Settings, every: int = 1000) -> None:
        check_whole("every", every, "1000")
        sketches.check_settings(settings)
        self._link, self._settings, self.every = link, settings, every
        self._partitions: dict[str, _Partition] = {}

    def _call(self, method: str, key: str, *arguments: Any) -> Any:
        if key not in self._partitions:
            self._partitions[key] = _Partition(key, self._link, self._settings, self.every)
        return getattr(self._partitions[key], method)(*arguments)


class _Partition:
    """One partition: its sketch, the model it answers from, and its updates in progress."""

    def __init__(self, name: str, link: CoordinatorLink, settings: Settings, every: int) -> None:
        start = link.start(name)
        self._name, self._link, self._every = name, link, every
        self._abstain_below = settings.abstain_below
        budget = sketches.budget_from_settings(settings)
        self._builder = sketches.SketchBuilder(budget, start.sketch)
        self._newest = ModelUpdate(-1, {}, None)
        self._pending: deque[Acknowledgement] = deque()
        self._position = self._saved = self._sent = start.position

    def position(self) -> int:
        return self._position

    def durable_position(self) -> int:
        self._poll()
        return self._saved

    def save_key(self) -> int:
        self._send()
        self._wait_for(self._position)
        return self._saved

    def observe(self, rows: Any, position: int) -> SharedAnswer:
        checked, n_learned = self._check(rows, position)
        self._make_room(len(checked) - n_learned)
        update = self._link.news(self._newest.version)
        if update.version > self._newest.version:
            self._newest = update
        if self._newest.model is None:
            verdicts = decide(blank_answers(len(checked), 0), (), self._abstain_below)
        else:
            verdicts = self._newest.model.label(checked)
        self._take(checked[n_learned:])
        positions = self._newest.positions
        lag = 2 * self._every * (len(positions) - 1)  # of all other partitions
        lag += max(0, self._position - positions[self._name])  # a lost partition may be ahead
        return SharedAnswer(verdicts, self._newest.version, lag)

    def teach(self, rows: Any, labels: Label | Iterable[Label], position: int) -> None:
        checked, n_learned = self._check(rows, position)
        names = _as_strings(labels, len(checked))
        if n_learned < len(checked):
            self._make_room(len(checked) - n_learned)
            self._take(checked[n_learned:], names[n_learned:])
        self._send()  # of a repeated block too: sending may have failed before

    def _check(self, rows: Any, position: int) -> tuple[Floats, int]:
        """Return rows of numbers, and how many of them were taken before."""
        self._poll()
        model = self._newest.model
        width = self._builder.n_features if model is None else model.frozen.solved.points.shape[1]
        checked, _ = as_rows(rows, width)
        if len(checked) > self._every:
            raise ValueError(
                f"A block of {len(checked)} rows is larger than every={self._every}. Send smaller "
                "blocks, or increase every."
            )
        return checked, count_learned(self._name, len(checked), position, self._position)

    def _make_room(self, n: int) -> None:
        """Send and wait until n more rows are not too many for an update and for the model."""
        if self._position + n - self._sent > self._every:
            self._send()
        self._wait_for(self._position + n - 2 * self._every)

    def _take(self, rows: Floats, labels: list[str] | None = None) -> None:
        self._builder.add_rows(rows, labels)
        self._position += len(rows)

    def _send(self) -> None:
        if self._position > self._sent:
            update = SketchUpdate(self._name, self._position, self._builder.sketch())
            self._pending.append(self._link.send(update))
            self._sent = self._position

    def _poll(self) -> None:
        """Note the updates that are in a model by now."""
        while self._pending and self._pending[0].done():
            self._wait()

    def _wait_for(self, position: int) -> None:
        while self._saved < position:
            self._wait()

    def _wait(self) -> None:
        """Wait for the oldest update in progress."""
        try:
            self._saved = max(self._saved, self._pending.popleft().result())
        except BaseException:
            self._sent = self._saved  # so that it is sent again
            raise


def _as_strings(labels: Label | Iterable[Label], n: int) -> list[str]:
    """Return n labels, which must be strings: sketches support no others."""
    names = as_labels(labels, n)
    numbers = [name for name in names if not isinstance(name, str)]
    if numbers:
        raise ValueError(
            f"labels contains {shown(numbers[0])}, but a shared learner requires strings. Convert "
            "it with str(label)."
        )
    return [str(name) for name in names]


# Their names up to version 0.7
Centre = Coordinator
AtOnce = InProcessLink
