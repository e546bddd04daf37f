"""What the page asks of a learner: where it stands, what came last, and what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Response

from labelwalk.service.awaiting import awaited
from labelwalk.service.keeper import Keeper
from labelwalk.service.live import Live
from labelwalk.service.past import ROOM
from labelwalk.service.pupil import Pupil
from labelwalk.service.views import recent, taught, the_map, vertex
from labelwalk.service.watcher import Watcher

FARTHEST = 2**53  # numbers that JavaScript holds exactly


def add_looks(app: FastAPI, keeper: Keeper, watcher: Watcher) -> None:
    """Add the routes."""

    async def asked(name: str, question: Callable[[Pupil], Any]) -> Any:
        return await awaited(keeper.look(keeper.number(name), question))

    @app.get("/api/learners/{name}/map")
    async def vertices_in_the_plane(name: str) -> Any:
        return await asked(name, the_map)

    @app.get("/api/learners/{name}/vertices/{id}")
    async def one_vertex(name: str, id: Annotated[int, Path(ge=-FARTHEST, le=FARTHEST)]) -> Any:
        return await asked(name, lambda pupil: vertex(pupil, id))

    @app.get("/api/learners/{name}/recent")
    async def last_verdicts(name: str, n: Annotated[int, Query(ge=1, le=ROOM)] = 100) -> Any:
        return {"verdicts": await asked(name, lambda pupil: recent(pupil, n))}

    @app.get("/api/learners/{name}/taught")
    async def last_labels(name: str) -> Any:
        return await asked(name, taught)

    @app.get("/api/learners/{name}/history")
    async def history(name: str) -> Any:
        return watcher.history(keeper.number(name))

    @app.get("/api/learners/{name}/live", response_class=Response)
    async def live(name: str) -> Response:
        return Live(watcher, keeper.number(name))
