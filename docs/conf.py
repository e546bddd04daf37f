"""How the documentation is built; `scripts/docs` builds it."""

from __future__ import annotations

import tomllib
from pathlib import Path

from docutils.nodes import document
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx_gallery.sorting import ExplicitOrder

ROOT = Path(__file__).resolve().parent.parent

project = "labelwalk"
author = "The labelwalk developers"
release = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]

exclude_patterns = ["README.md", "**/README.md"]

html_theme = "furo"
html_title = f"labelwalk {release}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_copyright = False
html_copy_source = False

myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Names in docstrings are links where they can be; those written in full must be.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", r"(?!labelwalk\.).*")]
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["capymoa", "river"]  # the one needs Java, and neither is needed to read

ORDER = ("two_moons", "explaining", "abstaining", "asking", "prior", "half_life", "outliers")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "",
    "within_subsection_order": ExplicitOrder([f"{name}.py" for name in ORDER]),
    "run_stale_examples": True,  # the library may have changed, if the script has not
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # seconds: those of one machine tell nothing
    "write_computation_times": False,
}

# Links are right on a forge. Here, these pages are included by others:
TWINS = {
    "README": "index",
    "decisions/README": "decisions/index",
    "results/README": "results/index",
    "examples/README": "gallery/index",
    "ARCHITECTURE": "architecture",
    "CONTRIBUTING": "contributing",
    "CHANGELOG": "changelog",
}


def lead_to_twins(app: Sphinx, page: document) -> None:
    """Let links to pages that are included by others lead there."""
    for link in page.findall(pending_xref):
        named = link["reftarget"].removeprefix(f"{ROOT}/").removesuffix(".md")
        if link["reftype"] == "myst" and named in TWINS:
            link["refdomain"], link["reftarget"] = "doc", TWINS[named]
            link.setdefault("reftargetid", None)


def skip_aliases(
    app: Sphinx, what: str, name: str, member: object, skip: bool, options: object
) -> bool | None:
    """Leave out what Python says of the fields of a named tuple: the signature names them."""
    return True if str(member.__doc__).startswith("Alias for field number") else None


def setup(app: Sphinx) -> None:
    """Join the build."""
    app.connect("doctree-read", lead_to_twins)
    app.connect("autodoc-skip-member", skip_aliases)
