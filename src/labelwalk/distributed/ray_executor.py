"""Run tasks with Ray: on the cores of this machine, or on a running cluster."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

if "ray" not in sys.modules:  # it reads this once, when it is imported
    os.environ.setdefault("RAY_AUTH_MODE", "token")

import ray
from ray._private import ray_constants
from ray.exceptions import RayError, RayTaskError

from labelwalk import __version__

QUEUED_PER_CORE = 2  # tasks submitted for each core, so that no core waits for the next
CLUSTER_TIMEOUT_S = 10.0  # Ray itself keeps trying for many minutes
MAX_ATTEMPTS = 20  # runs of a task whose worker is lost, before it is an error
LOCAL_ADDRESS, AUTO_ADDRESS = "local", "auto"


class RayExecutor:
    """Runs tasks with Ray, and runs them again if a worker or a machine is lost.

    Parameters
    ----------
    address : str
        "local" for workers on this machine, "auto" for the running cluster of this machine, or the
        address of a cluster.
    n_workers : int, optional
        With "local", the number of workers; None: one per core.

    Raises
    ------
    ConnectionError
        There is no cluster at that address, or it rejects the token.
    """

    def __init__(self, address: str = LOCAL_ADDRESS, n_workers: int | None = None) -> None:
        join(address, n_workers)

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Run all tasks, and yield the result of each when it is finished."""
        remote = ray.remote(num_cpus=1, max_retries=MAX_ATTEMPTS, retry_exceptions=False)(_run_task)
        submit = remote.options(name=function.__name__).remote
        references = (submit(function, task, __version__) for task in tasks)
        running = list(islice(references, QUEUED_PER_CORE * count_cores()))
        while running:
            finished, running = ray.wait(running, num_returns=1)
            yield wait_for(finished[0], "a task")
            running += islice(references, 1)

    def close(self) -> None:
        """Stop the workers, or leave the cluster."""
        ray.shutdown()


OnRay = RayExecutor  # its name up to version 0.7


def count_cores() -> int:
    """Return the number of cores of the cluster."""
    resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))


def _run_task(function: Callable[[Any], Any], task: Any, version: str) -> Any:
    """Run a task if the same labelwalk is installed: another version may write other files."""
    if __version__ != version:
        raise ValueError(
            f"labelwalk {__version__} is installed on {socket.gethostname()}, but {version} where "
            "the job was started. Install the same version on all machines."
        )
    return function(task)


def join(address: str = LOCAL_ADDRESS, n_workers: int | None = None) -> None:
    """Start workers on this machine, or join a cluster; parameters and errors as in `RayExecutor`.

    Anyone who has the token of a cluster can run any code there. Workers on this machine listen on
    the loopback interface only, and require the token too.
    """
    if ray.is_initialized():
        raise RuntimeError(
            "This process has already joined a cluster. Leave it first with "
            "RayExecutor.close() or ray.shutdown()."
        )
    if address == LOCAL_ADDRESS:
        _init_ray(address, num_cpus=n_workers, include_dashboard=False)
        own_address = ray.get_runtime_context().gcs_address
        if not own_address.startswith("127."):  # another version of Ray may choose it differently
            ray.shutdown()
            raise RuntimeError(
                f"Ray {ray.__version__} listens at {own_address}, where other machines can reach "
                "it. Install the version that labelwalk was tested with: pip install 'ray==2.60.*'"
            )
        return
    if n_workers is not None:
        raise ValueError(
            f"n_workers={n_workers} cannot be set for the cluster at {address}. Omit n_workers, or "
            "use address='local'."
        )
    if address == AUTO_ADDRESS:
        address = os.environ.get("RAY_ADDRESS", AUTO_ADDRESS)
    if address != AUTO_ADDRESS:
        _check_reachable(address)
    _init_ray(address)


def check_joined() -> None:
    """Raise an error without a cluster: Ray would start one that other machines can reach."""
    if not ray.is_initialized():
        raise RuntimeError(
            "This process has not joined a cluster. Call "
            "labelwalk.distributed.ray_executor.join() for workers on this machine, or "
            "join('auto')."
        )


def _init_ray(address: str, **options: Any) -> None:
    is_cluster_enabled = ray_constants.ENABLE_RAY_CLUSTER
    is_main_thread = threading.current_thread() is threading.main_thread()
    sigterm_handler = signal.getsignal(signal.SIGTERM)
    # Otherwise Ray replaces 127.0.0.1 by an address that others can reach, unless on a laptop.
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
    except (ConnectionError, RayError, RuntimeError) as error:
        raise ConnectionError(
            f"Cannot join a cluster at {address} ({error}). Start one with `ray start --head` and "
            "run this on one of its machines, with its ~/.ray/auth_token or RAY_AUTH_TOKEN; or use "
            "the address 'local'."
        ) from error
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = is_cluster_enabled
        if is_main_thread:  # the handler of Ray exits with another code, and a traceback
            signal.signal(signal.SIGTERM, sigterm_handler)


def _check_reachable(address: str) -> None:
    """Raise an error for an address without a listener."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(
            f"address={address!r} is invalid. Use 'local', 'auto', or a host and a port such as "
            "'10.0.0.5:6379'."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), CLUSTER_TIMEOUT_S).close()
    except OSError as error:
        raise ConnectionError(
            f"No cluster answers at {address} ({error.strerror or error}). Start one there with "
            "`ray start --head`, or use the address 'local'."
        ) from error


def wait_for(reference: Any, source: str) -> Any:
    """Wait for the result of a task or a call; its errors are raised unchanged."""
    try:
        return ray.get(reference)
    except RayTaskError as error:
        raise error.cause from None
    except RayError as error:
        raise ConnectionError(
            f"The worker of {source} was lost in each of {MAX_ATTEMPTS} attempts ({error}). Check "
            "that the machines have enough memory, and rerun the command: finished steps are "
            "skipped."
        ) from error
