"""The files of the page: read at start, so that no path from a request is ever opened."""

from __future__ import annotations

import gzip
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from labelwalk._extensions import list_page_folders

INDEX, FACES, PLOTLY = "index.html", "faces.html", "plotly.js"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "font-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
POLICY = "; ".join(f"{name} {sources}" for name, sources in DIRECTIVES.items())
FRESH, KEPT = "no-cache", "max-age=86400"


@dataclass(frozen=True)
class Static:
    """A file as it is sent.

    Attributes
    ----------
    content : bytes
    kind : str
        Its content type.
    keep : str
        How long a browser may do without asking, as a cache-control.
    """

    content: bytes
    kind: str
    keep: str = FRESH

    @cached_property
    def tag(self) -> str:
        """What stands for this very content."""
        return f'"{blake2b(self.content, digest_size=16).hexdigest()}"'

    @cached_property
    def packed(self) -> bytes:
        """The content, compressed."""
        return gzip.compress(self.content, 6, mtime=0)

    def sent(self, asked: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for a request with these headers."""
        headers = {
            "content-security-policy": POLICY,
            "cache-control": self.keep,
            "etag": self.tag,
            "vary": "accept-encoding",
        }
        if self.tag in asked.get("if-none-match", ""):
            return 304, headers, b""
        headers["content-type"] = self.kind
        if "gzip" in asked.get("accept-encoding", ""):
            return 200, headers | {"content-encoding": "gzip"}, self.packed
        return 200, headers, self.content


def static_files() -> dict[str, Static]:
    """Return all files of the page by name; plotly.js is that of the installed plotly.

    Examples
    --------
    >>> files = static_files()
    >>> files["index.html"].kind
    'text/html; charset=utf-8'
    """
    files = {
        path.name: Static(path.read_bytes(), KINDS[path.suffix])
        for folder in list_page_folders()
        for path in sorted(folder.iterdir())
        if path.suffix in KINDS
    }
    found = importlib.util.find_spec("plotly")
    for place in (found and found.submodule_search_locations) or []:
        plotly = Path(place) / "package_data" / "plotly.min.js"
        if plotly.exists():
            files[PLOTLY] = Static(plotly.read_bytes(), KINDS[".js"], KEPT)
    return files
