"""What the page is made of, and how it comes in: files, policy, session."""

from __future__ import annotations

import gzip
import importlib.resources
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelwalk._extensions import list_page_folders
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.page_routes import load_static_files
from tests.service.asking import TOKENS, Asking

pytestmark = pytest.mark.shell

ORIGIN = {"origin": "http://here"}


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asking]:
    store = LearnerStore(str(tmp_path / "kept"))
    yield Asking(store)
    store.close()


def test_files_need_no_token_and_have_a_security_policy(ask: Asking) -> None:
    paths = {path.name: path for folder in list_page_folders() for path in folder.iterdir()}
    names = list(paths)
    assert {"index.html", "faces.html"} <= set(names)
    assert set(names) <= set(load_static_files())
    for path in ["/", "/faces", *(f"/page/{name}" for name in names)]:
        answer = ask("GET", path, None)
        assert answer.status_code == 200, path
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert re.search(r"script-src 'self'(;| )", policy)
        assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "permissions-policy" not in answer.headers  # a camera may be asked for
    for path, name in (("/", "index.html"), ("/faces", "faces.html")):
        page = ask("GET", path, None)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.content == paths[name].read_bytes()


def test_plotly_comes_from_its_package(ask: Asking) -> None:
    wanted = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
    answer = ask("GET", "/page/plotly.js", None, headers={"accept-encoding": "identity"})
    assert answer.content == wanted.read_bytes()
    assert "max-age" in answer.headers["cache-control"]
    compressed = ask("GET", "/page/plotly.js", None, headers={"accept-encoding": "gzip"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert compressed.content == answer.content
    assert int(compressed.headers["content-length"]) < len(answer.content) / 3
    again = ask("GET", "/page/plotly.js", None, headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/page/other.js",
        "/page/..%2fapp.py",
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page//etc/passwd",
        "/page/",
    ],
)
def test_other_paths_are_not_found(path: str, ask: Asking) -> None:
    answer = ask("GET", path, None)
    assert answer.status_code == 404
    assert answer.json()["error"]


def test_session(ask: Asking) -> None:
    for token, may in ((TOKENS.write, "write"), (TOKENS.read, "read")):
        begun = ask("POST", "/api/session", token)
        assert begun.status_code == 204
        cookie = begun.headers["set-cookie"]
        assert f"labelwalk={token};" in cookie
        for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=2592000"):
            assert part in cookie
        assert "Secure" not in cookie
        shown = {"cookie": f"labelwalk={token}"}
        assert ask("GET", "/api/session", None, headers=shown).json() == {"may": may}
        made = ask("POST", "/api/learners", None, headers=shown, json={"name": may})
        assert made.status_code == 403  # a cookie alone does not say which page sent it
        made = ask("POST", "/api/learners", None, headers=shown | ORIGIN, json={"name": may})
        assert made.status_code == (201 if may == "write" else 403)
    ended = ask("DELETE", "/api/session", None, headers=ORIGIN)
    assert (ended.status_code, 'labelwalk=""' in ended.headers["set-cookie"]) == (204, True)
    assert "Max-Age=0" in ended.headers["set-cookie"]


def test_session_requires_a_token(ask: Asking) -> None:
    for token in (None, "x" * 40):
        assert ask("GET", "/api/session", token).status_code == 401
        refused = ask("POST", "/api/session", token)
        assert refused.status_code == 401
        assert "set-cookie" not in refused.headers


def test_cookie_is_secure_under_tls(ask: Asking) -> None:
    begun = ask("POST", "https://here/api/session")
    assert "Secure" in begun.headers["set-cookie"]


def test_compression_is_reproducible() -> None:
    one, other = load_static_files()["index.html"], load_static_files()["index.html"]
    assert one.gzip_content == other.gzip_content
    assert gzip.decompress(one.gzip_content) == one.content
    assert one.etag == other.etag


@pytest.mark.slow
def test_wheel_contains_the_page(tmp_path: Path) -> None:
    source = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", str(tmp_path), source]
    done = subprocess.run(command, capture_output=True, text=True)
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("what builds a wheel can be had neither here nor from an index")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        inside = set(file.namelist())
    for folder in list_page_folders():
        page = f"labelwalk/{folder.parent.name}/page"
        assert {f"{page}/{path.name}" for path in folder.iterdir()} <= inside
