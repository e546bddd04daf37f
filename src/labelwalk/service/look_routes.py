"""What the page asks of a learner: where it stands, what came last, and what is new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query, Response

from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.live import Live
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.page_state import ROOM
from labelwalk.service.views import recent, taught, the_map, vertex
from labelwalk.service.watcher import Watcher
from labelwalk.service.worker import to_asyncio_future

FARTHEST = 2**53  # numbers that JavaScript holds exactly


def add_looks(app: FastAPI, store: LearnerStore, watcher: Watcher) -> None:
    """Add the routes."""

    async def asked(name: str, question: Callable[[ManagedLearner], Any]) -> Any:
        return await to_asyncio_future(store.query(store.find_id(name), question))

    @app.get("/api/learners/{name}/map")
    async def vertices_in_the_plane(name: str) -> Any:
        return await asked(name, the_map)

    @app.get("/api/learners/{name}/vertices/{id}")
    async def one_vertex(name: str, id: Annotated[int, Path(ge=-FARTHEST, le=FARTHEST)]) -> Any:
        return await asked(name, lambda managed: vertex(managed, id))

    @app.get("/api/learners/{name}/recent")
    async def last_verdicts(name: str, n: Annotated[int, Query(ge=1, le=ROOM)] = 100) -> Any:
        return {"verdicts": await asked(name, lambda managed: recent(managed, n))}

    @app.get("/api/learners/{name}/taught")
    async def last_labels(name: str) -> Any:
        return await asked(name, taught)

    @app.get("/api/learners/{name}/history")
    async def history(name: str) -> Any:
        return watcher.history(store.find_id(name))

    @app.get("/api/learners/{name}/live", response_class=Response)
    async def live(name: str) -> Response:
        return Live(watcher, store.find_id(name))
