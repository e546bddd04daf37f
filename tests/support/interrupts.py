"""An interrupt at a moment that is the same in each run."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from labelwalk.engine.engine import Engine


@contextmanager
def interrupt_at_event(n: int) -> Iterator[None]:
    """Send SIGINT to this process when the compiled loop stops for the n-th time."""
    attend, calls = Engine._attend, []

    def attend_interrupted(self: Engine, *event: Any) -> None:
        calls.append(event)
        if len(calls) == n:
            os.kill(os.getpid(), signal.SIGINT)
        attend(self, *event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "_attend", attend_interrupted)
        yield
