"""Settings of a learner, tried and given anew over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI

from labelwalk.service.awaiting import awaited
from labelwalk.service.dials import copied, dials_of, tried
from labelwalk.service.events import Adjust
from labelwalk.service.keeper import Keeper
from labelwalk.service.key_header import Key
from labelwalk.service.orders import Dials


def add_dials(app: FastAPI, keeper: Keeper) -> None:
    """Add the routes."""

    def event_of(name: str, dials: Dials) -> Adjust:
        given = dials.model_dump(exclude_unset=True, mode="json")
        return dials_of(given, keeper.classes(name))

    @app.post("/api/learners/{name}/dials/try")
    async def see(name: str, dials: Dials) -> Any:
        event = event_of(name, dials)
        content, rows = await awaited(keeper.look(keeper.number(name), copied))
        return await asyncio.to_thread(tried, content, rows, event)

    @app.post("/api/learners/{name}/dials")
    async def turn(name: str, dials: Dials, key: Key = "") -> Any:
        number = keeper.number(name)
        await awaited(keeper.change(number, event_of(name, dials), key))
        return await awaited(keeper.look(number, lambda pupil: pupil.learner.settings.describe()))
