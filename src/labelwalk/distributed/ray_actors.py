"""Learners of streams as Ray actors, which restart elsewhere when their machine is lost.

Every call has the position in its stream, so Ray may repeat it on another machine. Join a cluster
first, with `labelwalk.distributed.ray_executor.join`. Actors end with the driver that started them,
and their folder is one that all machines share.
"""

import os
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from labelwalk._validation import check_whole
from labelwalk.distributed import shared_learner
from labelwalk.distributed.filesystem import hash_key
from labelwalk.distributed.keyed_learners import BlockAnswer, KeyedLearners, PositionedLearners
from labelwalk.distributed.ray_executor import MAX_ATTEMPTS, check_joined, count_cores, wait_for
from labelwalk.distributed.shared_learner import ModelUpdate, SharedAnswer, SketchUpdate
from labelwalk.distributed.sketches import Sketch, check_settings
from labelwalk.settings import Settings
from labelwalk.verdicts import Verdicts

# isort: split
import ray  # after ray_executor, which makes it require tokens

CONTROL_GROUP = "asking"  # calls of the coordinator that wait for no model


class KeyedActors(PositionedLearners[BlockAnswer]):
    """Learners by key, each in one of several actors, for a `ReplayFeeder`.

    It can be passed to tasks and actors of Ray, each with a feeder and keys of its own.
    """

    def __init__(self, actors: Sequence[Any], every: int) -> None:
        self.actors, self.every = list(actors), every

    def close(self) -> None:
        """Stop the actors. What is not saved is lost: call `save` of the feeder before."""
        for actor in self.actors:
            ray.kill(actor)

    def _choose_actor(self, key: str) -> int:
        """Return the number of the actor of a key, the same in every process."""
        return int(hash_key(key), 16) % len(self.actors)

    def _call(self, method: str, key: str, *arguments: Any) -> Any:
        actor = self.actors[self._choose_actor(key)]
        return wait_for(getattr(actor, method).remote(key, *arguments), f"the learner of {key!r}")


def start_keyed_actors(
    folder: str | os.PathLike[str],
    settings: Settings,
    every: int = 1000,
    at_hand: int = 100,
    n_actors: int | None = None,
) -> KeyedActors[Verdicts]:
    """Start actors with a learner for each key.

    Parameters
    ----------
    folder, settings, every
        As in `labelwalk.distributed.keyed_learners.KeyedLearners`.
    at_hand : int
        Number of learners in the memory of each actor.
    n_actors : int, optional
        None: one per core of the cluster. The number may differ from the last time.
    """
    check_whole("every", every, "1000")
    check_whole("at_hand", at_hand, "100")
    check_joined()
    n_actors = count_cores() if n_actors is None else n_actors
    check_whole("n_actors", n_actors, "4")
    arguments = os.path.abspath(folder), settings, every, at_hand
    return KeyedActors([_start_actor(KeyedLearners, *arguments) for _ in range(n_actors)], every)


class SharedLearnerActors(KeyedActors[SharedAnswer]):
    """A shared learner: an actor for each partition, and one for the coordinator.

    Parameters
    ----------
    folder : path
        Of the sketches of the partitions.
    names : sequence of str
        All partitions there will be.
    settings : Settings
    every : int
        As in `labelwalk.distributed.shared_learner.Partitions`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        names: Sequence[str],
        settings: Settings,
        every: int = 1000,
    ) -> None:
        shared_learner.check_names(names)
        check_whole("every", every, "1000")
        check_settings(settings)
        check_joined()
        self._names, actor_name = list(names), f"labelwalk coordinator {uuid.uuid4().hex}"
        self._coordinator = _start_actor(
            shared_learner.Coordinator,
            *(os.path.abspath(folder), self._names, settings),
            name=actor_name,
            max_concurrency=2 * len(names) + 1,
            concurrency_groups={CONTROL_GROUP: len(names) + 1},
        )
        self._link = _RayLink(actor_name)
        arguments = shared_learner.Partitions, self._link, settings, every
        super().__init__([_start_actor(*arguments) for _ in names], every)

    def news(self) -> ModelUpdate:
        """Return the newest model and the rows it has learned from."""
        return self._link.news(-1)

    def sketch(self) -> Sketch:
        """Return the sketch of all rows that were sent."""
        sketch: Sketch = wait_for(self._coordinator.sketch.remote(), "the coordinator")
        return sketch

    def close(self) -> None:
        """Stop the actors, as in `KeyedActors.close`, and the coordinator."""
        super().close()
        ray.kill(self._coordinator)

    def _choose_actor(self, key: str) -> int:
        shared_learner.check_partition(key, self._names)
        return self._names.index(key)


class _RayAcknowledgement(NamedTuple):
    """An `Acknowledgement` of the coordinator."""

    reference: Any

    def done(self) -> bool:
        return bool(ray.wait([self.reference], timeout=0)[0])

    def result(self) -> int:
        return int(wait_for(self.reference, "the coordinator"))


class _RayLink(NamedTuple):
    """A `CoordinatorLink` that finds the coordinator by name.

    An actor that holds a handle of another one may not restart after the driver dropped its own.
    """

    actor_name: str

    def start(self, name: str) -> SketchUpdate:
        update: SketchUpdate = self._call("start", name)
        return update

    def send(self, update: SketchUpdate) -> _RayAcknowledgement:
        return _RayAcknowledgement(ray.get_actor(self.actor_name).hand_over.remote(update))

    def news(self, version: int) -> ModelUpdate:
        update: ModelUpdate = self._call("news", version)
        return update

    def _call(self, method: str, argument: Any) -> Any:
        remote = getattr(ray.get_actor(self.actor_name), method)
        reference = remote.options(concurrency_group=CONTROL_GROUP).remote(argument)
        return wait_for(reference, "the coordinator")


def _start_actor(kind: type, *arguments: Any, name: str | None = None, **options: Any) -> Any:
    """Start an actor that restarts when its process or its machine is lost."""
    remote: Any = ray.remote(
        max_restarts=-1, max_task_retries=MAX_ATTEMPTS, scheduling_strategy="SPREAD", **options
    )
    return remote(kind).options(name=name).remote(*arguments)


# Their names up to version 0.7
keyed_on_ray = start_keyed_actors
SharedOnRay = SharedLearnerActors
