"""The commands have the options, and write the rows and columns, that version 0.7.0 wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.golden_commands import collect_options, collect_results

pytestmark = pytest.mark.shell

GOLDEN = Path(__file__).parents[2] / "data" / "golden-0.7" / "commands"


def read_golden(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


def test_options() -> None:
    assert collect_options() == read_golden("options")


def test_results() -> None:
    results = json.loads(json.dumps(collect_results()))
    golden = read_golden("results")
    assert list(results) == list(golden)
    for name, value in golden.items():
        assert results[name] == value, name
