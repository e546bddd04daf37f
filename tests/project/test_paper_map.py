"""The map from the paper to the code names functions and tests that exist."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "paper-map.md"
NOT_YET = "not yet"
FUNCTION = re.compile(r"`((?:labelwalk|paper)(?:\.\w+)+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")
COVERED = [
    *(f"eq. {number}" for number in (1, 2, 3, 7)),
    *(f"Proposition {number}" for number in range(1, 8)),
    *(f"Lemma {number}" for number in (1, 2)),
    *("Figure 1", "footnote 2", "section 3.2", "section 4.4", "section 5.1", "section 5.2"),
]


class Row(NamedTuple):
    statement: str
    here: str
    shown_by: str


def rows(text: str) -> Iterator[Row]:
    """Tables whose last two columns are `here` and `shown by`, without their heads."""
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[-2:] == ["here", "shown by"]:
            inside = True
        elif inside and not set(line) <= set("|- "):
            yield Row(cells[0], *cells[-2:])


def can_be_imported(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@cache
def names_of_tests(path: Path) -> frozenset[str]:
    """Return `test_x` and `TestX::test_y` for all tests that a file defines."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = (part for part in node.body if isinstance(part, ast.FunctionDef))
            names.update(f"{node.name}::{part.name}" for part in inner)
    return frozenset(name for name in names if name.rpartition("::")[2].startswith("test_"))


def is_a_test(name: str) -> bool:
    file, _, test = name.partition("::")
    path = ROOT / file
    return path.is_file() and test in names_of_tests(path)


def read_map() -> str:
    return MAP.read_text("utf-8")


def test_every_function_can_be_imported() -> None:
    names = FUNCTION.findall(read_map())
    assert names
    assert [name for name in names if not can_be_imported(name)] == []


def test_every_test_exists() -> None:
    names = TEST.findall(read_map())
    assert names
    assert [name for name in names if not is_a_test(name)] == []


def test_every_row_has_a_function_and_a_test_or_is_not_yet() -> None:
    table = list(rows(read_map()))
    assert table
    for row in table:
        not_yet = row.here == row.shown_by == NOT_YET
        assert not_yet or (FUNCTION.search(row.here) and TEST.search(row.shown_by)), row


@pytest.mark.parametrize("statement", COVERED)
def test_the_map_covers(statement: str) -> None:
    name = re.compile(rf"\b{re.escape(statement)}\b")
    assert any(name.search(row.statement) for row in rows(read_map()))


def test_departures_are_numbered_in_order() -> None:
    numbers = [
        int(row.statement.split()[0]) for row in rows(read_map()) if row.statement[0] in "123456789"
    ]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


SAMPLE = """\
| in the paper | here | shown by |
|---|---|---|
| eq. 1 | `labelwalk.solver.harmonic.solve` | `tests/test_map.py::test_the_map` |
| eq. 2 | not yet | not yet |

| other | table |
|---|---|
| a | b |
"""


def test_reader_finds_rows() -> None:
    first, second = rows(SAMPLE)
    assert first.statement == "eq. 1"
    assert second == Row("eq. 2", NOT_YET, NOT_YET)


def test_reader_tells_names_that_exist_from_those_that_do_not() -> None:
    assert can_be_imported("labelwalk.OnlineLearner.paper")
    assert can_be_imported("labelwalk.kernels.cover.join")
    assert not can_be_imported("labelwalk.OnlineLearner.printed")
    assert not can_be_imported("labelwalk.nowhere.join")
    assert is_a_test("tests/project/test_paper_map.py::test_reader_finds_rows")
    assert not is_a_test("tests/project/test_paper_map.py::rows")
    assert not is_a_test("tests/project/test_paper_map.py::TestNone::test_reader_finds_rows")
    assert not is_a_test("tests/test_nothing.py::test_reader_finds_rows")
