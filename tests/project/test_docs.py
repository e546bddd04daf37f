"""Every example in the docs runs, and every file they name exists."""

import doctest
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import labelwalk
from tests.support.missing_libraries import MISSING

pytestmark = pytest.mark.shell

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs").rglob("*.md"))
WITH_EXAMPLES = [
    path for path in [ROOT / "README.md", *GUIDES] if path.exists() and path.stem not in MISSING
]
SLOW = {"README", "capymoa", "commands", "faces"}  # many processes, Java, and videos
WITH_LINKS = [
    path
    for path in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *GUIDES]
    if path.exists()
]
ARCHITECTURE = [path for path in [ROOT / "ARCHITECTURE.md"] if path.exists()]

FENCED = re.compile(
    r"^(?P<indent>[ ]*)```(?P<language>\w*)[^\n`]*\n(?P<code>.*?)^[ ]*```[ ]*$", re.M | re.S
)
NOT_RUN = re.compile(r"<!-- not run[^>]*-->\s*\Z")
INLINE_CODE = re.compile(r"`+[^`\n]+`+")
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|<(?:img|a)\b[^>]*?\b(?:src|href)=\"([^\"]+)\"")
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|#", re.I)
NAMED_PATH = re.compile(r"`([\w.*-]+/[\w./*-]*|[\w*-]+\.py)(?:[: ][^`\n]*)?`")
TOP_FOLDERS = {"src", "paper", "tests", "scripts", "docs", "benchmarks", "examples", ".ci"}
DOCTEST_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    code: str
    lines_before: int
    language: str = "python"


def identifier(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def blocks_to_run(text: str) -> Iterator[Block]:
    for match in FENCED.finditer(text):
        language, lines = match["language"], text.count("\n", 0, match.start("code"))
        if language in ("python", "console") and not NOT_RUN.search(text[: match.start()]):
            yield Block(textwrap.dedent(match["code"]), lines, language)


def run_block(block: Block, path: Path, namespace: dict[str, Any]) -> None:
    if block.language == "console":
        run_commands(block, path)
    elif block.code.lstrip().startswith(">>>"):
        run_session(block, path, namespace)
    else:
        source = "\n" * block.lines_before + block.code
        exec(compile(source, str(path), "exec"), namespace)


def run_session(block: Block, path: Path, namespace: dict[str, Any]) -> None:
    session = doctest.DocTestParser().get_doctest(
        block.code, namespace, path.name, str(path), block.lines_before
    )
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=DOCTEST_FLAGS)
    outcome = runner.run(session, out=report.append, clear_globs=False)
    assert outcome.failed == 0, "".join(report)
    namespace.update(session.globs)


def run_commands(block: Block, path: Path) -> None:
    """Run what stands after each $, where `labelwalk` is the one that is tested."""
    shim = f'labelwalk() {{ "{sys.executable}" -m labelwalk "$@"; }}'
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for line in block.code.splitlines():
        if line.startswith("$ "):
            ran = subprocess.run(
                ["bash", "-c", f"{shim}\n{line[2:]}"],
                capture_output=True,
                text=True,
                env=environment,
            )
            assert ran.returncode == 0, f"{path.name}: {line}\n{ran.stdout}{ran.stderr}"


def links(text: str) -> Iterator[str]:
    prose = INLINE_CODE.sub("", FENCED.sub("", text))
    for target, attribute in LINK.findall(prose):
        link = target or attribute
        if not OUTSIDE.match(link):
            yield link.partition("#")[0]


def named_paths(text: str) -> Iterator[str]:
    for name in NAMED_PATH.findall(FENCED.sub("", text)):
        if name.endswith(".py") or name.partition("/")[0] in TOP_FOLDERS:
            yield name


def exists_in_project(name: str) -> bool:
    """`engine/cover.py` and `kernels/*.py` are understood to lie in the package."""
    folders = (ROOT, ROOT / "src", ROOT / "src" / "labelwalk")
    return any(any(folder.glob(name)) for folder in folders)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=identifier(path), marks=[pytest.mark.slow] * (path.stem in SLOW))
        for path in WITH_EXAMPLES
    ],
)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_to_run(path.read_text("utf-8")):
        run_block(block, path, namespace)


@pytest.mark.parametrize("path", WITH_LINKS, ids=identifier)
def test_links_lead_somewhere(path: Path) -> None:
    broken = [link for link in links(path.read_text("utf-8")) if not (path.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("path", ARCHITECTURE, ids=identifier)
def test_named_files_exist(path: Path) -> None:
    missing = [name for name in named_paths(path.read_text("utf-8")) if not exists_in_project(name)]
    assert not missing


def test_reference_knows_every_public_name() -> None:
    page = (ROOT / "docs" / "reference" / "labelwalk.rst").read_text("utf-8")
    names = [name for name in labelwalk.__all__ if name != "__version__"]
    missing = [name for name in names if f":: labelwalk.{name}\n" not in page]
    assert not missing


def test_start_page_leads_to_every_guide() -> None:
    start = ROOT / "docs" / "README.md"
    linked = {(start.parent / link).resolve() for link in links(start.read_text("utf-8"))}
    assert not set((ROOT / "docs" / "guide").glob("*.md")) - linked


SAMPLE = """\
See [the guide](docs/guide.md#start), ![a figure](figure.png "title"), [away](https://a.b/c),
<img src="drawing.svg"> and `code[0](not_a_link)`; `scripts/test --fast`, `engine/cover.py:absorb`.

```python
x = [len](
    "ab")
```

<!-- not run -->
```python
raise AssertionError
```

1. In a list:
   ```python
   >>> x
   [2]
   ```

```console
$ true
```

<!-- not run: it takes an hour -->
```console
$ false
```
"""


def test_reader_finds_links_outside_code() -> None:
    assert list(links(SAMPLE)) == ["docs/guide.md", "figure.png", "drawing.svg"]


def test_reader_finds_named_files() -> None:
    assert list(named_paths(SAMPLE)) == ["scripts/test", "engine/cover.py"]


def test_reader_finds_the_blocks_to_run() -> None:
    assert [block.code for block in blocks_to_run(SAMPLE)] == [
        'x = [len](\n    "ab")\n',
        ">>> x\n[2]\n",
        "$ true\n",
    ]


def test_commands_that_fail_are_noticed() -> None:
    with pytest.raises(AssertionError, match="nonsense"):
        run_block(Block("$ labelwalk nonsense\n", 0, "console"), Path("page.md"), {})


def test_sessions_see_earlier_blocks_and_are_compared() -> None:
    namespace: dict[str, Any] = {}
    run_block(Block("x = 2\n", 0), Path("page.md"), namespace)
    run_block(Block(">>> y = x + 1\n>>> y\n3\n", 2), Path("page.md"), namespace)
    assert namespace["y"] == 3
    with pytest.raises(AssertionError, match="Expected"):
        run_block(Block(">>> y\n4\n", 5), Path("page.md"), namespace)
