"""Every exception type of the package has one base, and a built-in one beside it."""

from __future__ import annotations

import ast
import builtins
from pathlib import Path

import pytest

import labelwalk
from labelwalk import LabelwalkError, ModelFileError

PACKAGE = Path(labelwalk.__file__).parent
# it ends a request whose client has left, and reaches nobody
INTERNAL = {"ClientDisconnectedError"}


def test_the_version_is_that_of_the_package() -> None:
    assert labelwalk.__version__.partition(".")[0].isdigit()


def test_exceptions_have_one_base() -> None:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name not in INTERNAL | {"LabelwalkError"}:
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                built_in = {name for name in bases if name.endswith(("Error", "Exception"))}
                if built_in & (set(dir(builtins)) - {"BaseException"}):
                    assert "LabelwalkError" in bases, node.name


def test_one_except_clause_is_enough() -> None:
    with pytest.raises(LabelwalkError) as caught:
        labelwalk.load("nowhere.labelwalk")
    assert isinstance(caught.value, ModelFileError)
    assert isinstance(caught.value, ValueError)
