"""A machine that is lost: its actors begin anew on another, and nothing is missing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from labelwalk.distributed.keyed_learners import ReplayFeeder

pytest.importorskip("ray")
from labelwalk.distributed.ray_actors import KeyedActors, start_keyed_actors
from labelwalk.distributed.ray_executor import join
from tests.unit.distributed.test_actors import (
    EVERY,
    KEYS,
    ROWS,
    SETTINGS,
    contents,
    feed,
    feed_all,
    whole,
)

# isort: split
import ray
from ray.cluster_utils import Cluster

pytestmark = pytest.mark.slow
__all__ = ["whole"]


@pytest.fixture
def machines() -> Iterator[Cluster]:
    """A head without cores, and two machines with one each."""
    quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 6}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": quick}
    cluster = Cluster(True, head_node_args=head)
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    join(cluster.address)
    yield cluster
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


def where(learners: KeyedActors[Any], key: str) -> tuple[str, int]:
    """Return the machine and the process of the learner of a key."""
    actor = learners.actors[learners._choose_actor(key)]

    def here(_: Any) -> tuple[str, int]:
        return ray.get_runtime_context().get_node_id(), os.getpid()

    found: tuple[str, int] = ray.get(actor.__ray_call__.remote(here))
    return found


def lose(machines: Cluster, lost: str, processes: Iterable[int]) -> None:
    """Lose a machine at once, with all who worked there."""
    nodes = machines.list_all_nodes()  # type: ignore[no-untyped-call]
    (node,) = [one for one in nodes if one.node_id == lost]
    machines.remove_node(node, allow_graceful=False)
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_a_machine_that_is_lost_takes_nothing_along(
    tmp_path: Path, whole: dict[str, bytes], machines: Cluster
) -> None:
    learners = start_keyed_actors(tmp_path, SETTINGS, EVERY, n_actors=2)
    feeder = ReplayFeeder(learners)
    for key in KEYS:
        feed(feeder, key, ROWS // 2)
    places = {where(learners, key) for key in KEYS}
    lost, _ = where(learners, KEYS[0])
    lose(machines, lost, [process for machine, process in places if machine == lost])
    feed_all(feeder, KEYS)
    assert where(learners, KEYS[0])[0] != lost
    feeder.save()
    assert contents(tmp_path) == whole
