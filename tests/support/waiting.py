"""Waiting for a condition rather than for a time."""

from __future__ import annotations

import time
from typing import Any

PATIENCE_S = 120.0
INTERVAL_S = 0.05


def wait_until(true: Any, seconds: float = PATIENCE_S) -> Any:
    """Return what a call without arguments gives once that is true."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(INTERVAL_S)
    return found
