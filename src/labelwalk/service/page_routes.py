"""What a browser needs before it can ask anything: the files of the page, and a session."""

from __future__ import annotations

from fastapi import FastAPI, Request, Response

from labelwalk.service.access import COOKIE, MAY, TOKEN
from labelwalk.service.static import FACES, INDEX, static_files

DAYS = 30
SECONDS_A_DAY = 86_400


def add_page(app: FastAPI) -> None:
    """Add the files of the page."""
    files = static_files()

    def send(name: str, request: Request) -> Response:
        if name not in files:
            return Response(
                '{"error": "there is no such file"}', 404, media_type="application/json"
            )
        status, headers, body = files[name].sent(request.headers)
        return Response(body, status, headers)

    @app.get("/")
    def index(request: Request) -> Response:
        return send(INDEX, request)

    @app.get("/faces")
    def faces(request: Request) -> Response:
        return send(FACES, request)

    @app.get("/page/{file}")
    def page(file: str, request: Request) -> Response:
        return send(file, request)


def add_session(app: FastAPI) -> None:
    """Add the cookie by which a page goes on without showing its token to anybody."""

    @app.post("/api/session", status_code=204)
    async def begin(request: Request, response: Response) -> None:
        _set_cookie(request, response, request.scope[TOKEN], DAYS * SECONDS_A_DAY)

    @app.get("/api/session")
    async def who(request: Request) -> dict[str, str]:
        return {"may": request.scope[MAY]}

    @app.delete("/api/session", status_code=204)
    async def end(request: Request, response: Response) -> None:
        _set_cookie(request, response, "", 0)


def _set_cookie(request: Request, response: Response, value: str, seconds: int) -> None:
    response.set_cookie(
        COOKIE,
        value,
        max_age=seconds,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
