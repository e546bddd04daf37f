"""Kernels are compiled once, never run stale, and work where nothing can be cached."""

from __future__ import annotations

import ast
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest

import labelwalk
from labelwalk.arrays import Floats
from labelwalk.kernels import jit

CALLEE = """
from toy.kernels.jit import jit


@jit
def step(x):
    return x + 1.0
"""
CALLER = """
from toy.kernels.callee import step
from toy.kernels.jit import jit


@jit
def two_steps(x):
    return step(step(x))
"""
ANSWER = """
from toy.kernels.caller import two_steps

print(two_steps(1.0))
if hasattr(two_steps, "stats"):
    found = sum(two_steps.stats.cache_hits.values())
    print("found" if found else "compiled", type(two_steps._cache).__name__)
"""


def environment(root: Path, **changes: str) -> dict[str, str]:
    """What a fresh process needs to find `root`, and no cache but the one beside the sources."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "COV_", "COVERAGE_")) and name != "XDG_CACHE_HOME"
    }
    return kept | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"} | changes


def answer(root: Path, code: str = ANSWER, *before: str, **changes: str) -> list[str]:
    """Run code in a fresh process and return the words it prints."""
    done = subprocess.run(
        [*before, sys.executable, "-c", code],
        cwd=root,
        env=environment(root, **changes),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return toy_in(tmp_path)


def toy_in(root: Path) -> Path:
    """A package with two kernels in two files, and the compiler of ours."""
    kernels = root / "toy" / "kernels"
    kernels.mkdir(parents=True)
    for folder in (kernels.parent, kernels):
        (folder / "__init__.py").touch()
    shutil.copy(jit.__file__, kernels / "jit.py")
    (kernels / "callee.py").write_text(CALLEE)
    (kernels / "caller.py").write_text(CALLER)
    return root


def cached_names(root: Path) -> set[str]:
    """Kernels with an index and machine code on the disk."""
    folder = root / "toy" / "kernels" / "__pycache__"
    with_index = {path.name.partition("-")[0] for path in folder.glob("*.nbi")}
    return with_index & {path.name.partition("-")[0] for path in folder.glob("*.nbc")}


@pytest.mark.slow
class TestCache:
    def test_a_second_process_finds_the_compiled_code(self, toy: Path) -> None:
        assert answer(toy) == ["3.0", "compiled", "FunctionCache"]
        assert cached_names(toy) == {"caller.two_steps", "callee.step"}
        assert answer(toy) == ["3.0", "found", "FunctionCache"]

    def test_an_edited_callee_is_run_by_its_caller_in_another_file(self, toy: Path) -> None:
        assert answer(toy) == ["3.0", "compiled", "FunctionCache"]
        callee = toy / "toy" / "kernels" / "callee.py"
        before = callee.stat()
        callee.write_text(CALLEE.replace("x + 1.0", "x + 5.0"))
        os.utime(callee, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert answer(toy) == ["11.0", "compiled", "FunctionCache"]
        assert answer(toy) == ["11.0", "found", "FunctionCache"]

    def test_the_code_of_an_earlier_version_is_not_taken_for_the_later_one(self, toy: Path) -> None:
        """There and back again: each version runs its own code."""
        callee = toy / "toy" / "kernels" / "callee.py"
        for number in (1.0, 5.0, 1.0):
            callee.write_text(CALLEE.replace("x + 1.0", f"x + {number}"))
            assert answer(toy)[0] == str(1.0 + 2 * number)

    def test_an_index_that_names_a_removed_class_is_ignored(self, toy: Path) -> None:
        answer(toy)
        content = pickle.dumps(numba.__version__) + b"cno.such.module\nPoint\n."
        for index in (toy / "toy" / "kernels" / "__pycache__").glob("*.nbi"):
            index.write_bytes(content)
        assert answer(toy) == ["3.0", "compiled", "FunctionCache"]
        assert answer(toy) == ["3.0", "found", "FunctionCache"]

    def test_numba_alone_would_run_the_old_code(self, toy: Path) -> None:
        """The reason for all this; once it fails, `jit` can become plain Numba."""
        kernels = toy / "toy" / "kernels"
        plain = "import numba\n\njit = numba.njit(cache=True)\n"
        (kernels / "jit.py").write_text(plain)
        assert answer(toy)[0] == "3.0"
        (kernels / "callee.py").write_text(CALLEE.replace("x + 1.0", "x + 5.0"))
        assert answer(toy)[0] == "3.0"


UNWRITABLE = """
import os, sys
from pathlib import Path

folder = Path("toy") / "kernels"
if os.access(folder, os.W_OK):
    print("writable")
    sys.exit()
"""


class TestWithoutACache:
    @pytest.mark.slow
    def test_kernels_work_where_no_folder_can_be_made(self, toy: Path) -> None:
        (toy / "toy" / "kernels" / "__pycache__").write_text("a file in the way")
        assert answer(toy, HOME="/dev/null/nowhere") == ["3.0", "compiled", "NullCache"]

    @pytest.mark.slow
    def test_kernels_work_in_a_read_only_install_without_a_home(self) -> None:
        before: list[str] = []
        if os.geteuid() == 0:
            setpriv = shutil.which("setpriv")
            if setpriv is None:
                pytest.skip("nothing is read-only to root, and there is no setpriv")
            before = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]
            probe = [*before, sys.executable, "-c", "import numba"]
            if subprocess.run(probe, cwd="/", capture_output=True, check=False).returncode != 0:
                pytest.skip("Python itself can be read by root alone")
        with tempfile.TemporaryDirectory() as name:
            toy = toy_in(Path(name))
            folders = [toy, toy / "toy", toy / "toy" / "kernels"]
            for folder in folders:
                folder.chmod(0o555)
            words = answer(toy, UNWRITABLE + ANSWER, *before, HOME="/nonexistent")
            for folder in folders:
                folder.chmod(0o755)
            assert not (toy / "toy" / "kernels" / "__pycache__").exists()
        if words == ["writable"]:
            pytest.skip("this system has no folder that cannot be written to")
        assert words == ["3.0", "compiled", "NullCache"]

    @pytest.mark.parametrize("error", [RuntimeError, AttributeError])
    def test_kernels_work_where_numba_refuses_to_cache(
        self, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
    ) -> None:
        """RuntimeError: no place for a cache. AttributeError: another Numba than we know."""
        njit = numba.njit

        def refusing(*args: object, cache: bool = False, **options: object) -> object:
            if cache:
                raise error("no locator available")
            return njit(*args, **options)

        monkeypatch.setattr(numba, "njit", refusing)

        @jit.jit
        def doubled(x: float) -> float:
            return 2.0 * x

        assert doubled(2.0) == 4.0

    def test_without_the_compiler_a_kernel_is_the_function_itself(self, toy: Path) -> None:
        assert answer(toy, NUMBA_DISABLE_JIT="1") == ["3.0"]
        assert cached_names(toy) == set()


def test_division_by_zero_follows_numpy() -> None:
    @jit.jit
    def quotient(a: float, b: float) -> float:
        return a / b

    with np.errstate(all="ignore"):
        assert quotient(np.float64(1.0), np.float64(0.0)) == np.inf
        assert np.isnan(quotient(np.float64(0.0), np.float64(0.0)))


def test_sums_are_not_reordered() -> None:
    """Without fast-math the answer is that of the plain loop, to the last bit."""

    @jit.jit
    def total(values: Floats) -> float:
        running = 0.0
        for value in values:
            running += value
        return running

    values = np.random.default_rng(0).normal(size=1001) * 10.0 ** np.arange(1001) ** 0.3
    running = 0.0
    for value in values.tolist():
        running += value
    assert total(values) == running


def test_every_kernel_is_compiled_here_and_stamped_with_every_other() -> None:
    """No other file knows Numba, and no kernel lies in a folder that the stamp does not see."""
    package = Path(labelwalk.__file__).parent
    compiler = Path(jit.__file__)
    for source in package.rglob("*.py"):
        imported = {
            name.partition(".")[0]
            for node in ast.walk(ast.parse(source.read_text("utf-8")))
            for name in imported_names(node)
        }
        assert "numba" not in imported or source == compiler, source
    kernels = compiler.parent
    assert set(kernels.rglob("*.py")) == set(kernels.glob("*.py"))


def imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
