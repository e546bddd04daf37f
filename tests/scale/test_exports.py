"""What `labelwalk.scale` gives away, and what it does not take along."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from labelwalk import scale


def test_no_function_stands_where_a_module_does() -> None:
    modules = {module.name for module in pkgutil.iter_modules(scale.__path__)}
    assert not modules & set(scale.__all__)
    assert all(hasattr(scale, name) for name in scale.__all__)


@pytest.mark.slow
def test_no_engine_comes_along() -> None:
    script = (
        "import sys, labelwalk.scale\nprint(*{'ray', 'pyspark', 'dask', 'pandas'} & {*sys.modules})"
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
