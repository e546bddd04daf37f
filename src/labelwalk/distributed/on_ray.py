"""Ray does the tasks: on the cores of this machine, or on a cluster that is running."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

if "ray" not in sys.modules:  # it reads this once, when it is imported
    os.environ.setdefault("RAY_AUTH_MODE", "token")

import ray
from ray._private import ray_constants
from ray.exceptions import RayError, RayTaskError

from labelwalk.release import release

AHEAD = 2  # tasks that are handed out for each core, so that none waits for the next
PATIENCE = 10.0  # seconds for a cluster to answer; Ray itself goes on trying for many minutes
TRIES = 20  # times that something is done anew before it is blamed for what happens to its worker
LOCAL, AUTO = "local", "auto"


class OnRay:
    """Hands tasks to Ray, which does them again where a worker or a machine is lost.

    Parameters
    ----------
    address : str
        "local" for workers of our own on this machine, "auto" for the cluster that is running here,
        or the address of one.
    n_workers : int, optional
        With "local": how many; None: one a core.

    Raises
    ------
    ConnectionError
        There is no cluster at that address, or it does not let us in.
    """

    def __init__(self, address: str = LOCAL, n_workers: int | None = None) -> None:
        join(address, n_workers)

    def each(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Do every task, and yield what comes of each as it is done."""
        remote = ray.remote(num_cpus=1, max_retries=TRIES, retry_exceptions=False)(_done)
        called = remote.options(name=function.__name__)
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        most = AHEAD * max(1, int(resources.get("CPU", 1)))
        waiting = list(reversed(tasks))
        running: list[Any] = []
        while waiting or running:
            while waiting and len(running) < most:
                running.append(called.remote(function, waiting.pop(), release()))
            done, running = ray.wait(running, num_returns=1)
            yield result(done[0], "a task")

    def close(self) -> None:
        """Let go of the workers."""
        ray.shutdown()


def _done(function: Callable[[Any], Any], task: Any, version: str) -> Any:
    """Do a task, where the same labelwalk is installed: another might leave something else."""
    if release() != version:
        raise ValueError(
            f"labelwalk {release()} is installed on {socket.gethostname()}, and {version} where "
            "the job was begun. Install the same on all machines."
        )
    return function(task)


def join(address: str = LOCAL, n_workers: int | None = None) -> None:
    """Begin with workers of our own, or join a cluster; parameters and errors as `OnRay` has them.

    Whoever knows the token of a cluster may run what they like there. Workers of our own listen on
    this machine alone, and ask for the token too.
    """
    if ray.is_initialized():
        raise RuntimeError(
            "this process has joined a cluster already. Let go of that first: OnRay.close(), or "
            "ray.shutdown()."
        )
    if address == LOCAL:
        _init(address, num_cpus=n_workers, include_dashboard=False)
        _check_loopback()
        return
    if n_workers is not None:
        raise ValueError(
            f"n_workers={n_workers}: the cluster at {address} has the workers it has. "
            "Leave n_workers out, or use address='local'."
        )
    if address == AUTO:
        address = os.environ.get("RAY_ADDRESS", AUTO)
    if address != AUTO:
        _check_answers(address)
    _init(address)


def check_joined() -> None:
    """Refuse to go on without a cluster: Ray would begin one of its own, which others can reach."""
    if not ray.is_initialized():
        raise RuntimeError(
            "no cluster is joined. Call labelwalk.distributed.on_ray.join() first, for workers on "
            "this machine, or join('auto')."
        )


def _init(address: str, **options: Any) -> None:
    try:
        with _loopback(), _own_signals():
            ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
    except (ConnectionError, RayError, RuntimeError) as error:
        raise ConnectionError(
            f"no cluster lets us in at {address} ({error}). Start one by `ray start --head` and "
            "run this on one of its machines, with its ~/.ray/auth_token or RAY_AUTH_TOKEN; or use "
            "'local' as the address."
        ) from error


@contextmanager
def _own_signals() -> Iterator[None]:
    """Let SIGTERM mean what it meant: Ray would leave with another exit code, and a trace."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _loopback() -> Iterator[None]:
    """Let workers of our own listen on this machine alone.

    Ray turns 127.0.0.1 into the address that others see, unless it believes itself on a laptop.
    """
    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


def _check_loopback() -> None:
    """Refuse workers of our own that others could reach: Ray might choose addresses otherwise."""
    at = ray.get_runtime_context().gcs_address
    if not at.startswith("127."):
        ray.shutdown()
        raise RuntimeError(
            f"Ray {ray.__version__} listens at {at}, beyond this machine. Install the release that "
            "labelwalk was tested with: pip install 'ray==2.60.*'"
        )


def _check_answers(address: str) -> None:
    """Refuse an address where nobody listens."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(
            f"address={address!r} is none of a cluster. Use 'local', 'auto', or a host and a port "
            "such as '10.0.0.5:6379'."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except OSError as error:
        raise ConnectionError(
            f"no cluster answers at {address} ({error.strerror or error}). Start one there by "
            "`ray start --head`, or use 'local' as the address."
        ) from error


def result(reference: Any, who: str) -> Any:
    """Wait for what comes of a task or a call; its errors are raised as they were there.

    Raises
    ------
    ConnectionError
        Whoever did it was lost, again and again.
    """
    try:
        return ray.get(reference)
    except RayTaskError as error:
        raise error.cause from None
    except RayError as error:
        raise ConnectionError(
            f"{who} was lost, and could not be begun anew within {TRIES} tries ({error}). See that "
            "machines have memory enough, and do the same again: what is done is kept."
        ) from error
