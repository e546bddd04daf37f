"""The recipes for other engines, as the guide has them: the same labels as on one machine."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.project.test_docs import FENCED, Block, blocks_to_run, run_block
from tests.support.missing_libraries import has_java

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "other-engines.md"
NEEDS = re.compile(r"<!-- not run: needs (\w+) -->\s*\Z")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.shell,
    # what the engines and pandas have to say to each other
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]


def blocks_that_need(engine: str) -> Iterator[Block]:
    text = GUIDE.read_text("utf-8")
    for match in FENCED.finditer(text):
        needed = NEEDS.search(text[: match.start()])
        if needed and needed[1] == engine:
            yield Block(textwrap.dedent(match["code"]), text.count("\n", 0, match.start("code")))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the recipe for one machine leaves behind, and a shard without rows."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_to_run(GUIDE.read_text("utf-8")):
        run_block(block, GUIDE, namespace)
    pq.write_table(pq.read_table("rows/0.parquet").slice(0, 0), "rows/8.parquet")
    return namespace


def follow(engine: str, namespace: dict[str, Any]) -> None:
    blocks = list(blocks_that_need(engine))
    assert len(blocks) == 2
    for block in blocks:
        run_block(block, GUIDE, namespace)


def test_spark(here: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    if not has_java():
        pytest.skip("Spark runs on Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    options = "--master local[2] --conf spark.ui.enabled=false pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", options)
    follow("Spark", here)


def test_dask(here: dict[str, Any]) -> None:
    pytest.importorskip("dask.dataframe")
    follow("Dask", here)
