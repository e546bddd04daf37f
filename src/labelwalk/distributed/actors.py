"""Learners of streams as actors of Ray, which places them and begins them anew where they are lost.

Every call says where in its stream it stands, so that Ray may do it again, on another machine too.
A cluster is joined before, by `labelwalk.distributed.on_ray.join`; actors end with the driver that
began them, and their folder is one that all machines share.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from labelwalk.arrays import Label
from labelwalk.distributed.budget import budget_of
from labelwalk.distributed.centre import Centre, Handed, News, check_known, check_names
from labelwalk.distributed.keyed import KeyedLearners
from labelwalk.distributed.on_ray import TRIES, check_joined, result
from labelwalk.distributed.partition import Answered
from labelwalk.distributed.partitions import Partitions
from labelwalk.distributed.shelf import number_of
from labelwalk.distributed.sketches import Sketch
from labelwalk.parameters import check_whole
from labelwalk.settings import Settings
from labelwalk.verdicts import Verdicts

# isort: split
import ray  # not before on_ray, which has it ask for tokens

ASKING = "asking"  # calls of the centre that wait for no model
Answer = TypeVar("Answer")


class ByKey(Generic[Answer]):
    """Learners by their keys, each in one of several actors; a `Feeder` is given this.

    It can be passed on to tasks and actors of Ray, each with a feeder and keys of its own.
    """

    def __init__(self, actors: Sequence[Any], which: Callable[[str], int], every: int) -> None:
        self.actors, self._which, self.every = list(actors), which, every

    def observe(self, key: str, rows: Any, position: int) -> Answer:
        """Learn rows that were not learned before, and answer all."""
        answer: Answer = self._ask("observe", key, rows, position)
        return answer

    def teach(self, key: str, rows: Any, labels: Sequence[Label], position: int) -> None:
        """Learn rows with labels that were not learned before."""
        self._ask("teach", key, rows, labels, position)

    def position(self, key: str) -> int:
        """Return how many rows are learned."""
        return int(self._ask("position", key))

    def kept(self, key: str) -> int:
        """Return how many of them no accident can take away."""
        return int(self._ask("kept", key))

    def keep(self, key: str) -> int:
        """Keep all that are learned, and return how many."""
        return int(self._ask("keep", key))

    def close(self) -> None:
        """Let the actors go, with all that is not kept: a feeder's `save` comes before."""
        for actor in self.actors:
            ray.kill(actor)

    def _ask(self, method: str, key: str, *arguments: Any) -> Any:
        actor = self.actors[self._which(key)]
        return result(getattr(actor, method).remote(key, *arguments), f"the actor of {key!r}")


class ByHash:
    """Which of n a key goes to, the same in every process."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __call__(self, key: str) -> int:
        """Return one from 0 on."""
        return int(number_of(key), 16) % self._n


class ByName:
    """Which of several names a key is."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)

    def __call__(self, key: str) -> int:
        """Return one from 0 on."""
        check_known(key, self._names)
        return self._names.index(key)


def keyed_on_ray(
    folder: str | os.PathLike[str],
    settings: Settings,
    every: int = 1000,
    at_hand: int = 100,
    n_actors: int | None = None,
) -> ByKey[Verdicts]:
    """Begin actors that keep a learner for each key.

    Parameters
    ----------
    folder, settings, every
        As in `labelwalk.distributed.keyed.KeyedLearners`.
    at_hand : int
        Learners that each actor holds in memory.
    n_actors : int, optional
        None: one a core of the cluster. It may be another the next time.
    """
    check_whole("every", every, "1000")
    check_whole("at_hand", at_hand, "100")
    check_joined()
    if n_actors is None:
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        n_actors = max(1, int(resources.get("CPU", 1)))
    check_whole("n_actors", n_actors, "4")
    given = os.path.abspath(folder), settings, every, at_hand
    actors = [_begun(KeyedLearners, *given) for _ in range(n_actors)]
    return ByKey(actors, ByHash(n_actors), every)


class SharedOnRay(ByKey[Answered]):
    """A shared learner: an actor for each partition, and one where they meet.

    Parameters
    ----------
    folder : path
        Of what the partitions hand over.
    names : sequence of str
        All partitions there will be.
    settings : Settings
    every : int
        As in `labelwalk.distributed.partitions.Partitions`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        names: Sequence[str],
        settings: Settings,
        every: int = 1000,
    ) -> None:
        check_names(names)
        check_whole("every", every, "1000")
        budget_of(settings)
        check_joined()
        called = f"labelwalk centre {uuid.uuid4().hex}"
        self._centre = _begun(
            Centre,
            *(os.path.abspath(folder), list(names), settings),
            name=called,
            max_concurrency=2 * len(names) + 1,
            concurrency_groups={ASKING: len(names) + 1},
        )
        self._way = ToCentre(called)
        actors = [_begun(Partitions, self._way, settings, every) for _ in names]
        super().__init__(actors, ByName(names), every)

    def news(self) -> News:
        """Return the newest model and what it knows."""
        return self._way.news(-1)

    def sketch(self) -> Sketch:
        """Return what stands for all rows that were handed over."""
        sketch: Sketch = result(self._centre.sketch.remote(), "the centre")
        return sketch

    def close(self) -> None:
        """Let the actors go, as `ByKey.close` does, and the centre."""
        super().close()
        ray.kill(self._centre)


class ToCentre:
    """The way from a partition to the centre, by what it is called.

    An actor that is given another one itself may not begin anew after its driver let go of that.
    """

    def __init__(self, called: str) -> None:
        self._called = called

    def start(self, name: str) -> Handed:
        """Return what is kept of a partition."""
        handed: Handed = result(self._asking("start").remote(name), "the centre")
        return handed

    def send(self, handed: Handed) -> Sent:
        """Hand over, and do not wait."""
        return Sent(ray.get_actor(self._called).hand_over.remote(handed))

    def news(self, version: int) -> News:
        """Return the newest model, without it where this version is known."""
        news: News = result(self._asking("news").remote(version), "the centre")
        return news

    def _asking(self, method: str) -> Any:
        return getattr(ray.get_actor(self._called), method).options(concurrency_group=ASKING)


class Sent:
    """A hand-over on its way."""

    def __init__(self, reference: Any) -> None:
        self._reference = reference

    def done(self) -> bool:
        """Say whether it is in a model."""
        return bool(ray.wait([self._reference], timeout=0)[0])

    def result(self) -> int:
        """Wait until it is, and return up to where the partition is kept."""
        return int(result(self._reference, "the centre"))


def _begun(kind: type, *arguments: Any, name: str | None = None, **options: Any) -> Any:
    """Begin an actor that outlives its process and its machine."""
    lasting: Any = ray.remote(
        max_restarts=-1, max_task_retries=TRIES, scheduling_strategy="SPREAD", **options
    )
    return lasting(kind).options(name=name).remote(*arguments)
