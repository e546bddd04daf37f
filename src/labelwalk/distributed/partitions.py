"""The partitions of a shared learner that one process has."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from labelwalk.arrays import Label
from labelwalk.distributed.budget import budget_of
from labelwalk.distributed.centre import Centre, Handed
from labelwalk.distributed.partition import Answered, Partition, Promise, Way
from labelwalk.parameters import check_whole
from labelwalk.settings import Settings


class AtOnce:
    """The way to a centre in this process: what is handed over is in a model when it returns."""

    def __init__(self, centre: Centre) -> None:
        self.start, self.news, self._hand_over = centre.start, centre.news, centre.hand_over

    def send(self, handed: Handed) -> Promise:
        """Hand over."""
        done: Future[int] = Future()
        done.set_result(self._hand_over(handed))
        return done


class Partitions:
    """The partitions of a shared learner that this process has, by their names.

    Every block comes with its position in the stream of its partition, as in
    `labelwalk.distributed.keyed.KeyedLearners`: a `labelwalk.distributed.feeding.Feeder` counts
    for you.

    Parameters
    ----------
    way : Way
        To the centre, such as ``AtOnce(centre)``.
    settings : Settings
        Those of the centre.
    every : int
        Rows after which a partition hands over; the most that a block may have.

    Examples
    --------
    >>> import tempfile
    >>> from labelwalk import OnlineLearner
    >>> settings = OnlineLearner(50).settings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     centre = Centre(folder, ["left", "right"], settings)
    ...     partitions = Partitions(AtOnce(centre), settings, every=4)
    ...     partitions.teach("left", [[0.0], [9.0]], ["low", "high"], position=0)
    ...     said = partitions.observe("right", [[1.0], [8.0]], position=0)
    ...     said.verdicts.label.tolist(), said.version, said.lag
    (['low', 'high'], 2, 10)
    """

    def __init__(self, way: Way, settings: Settings, every: int = 1000) -> None:
        check_whole("every", every, "1000")
        self._way, self._budget, self.every = way, budget_of(settings), every
        self._abstain_below = settings.abstain_below
        self._partitions: dict[str, Partition] = {}

    def observe(self, name: str, rows: Any, position: int) -> Answered:
        """Take rows without labels in, and answer each from the newest model.

        Parameters
        ----------
        name : str
        rows : array of shape (n, features)
            Those that were taken before are answered only.
        position : int
            How many rows of this partition came before.

        Raises
        ------
        GapError
            Some in between are missing.
        """
        return self._of(name).observe(rows, position)

    def teach(self, name: str, rows: Any, labels: Label | Iterable[Label], position: int) -> None:
        """Take rows with labels in, and hand over at once; labels are strings."""
        self._of(name).teach(rows, labels, position)

    def position(self, name: str) -> int:
        """Return how many rows of a partition are taken in."""
        return self._of(name).position

    def kept(self, name: str) -> int:
        """Return how many of them the centre has, safe from accidents."""
        partition = self._of(name)
        partition.hear()
        return partition.kept

    def keep(self, name: str) -> int:
        """Hand over, wait until that is in a model, and return up to where it is kept."""
        partition = self._of(name)
        partition.keep()
        return partition.kept

    def _of(self, name: str) -> Partition:
        if name not in self._partitions:
            self._partitions[name] = Partition(
                name, self._way, self._budget, self.every, self._abstain_below
            )
        return self._partitions[name]
