"""Every term of the glossary is used, and the glossary defines the terms of the architecture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", GLOSSARY, re.M)[1:]
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
