"""Earlier import paths lead to the same modules."""

from __future__ import annotations

from importlib import import_module

import pytest

from labelwalk import _aliases


def test_an_alias_is_the_module_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_aliases.MODULE_ALIASES, "former_settings", "settings")
    module = import_module("labelwalk.former_settings")
    assert module is import_module("labelwalk.settings")
    assert module.__spec__ is not None
    assert module.__spec__.name == "labelwalk.settings"


def test_other_names_are_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"labelwalk\.no_such_module"):
        import_module("labelwalk.no_such_module")


@pytest.mark.parametrize(("earlier", "path"), _aliases.MODULE_ALIASES.items())
def test_every_alias_leads_to_a_module(earlier: str, path: str) -> None:
    assert import_module(f"labelwalk.{earlier}") is import_module(f"labelwalk.{path}")


@pytest.mark.parametrize("name", _aliases.MODULES_IN_PAPER)
def test_a_module_in_the_folder_paper_names_it(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"paper from its root, or run `python -m paper`"):
        import_module(f"labelwalk.{name}")
    with pytest.raises(AttributeError, match=r"import paper\.evaluation"):
        import_module("labelwalk.evaluation").evaluate  # noqa: B018
