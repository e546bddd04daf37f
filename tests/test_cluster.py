"""The simulated cluster keeps the laws of real ones."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks._cluster import DRIVER, Cluster, Phase, Run, Task, simulate

pytestmark = pytest.mark.shell

seconds = st.floats(0.01, 100.0)
phases = st.lists(st.lists(seconds, min_size=1, max_size=12), min_size=1, max_size=4).map(
    lambda drawn: [Phase(str(i), [Task(s) for s in some]) for i, some in enumerate(drawn)]
)
clusters = st.builds(
    lambda **drawn: Cluster(**drawn),
    workers=st.integers(1, 9),
    spread=st.sampled_from([0.0, 0.3]),
    overhead=st.sampled_from([0.0, 0.5]),
    dispatch=st.sampled_from([0.0, 0.2]),
    loss=st.sampled_from([0.0, 0.003]),
    recovery=st.sampled_from([0.0, 7.0]),
    seed=st.integers(0, 99),
)


def total(phases: list[Phase]) -> float:
    return sum(task.seconds for phase in phases for task in phase.tasks)


def assert_nobody_does_two_things(run: Run) -> None:
    until: dict[int, float] = {}
    for span in sorted(run.spans, key=lambda span: (span.worker, span.begin, span.end)):
        assert span.begin >= until.get(span.worker, 0.0)
        until[span.worker] = span.end


@given(phases, clusters)
def test_every_task_is_done_once_and_nobody_does_two_at_a_time(
    phases: list[Phase], cluster: Cluster
) -> None:
    run = simulate(phases, cluster)
    assert_nobody_does_two_things(run)
    done = Counter((span.phase, span.task) for span in run.spans if not span.lost)
    assert done == {(p.name, i): 1 for p in phases for i in range(len(p.tasks))}
    assert run == simulate(phases, cluster)


@given(phases, clusters)
def test_no_phase_begins_before_the_last_has_ended(phases: list[Phase], cluster: Cluster) -> None:
    spans = simulate(phases, cluster).spans
    ended = 0.0
    for phase in phases:
        own = [span for span in spans if span.phase == phase.name]
        assert min(span.begin for span in own) >= ended
        ended = max(span.end for span in own)


@given(phases, st.integers(1, 9))
def test_work_is_the_sum_of_the_tasks_whoever_does_it(phases: list[Phase], workers: int) -> None:
    run = simulate(phases, Cluster(workers))
    assert run.busy == pytest.approx(total(phases))
    assert run.seconds >= total(phases) / workers - 1e-9
    assert sum(run.phases.values()) == pytest.approx(run.seconds)


@given(phases)
def test_one_worker_takes_the_sum(phases: list[Phase]) -> None:
    assert simulate(phases, Cluster(1)).seconds == pytest.approx(total(phases))


@given(phases, st.integers(1, 9))
def test_another_worker_is_never_in_the_way(phases: list[Phase], workers: int) -> None:
    fewer, more = (simulate(phases, Cluster(n)).seconds for n in (workers, workers + 1))
    assert more <= fewer + 1e-9


def test_storage_and_networks_are_shared_as_they_are() -> None:
    reading = [Phase("read", [Task(0.0, read=100.0)] * 4)]
    assert simulate(reading, Cluster(4, reading=10.0)).seconds == 40.0
    assert simulate(reading, Cluster(4, network=10.0)).seconds == 10.0
    assert simulate(reading, Cluster(4, reading=100.0, network=10.0)).seconds == 10.0
    writing = [Phase("write", [Task(1.0, written=100.0)] * 4)]
    assert simulate(writing, Cluster(4, writing=10.0)).seconds == 41.0
    assert simulate(writing, Cluster(2)).bytes == 400.0


def test_workers_may_be_slower_or_unequal() -> None:
    work = [Phase("sketch", [Task(1.0)] * 6)]
    assert simulate(work, Cluster(2, speed=0.5)).seconds == 6.0
    unequal = simulate(work, Cluster(2, spread=0.5))
    assert len({round(span.end - span.begin, 9) for span in unequal.spans}) == 2


def test_the_driver_hands_out_one_task_after_the_other() -> None:
    run = simulate([Phase("sketch", [Task(1.0)] * 5)], Cluster(100, dispatch=2.0))
    assert run.seconds == 11.0


def test_what_a_worker_has_to_do_first_is_done_once() -> None:
    phase = Phase("label", [Task(1.0)] * 4, first=Task(10.0, read=5.0))
    run = simulate([phase], Cluster(2))
    assert (run.seconds, run.bytes) == (12.0, 10.0)


def test_the_driver_works_alone_and_is_not_lost() -> None:
    run = simulate([Phase("solve", [Task(5.0)], on_driver=True)], Cluster(4, loss=1e9))
    assert [(span.worker, span.end) for span in run.spans] == [(DRIVER, 5.0)]


def test_losses_cost_time_and_lose_nothing() -> None:
    work = [Phase("sketch", [Task(10.0)] * 50, first=Task(3.0))]
    calm, lossy = (simulate(work, Cluster(4, loss=n, recovery=5.0)) for n in (0.0, 0.01))
    lost = [span for span in lossy.spans if span.lost]
    assert lost
    assert lossy.seconds > calm.seconds
    assert len(lossy.spans) == 50 + len(lost)


def test_nobody_is_no_cluster() -> None:
    with pytest.raises(ValueError, match="workers=0: somebody has to work"):
        simulate([], Cluster(0))
    assert simulate([], Cluster(1)).seconds == 0.0
