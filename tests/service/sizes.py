"""How much the tests of the service try: a little each time, or all that is promised."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How often something is tried.

    Attributes
    ----------
    writer_kills, store_kills, service_kills : int
        Times that kill -9 meets a process that writes a journal, keeps learners, or serves them.
    events : int
        Written while each call to the disk is recorded; the power is cut at each.
    learned : int
        Events that happen to a learner while the same is done, every `stride` calls.
    stride : int
    failing_calls : int
        Calls to the disk that fail, one in each run, of each kind.
    injected_errors : int
        Raised at random lines of the threads that learn and write.
    flips : int
        Bits flipped in each file, one at a time.
    cuts : int
        Lengths at random to which each file is cut, besides the ends of its pages and records.
    requests : int
        Made up from the description of each route.
    every_length : bool
        Whether the files of a small journal are also cut to every length there is.
    """

    writer_kills: int
    store_kills: int
    service_kills: int
    events: int
    learned: int
    stride: int
    failing_calls: int
    injected_errors: int
    flips: int
    cuts: int
    requests: int
    every_length: bool


SMALL = Sizes(
    writer_kills=5,
    store_kills=3,
    service_kills=2,
    events=60,
    learned=60,
    stride=20,
    failing_calls=2,
    injected_errors=30,
    flips=300,
    cuts=60,
    requests=5,
    every_length=False,
)
FULL = Sizes(
    writer_kills=100,
    store_kills=30,
    service_kills=30,
    events=400,
    learned=120,
    stride=1,
    failing_calls=40,
    injected_errors=300,
    flips=3000,
    cuts=3000,
    requests=300,
    every_length=True,
)
