"""The routes of the page: its files, and the session of a browser.

All files are read when the service starts: no path of a request is ever opened.
"""

import gzip
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from labelwalk._extensions import list_page_folders
from labelwalk.service.auth import PERMISSION_KEY, TOKEN_KEY
from labelwalk.service.openapi import SESSION_COOKIE, RouteTable
from labelwalk.service.schemas import TEXT, ref

INDEX_PAGE, FACE_PAGE, PLOTLY_FILE = "index.html", "faces.html", "plotly.js"
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
SESSION_S = 30 * 86_400
REVALIDATE, CACHE_FOR_A_DAY = "no-cache", "max-age=86400"


@dataclass(frozen=True)
class StaticFile:
    """A file with its HTTP headers."""

    content: bytes
    content_type: str
    cache_control: str = REVALIDATE

    @cached_property
    def etag(self) -> str:
        """A digest of the content."""
        return f'"{blake2b(self.content, digest_size=16).hexdigest()}"'

    @cached_property
    def gzip_content(self) -> bytes:
        """The content, compressed with gzip."""
        return gzip.compress(self.content, 6, mtime=0)

    def respond(self, request_headers: Mapping[str, str]) -> Response:
        """Return the response to a request."""
        headers = {
            "content-security-policy": CONTENT_SECURITY_POLICY,
            "cache-control": self.cache_control,
            "etag": self.etag,
            "vary": "accept-encoding",
        }
        if self.etag in request_headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        headers["content-type"] = self.content_type
        if "gzip" not in request_headers.get("accept-encoding", ""):
            return Response(self.content, headers=headers)
        return Response(self.gzip_content, headers=headers | {"content-encoding": "gzip"})


def load_static_files() -> dict[str, StaticFile]:
    """Return all files of the page by name; plotly.js comes from the installed plotly."""
    files = {
        path.name: StaticFile(path.read_bytes(), CONTENT_TYPES[path.suffix])
        for folder in list_page_folders()
        for path in sorted(folder.iterdir())
        if path.suffix in CONTENT_TYPES
    }
    spec = importlib.util.find_spec("plotly")
    for folder in (spec and spec.submodule_search_locations) or []:
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.exists():
            files[PLOTLY_FILE] = StaticFile(
                path.read_bytes(), CONTENT_TYPES[".js"], CACHE_FOR_A_DAY
            )
    return files


def add_page_routes(table: RouteTable) -> None:
    """Add the routes."""
    files = load_static_files()

    def send(name: str, request: Request) -> Response:
        if name not in files:
            raise HTTPException(404, "The file does not exist")
        return files[name].respond(request.headers)

    @table.add("GET", "/", "nothing", TEXT, "text/html", is_cacheable=True)
    def get_index(request: Request) -> Response:
        """Get the page."""
        return send(INDEX_PAGE, request)

    @table.add("GET", "/faces", "nothing", TEXT, "text/html", is_cacheable=True)
    def get_face_page(request: Request) -> Response:
        """Get the face page."""
        return send(FACE_PAGE, request)

    media = (kind.partition(";")[0] for kind in CONTENT_TYPES.values())

    @table.add("GET", "/page/{file}", "nothing", {}, *media, errors=(404,), is_cacheable=True)
    def get_file(file: str, request: Request) -> Response:
        """Get a file of the page."""
        return send(file, request)

    @table.add("POST", "/api/session", "read", None, status=204)
    async def begin_session(request: Request, response: Response) -> None:
        """Store the token in a cookie."""
        _set_cookie(request, response, request.scope[TOKEN_KEY], SESSION_S)

    @table.add("GET", "/api/session", "read", ref("Session"))
    async def get_session(request: Request) -> dict[str, str]:
        """Get the permission of the token."""
        return {"may": request.scope[PERMISSION_KEY]}

    @table.add("DELETE", "/api/session", "nothing", None, status=204)
    async def end_session(request: Request, response: Response) -> None:
        """Delete the cookie."""
        _set_cookie(request, response, "", 0)


def _set_cookie(request: Request, response: Response, value: str, seconds: int) -> None:
    response.set_cookie(
        SESSION_COOKIE,
        value,
        max_age=seconds,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
