"""Each term of the glossary is used, and each stage of the architecture is a term and a module."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", GLOSSARY, re.M)[1:]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
DATA_PATHS = ("One row of a CSV file", "One POST request")
STAGE = re.compile(r" *(?P<name>\w+(?: \w+)*) {2,}(?P<module>[\w/]+\.py) {2,}\S.*")
CONTINUATION_OR_THREAD = re.compile(r" {20,}\S.*|\w+(?: \w+)*:")
TERMS = [term.split(" (")[0] for row in ROWS for term in row[0].split(", ")]


@pytest.fixture(scope="module")
def package_text() -> str:
    return "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")).lower()


@pytest.mark.parametrize("term", TERMS)
def test_term_is_used_in_the_package(term: str, package_text: str) -> None:
    words = [re.escape(word) for word in term.lower().split()]
    assert re.search(r"[ \n_-]+".join(words), package_text), f"docs/glossary.md: {term!r}"


def test_terms_are_defined_once() -> None:
    assert len(TERMS) == len(set(TERMS)) > 30


def read_diagram(section: str) -> list[str]:
    """Return the lines of the first diagram in a section of the architecture."""
    return ARCHITECTURE.partition(f"\n## {section}\n")[2].split("```")[1].splitlines()[1:]


def list_stages() -> list[tuple[str, str]]:
    """Return name and module of every stage in the diagrams of the data paths."""
    lines = [line for section in DATA_PATHS for line in read_diagram(section)]
    matches = [match for line in lines if (match := STAGE.fullmatch(line))]
    return [(match["name"], match["module"]) for match in matches]


@pytest.mark.parametrize("section", DATA_PATHS)
def test_every_line_of_a_data_path_is_a_stage(section: str) -> None:
    lines = read_diagram(section)
    others = [line for line in lines if not STAGE.fullmatch(line)]
    assert len(lines) - len(others) > 10
    assert [line for line in others if not CONTINUATION_OR_THREAD.fullmatch(line)] == []


@pytest.mark.parametrize(("name", "module"), list_stages())
def test_stage_is_a_term_and_a_module(name: str, module: str) -> None:
    assert name in TERMS, f"docs/glossary.md does not define {name!r}"
    assert (ROOT / "src" / "labelwalk" / module).is_file()


def test_stages_have_one_name_and_one_module() -> None:
    names, modules = zip(*list_stages(), strict=True)
    assert len(set(names)) == len(names)
    assert len(set(modules)) == len(modules)


def test_layers_are_those_of_the_import_contract() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = project["tool"]["importlinter"]["contracts"][0]
    layers = [re.split(" {2,}", line)[0] for line in read_diagram("Packages")]
    assert ["__main__", *layers] == contract["layers"]
