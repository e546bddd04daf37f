"""What takes how long, and how much memory: by the clock, and by the processor of this thread."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def time_call(
    call: Callable[[], Answer], clock: Callable[[], float] = process_time
) -> tuple[Answer, float]:
    """Return what a call returns, and the seconds that it took, of the processor by default."""
    begun = clock()
    answer = call()
    return answer, clock() - begun


def read_memory(process: int | str = "self", field: str = "VmRSS") -> float:
    """Return the mebibytes that a process holds, or the most that it ever held (VmHWM)."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


class Stopwatch:
    """Seconds of the clock and of this thread's processor, by what was done in them.

    What is timed inside something else counts there alone.
    """

    def __init__(self) -> None:
        self.clock, self.processor = Counter[str](), Counter[str]()
        self._inside = [(0.0, 0.0)]

    def timed(self, what: str, call: Callable[Given, Answer]) -> Callable[Given, Answer]:
        """Return the same function, timed."""

        def timed(*args: Given.args, **named: Given.kwargs) -> Answer:
            clock, processor = perf_counter(), thread_time()
            self._inside.append((0.0, 0.0))
            try:
                return call(*args, **named)
            finally:
                self._end(what, perf_counter() - clock, thread_time() - processor)

        return timed

    def _end(self, what: str, clock: float, processor: float) -> None:
        within, outer = self._inside.pop(), self._inside.pop()
        self.clock[what] += clock - within[0]
        self.processor[what] += processor - within[1]
        self._inside.append((outer[0] + clock, outer[1] + processor))
