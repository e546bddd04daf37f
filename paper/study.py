"""A study: jobs whose results are stored once, and a plan that runs them."""

import hashlib
import json
import multiprocessing
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

import labelwalk
from labelwalk import __version__
from paper.findings import Columns, Findings

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


class Measurement(NamedTuple):
    """What a job measures: numbers, the same in every run, and times, which differ."""

    columns: Columns
    seconds: Mapping[str, float] = MappingProxyType({})


class Result(NamedTuple):
    """A stored measurement, and the call that made it."""

    work: str
    arguments: dict[str, Any]
    columns: dict[str, list[Any]]
    seconds: dict[str, float]


@dataclass(frozen=True)
class Job:
    """A function of a module with its keyword arguments, of types that JSON has."""

    work: Callable[..., Measurement]
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Path of the result below the results folder, without a suffix."""
        words = "-".join(map(str, (self.work.__name__, *self.arguments.values())))
        name = re.sub(r"[^-.\w]+", "-", words)
        return f"{self.work.__module__.rpartition('.')[2]}/{name}"

    @property
    def call(self) -> dict[str, Any]:
        """The function and its arguments as stored."""
        return {"function": f"{self.work.__module__}.{self.work.__name__}", **self.arguments}

    def load(self, folder: Path) -> Result | None:
        """Return the stored result; None if it is missing, damaged or from another version."""
        try:
            stored = json.loads((folder / f"{self.key}.json").read_text("utf-8"))
            if stored["call"] != self.call or stored["versions"] != list_versions():
                return None
            columns, seconds = stored["columns"], stored["seconds"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Result(self.work.__name__, self.arguments, columns, seconds)

    def run(self, folder: Path, command: str) -> None:
        """Call the function on one BLAS thread, and store the result."""
        start = perf_counter()
        with threadpool_limits(1):
            measurement = self.work(**self.arguments)
        stored = {
            "call": self.call,
            "command": command,
            "versions": list_versions(),
            "seconds": {"whole job": perf_counter() - start, **measurement.seconds},
            "columns": {name: list(values) for name, values in measurement.columns.items()},
        }
        text = json.dumps(stored, indent=2, default=lambda value: value.tolist()) + "\n"
        path = folder / f"{self.key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.tmp")  # an interrupted job leaves no result
        temporary.write_text(text, "utf-8")
        temporary.replace(path)


def list_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result depends on."""
    own_version = f"{__version__}, sources {fingerprint_sources()}"
    versions = {"python": platform.python_version(), "labelwalk": own_version}
    return versions | {package: metadata.version(package) for package in PACKAGES}


@cache
def fingerprint_sources() -> str:
    """Return a digest of the sources of labelwalk and of the studies."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(labelwalk.__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Plan:
    """How thoroughly to measure, on which data, and where to store results.

    `watch` is called with the number of finished jobs, the number of all jobs, and the last key.
    """

    quick: bool  # fewer problems, seeds and examples
    available: frozenset[str]  # data sets
    folder: Path  # of results
    command: str = ""  # stored as the origin of the results
    workers: int = 1  # processes; 1 runs jobs in this process
    watch: Callable[[int, int, str], object] = lambda *_: None

    def choose(self, names: Sequence[str], substitutes: Sequence[str]) -> list[str]:
        """Return the data sets that are available, or the substitutes if none is."""
        return [name for name in names if name in self.available] or list(substitutes)

    def run(self, jobs: Iterable[Job]) -> list[Result]:
        """Run the jobs that have no stored result, and return the results of all."""
        jobs = list(jobs)
        open_jobs = [job for job in jobs if job.load(self.folder) is None]
        n_stored = len(jobs) - len(open_jobs)
        self.watch(n_stored, len(jobs), "")
        finished = self._run_here(open_jobs) if self.workers == 1 else self._run_pool(open_jobs)
        for n_done, job in enumerate(finished, n_stored + 1):
            self.watch(n_done, len(jobs), job.key)
        results = [job.load(self.folder) for job in jobs]
        return [result for result in results if result is not None]

    def _run_here(self, jobs: list[Job]) -> Iterable[Job]:
        for job in jobs:
            job.run(self.folder, self.command)
            yield job

    def _run_pool(self, jobs: list[Job]) -> Iterable[Job]:
        # not forked: a fork of a process that has run BLAS or Numba threads may hang
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
            futures = {pool.submit(job.run, self.folder, self.command): job for job in jobs}
            processes = list(pool._processes.values())
            try:
                for future in as_completed(futures):
                    future.result()
                    yield futures[future]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for process in processes:
                    process.terminate()
                raise


def select(results: Iterable[Result], work: Callable[..., Any], **arguments: Any) -> list[Result]:
    """Return the results of a function that was called with these arguments, among others."""
    return [
        result
        for result in results
        if result.work == work.__name__ and arguments.items() <= result.arguments.items()
    ]


def list_values(results: Iterable[Result], argument: str) -> list[Any]:
    """Return the distinct values of an argument, in order of appearance."""
    values = (r.arguments[argument] for r in results if argument in r.arguments)
    return list(dict.fromkeys(values))


@dataclass(frozen=True)
class Study:
    """A figure of the paper, or an addition: `run` measures, `conclude` judges the results."""

    name: str
    title: str
    run: Callable[[Plan], list[Result]]
    conclude: Callable[[list[Result]], Findings]
    data: tuple[str, ...] = ()  # data sets that it uses if they are available
