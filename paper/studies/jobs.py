"""Work that is done once: each job writes its result, and what is written is not done again."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from paper.evaluation import results
from paper.evaluation.results import Columns, Result


class Found(NamedTuple):
    """What a job has found: numbers that are the same in every run, and times, which are not."""

    columns: Columns
    seconds: dict[str, float]


@dataclass(frozen=True)
class Job:
    """A function of a module, what it is called with, and where its result is kept.

    Attributes
    ----------
    key : str
        Path of the result below the output folder, without a suffix.
    work : function
        Returns what it `Found`.
    arguments : dict
        Keyword arguments, of values that JSON has.
    """

    key: str
    work: Callable[..., Found]
    arguments: dict[str, Any] = field(default_factory=dict)

    def result(self, folder: Path) -> Result | None:
        """Return the result if it is there, and was found by the same call of the same versions."""
        kept = results.read(folder / self.key)
        if kept is None or kept.about.get("call") != self.call:
            return None
        return kept if kept.about["versions"] == results.versions() else None

    @property
    def call(self) -> dict[str, Any]:
        """The function and its arguments, as they are written down."""
        return {"function": f"{self.work.__module__}.{self.work.__name__}", **self.arguments}

    def run(self, folder: Path, command: str) -> None:
        """Do the work, and write down what came of it."""
        begun = perf_counter()
        found = self.work(**self.arguments)
        seconds = {"whole job": perf_counter() - begun} | found.seconds
        about = {"call": self.call, "command": command, "seconds": seconds}
        results.write(folder / self.key, found.columns, about)


def run_all(
    jobs: Iterable[Job],
    folder: Path,
    command: str,
    *,
    workers: int = 2,
    watch: Callable[[int, int, str], None] | None = None,
) -> None:
    """Run jobs whose results are not there yet, several at a time.

    Parameters
    ----------
    jobs : jobs
        Those with the same key are done once.
    folder : path
        Where results are kept.
    command : str
        What is written down as the origin of the results.
    workers : int
        How many processes; with 1, all is done in this one.
    watch : function, optional
        Called with the number done, the number of all, and the key of the last one done.
    """
    wanted = list({job.key: job for job in jobs}.values())
    to_do = [job for job in wanted if job.result(folder) is None]
    done = len(wanted) - len(to_do)
    report = watch or (lambda done, total, key: None)
    report(done, len(wanted), "")
    if workers == 1:
        for job in to_do:
            job.run(folder, command)
            done += 1
            report(done, len(wanted), job.key)
        return
    # not forked: a fork of a process that has run BLAS or Numba threads may hang
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        running = {pool.submit(job.run, folder, command): job for job in to_do}
        processes = list(pool._processes.values())
        try:
            for future in as_completed(running):
                future.result()
                done += 1
                report(done, len(wanted), running[future].key)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            raise
