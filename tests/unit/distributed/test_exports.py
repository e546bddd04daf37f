"""What `labelwalk.distributed` gives away, and what it does not take along."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from labelwalk import distributed


def test_no_function_stands_where_a_module_does() -> None:
    modules = {module.name for module in pkgutil.iter_modules(distributed.__path__)}
    assert not modules & set(distributed.__all__)
    assert all(hasattr(distributed, name) for name in distributed.__all__)


@pytest.mark.slow
def test_no_engine_comes_along() -> None:
    script = (
        "import sys, labelwalk.distributed\n"
        "print(*{'ray', 'pyspark', 'dask', 'pandas'} & {*sys.modules})"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == []


@pytest.mark.slow
def test_labelwalk_alone_does_without_arrow() -> None:
    script = "import sys, labelwalk\nlabelwalk.OnlineLearner\nprint('pyarrow' in sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.split() == ["False"]
