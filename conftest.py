"""One BLAS thread; River and CapyMOA are tried where they and Java are there."""

from __future__ import annotations

import os

import pytest

from tests.support.missing_libraries import MISSING

collect_ignore = [
    path
    for name in MISSING
    for path in (
        f"src/labelwalk/integrations/{name}.py",
        f"tests/unit/integrations/test_{name}.py",
    )
]

# programs of version 0.7.0 that wrote the golden files
collect_ignore_glob = ["tests/data/*"]

# -Xrs: else Java takes Ctrl-C away from Python, and with it from the tests of interrupts
os.environ.setdefault("CAPYMOA_JVM_ARGS", "-Xrs -Xmx1g")
# Java leaves the main thread a stack that several threads of BLAS overrun
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests of the service be run at their full sizes."""
    parser.addoption("--full", action="store_true", help="the full sizes of tests/service/sizes.py")


def pytest_report_header() -> list[str]:
    """Say what is left out."""
    return [f"left out, not installed or without Java: {name}" for name in MISSING]
