"""One more example takes a short path through the package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import labelwalk
from labelwalk import OnlineLearner

PACKAGE = str(Path(labelwalk.__file__).parent)
MAX_MODULES = 12


def find_entered_modules(call: Callable[[], object]) -> set[str]:
    """Return the modules of the package in which a call runs a function."""
    entered: set[str] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            entered.add(path.removeprefix(PACKAGE))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered


def test_one_observation_enters_few_modules() -> None:
    learner = OnlineLearner(30)
    learner.teach([[0.0, 0.0], [5.0, 5.0]], ["a", "b"])
    learner.observe(np.random.default_rng(0).normal(size=(300, 2)))
    x = np.array([0.1, 0.2])
    learner.observe(x)
    modules = find_entered_modules(lambda: learner.observe(x))
    assert len(modules) <= MAX_MODULES, sorted(modules)
    assert any(path.endswith("learner.py") for path in modules)
