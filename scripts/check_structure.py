"""Check the size of the package, its names and its prose against the limits in pyproject.toml.

    python scripts/check_structure.py                    # exit 1 if a measure exceeds its limit
    python scripts/check_structure.py --list functions   # and show the places behind a measure

A limit may only be lowered. Where a word of the lists below is used in its real meaning, the place
stays and the limit leaves room for it.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "labelwalk"
MAX_MODULE_LINES = 600
MIN_MODULE_LINES = 120
MAX_FUNCTION_LINES = 40

# A function is named with a verb in the imperative.
IRREGULAR_PARTICIPLES = """
    begun built chosen drawn found frozen given gone held kept known left lost made met said sent
    shown taken taught told written
"""
VERBS_IN_ED = "embed feed need seed speed"
# A variable is named with a noun.
NO_NOUNS = """
    apart asked beside done far few found given gone here kept known least left many most near now
    one others own said some there told wanted what who
"""
# Archaic or translated phrases.
PHRASES = re.compile(
    r"""\b(?:
    rightly|anew|foretells?|beside|at\ hand|letter\ by\ letter|so\ many|as\ it\ came
    |that\ (?:is|are)\ there|(?:go|goes|gone|going|went)\ on\ with|lets?\ go
    |nobody|somebody|whoever|(?:is|are|was|were)\ told|spoil(?:s|t|ed)?|struck\ out
    |of\ which\ (?:none|one|some)|in\ its\ own\ right|(?:room|rooms|house|cellar)\ of
    |what\ (?:is|was|were|are|has\ been)\ (?:told|said|kept|known|asked|given|learned|taught|seen)
    |(?:is|are)\ no\ (?:number|text|learner|model|file|folder|name|list|row|class|label|column|key
    |video|picture|token|date)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)


class Module(NamedTuple):
    """A module of the package."""

    path: Path
    tree: ast.Module
    n_lines: int

    def place(self, node: ast.stmt | ast.expr | ast.arg, text: str) -> str:
        """Return where a node is, with a text."""
        return f"{self.path.relative_to(ROOT)}:{node.lineno} {text}"


def read_modules() -> list[Module]:
    """Return the modules of the package."""
    paths = sorted(PACKAGE.rglob("*.py"))
    texts = [path.read_text("utf-8") for path in paths]
    return [
        Module(path, ast.parse(text), text.count("\n"))
        for path, text in zip(paths, texts, strict=True)
    ]


def find_functions(modules: list[Module]) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """Yield every function, methods included."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, node  # type: ignore[misc]


def find_participle_functions(modules: list[Module]) -> Iterator[str]:
    """Yield functions whose name does not start with a verb."""
    for module, function in find_functions(modules):
        word = function.name.strip("_").split("_")[0]
        is_regular = word.endswith("ed") and len(word) > 3 and word not in VERBS_IN_ED.split()
        if is_regular or word in IRREGULAR_PARTICIPLES.split():
            yield module.place(function, function.name)


def find_variables_without_noun(modules: list[Module]) -> Iterator[str]:
    """Yield variables and arguments of the stop list."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.arg):
                name = node.arg
            else:
                continue
            if name in NO_NOUNS.split():
                yield module.place(node, name)


def find_long_functions(modules: list[Module]) -> Iterator[str]:
    """Yield functions with many lines, the docstring not counted."""
    for module, function in find_functions(modules):
        body = function.body[1:] if ast.get_docstring(function) else function.body
        n_lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
        if n_lines > MAX_FUNCTION_LINES:
            yield module.place(function, f"{function.name}: {n_lines} lines")


def find_untyped_methods(modules: list[Module]) -> Iterator[str]:
    """Yield public methods that return Any."""
    for module in modules:
        for owner in ast.walk(module.tree):
            if not isinstance(owner, ast.ClassDef) or owner.name.startswith("_"):
                continue
            for method in owner.body:
                if not isinstance(method, ast.FunctionDef) or method.name.startswith("_"):
                    continue
                if isinstance(method.returns, ast.Name) and method.returns.id == "Any":
                    yield module.place(method, f"{owner.name}.{method.name}")


def find_repeated_names(modules: list[Module], kind: type[ast.stmt]) -> Iterator[str]:
    """Yield classes, or constants of modules, whose name another module defines too."""
    names = [
        (name, module.place(statement, name))
        for module in modules
        for statement in module.tree.body
        if isinstance(statement, kind)
        for name in defined_names(statement)
    ]
    counts = Counter(name for name, _ in names)
    repeated = sorted(name for name, count in counts.items() if count > 1)
    for name in repeated:
        yield ", ".join(place for other, place in names if other == name)


def defined_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the name of a class, or the constants of an assignment."""
    if isinstance(statement, ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign):
        for node in chain.from_iterable(map(ast.walk, statement.targets)):
            if isinstance(node, ast.Name) and node.id.isupper() and len(node.id) > 1:
                yield node.id


def find_small_sections(modules: list[Module]) -> Iterator[str]:
    """Yield small modules with one importer: usually a section of that module."""
    named = {module_name(module.path): module for module in modules}
    importers: dict[str, set[str]] = {name: set() for name in named}
    for importer, module in named.items():
        for target in imported_names(module.tree):
            if target in named and target != importer:
                importers[target].add(importer)
    for name, its_importers in importers.items():
        is_module = named[name].path.name != "__init__.py"
        if is_module and len(its_importers) == 1 and named[name].n_lines < MIN_MODULE_LINES:
            yield f"{name} is imported by {its_importers.pop()} alone"


def module_name(path: Path) -> str:
    """Return the dotted name of a module."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def imported_names(tree: ast.Module) -> Iterator[str]:
    """Yield what a module imports, by dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def find_phrases(modules: list[Module]) -> Iterator[str]:
    """Yield archaic phrases of the documentation, docstrings and messages."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        if page.name.lower() != "changelog.md":
            for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
                for match in PHRASES.finditer(line):
                    yield f"{page.relative_to(ROOT)}:{number} {match[0]}"
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for match in PHRASES.finditer(node.value):
                    yield module.place(node, match[0])


def measure(modules: list[Module]) -> dict[str, tuple[int, list[str]]]:
    """Return each measure with the places behind it."""
    places = {
        "functions without a verb": list(find_participle_functions(modules)),
        "variables without a noun": list(find_variables_without_noun(modules)),
        "long functions": list(find_long_functions(modules)),
        "long modules": [
            f"{module.path.relative_to(ROOT)}: {module.n_lines} lines"
            for module in modules
            if module.n_lines > MAX_MODULE_LINES
        ],
        "untyped methods": list(find_untyped_methods(modules)),
        "small sections": list(find_small_sections(modules)),
        "repeated classes": list(find_repeated_names(modules, ast.ClassDef)),
        "repeated constants": list(find_repeated_names(modules, ast.Assign)),
        "archaic phrases": list(find_phrases(modules)),
    }
    sizes: dict[str, tuple[int, list[str]]] = {
        "lines": (sum(module.n_lines for module in modules), []),
        "modules": (len(modules), []),
        "root modules": (sum(module.path.parent == PACKAGE for module in modules), []),
    }
    return sizes | {name: (len(each), each) for name, each in places.items()}


def main() -> None:
    """Print the measures; exit 1 if one exceeds its limit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", metavar="TEXT", help="show the places of measures with this text")
    asked = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    limits: dict[str, int] = project["tool"]["structure"]
    is_over = False
    for name, (value, places) in measure(read_modules()).items():
        limit = limits[name.replace(" ", "-")]
        is_over |= value > limit
        print(f"{name:<26} {value:>6}  limit {limit}" + (" EXCEEDED" if value > limit else ""))
        if (asked.list and asked.list in name) or value > limit:
            print(*(f"    {place}" for place in places), sep="\n")
    if is_over:
        sys.exit(
            "Lower what exceeds its limit; the limits are in pyproject.toml, [tool.structure]."
        )


if __name__ == "__main__":
    main()
