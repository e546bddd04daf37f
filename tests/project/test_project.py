"""What the project says of itself agrees with itself."""

import re
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BANNED_NAMES = {"utils", "core", "helpers", "misc", "common"}


def declared_version() -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project["version"])


def newest_changelog_version() -> str:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    return str(next(heading for heading in headings if heading != "Unreleased"))


def test_version_is_the_newest_changelog_entry() -> None:
    assert newest_changelog_version() == declared_version()


def test_version_is_the_installed_one() -> None:
    try:
        installed = metadata.version("labelwalk")
    except metadata.PackageNotFoundError:
        pytest.skip("labelwalk runs from its sources here, it is not installed")
    assert installed == declared_version()


def test_type_marker_lies_in_the_package() -> None:
    assert resources.files("labelwalk").joinpath("py.typed").is_file()


def test_every_module_has_a_telling_name() -> None:
    modules = {path.stem for path in (ROOT / "src").rglob("*.py")}
    assert modules, "no sources found"
    assert not modules & BANNED_NAMES
