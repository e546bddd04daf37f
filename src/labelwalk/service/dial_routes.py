"""Settings of a learner, tried and given anew over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI

from labelwalk.service.commands import Adjust
from labelwalk.service.dials import copied, dials_of, tried
from labelwalk.service.key_header import Key
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.orders import Dials
from labelwalk.service.worker import to_asyncio_future


def add_dials(app: FastAPI, store: LearnerStore) -> None:
    """Add the routes."""

    def event_of(name: str, dials: Dials) -> Adjust:
        given = dials.model_dump(exclude_unset=True, mode="json")
        return dials_of(given, store.get_classes(name))

    @app.post("/api/learners/{name}/dials/try")
    async def see(name: str, dials: Dials) -> Any:
        event = event_of(name, dials)
        content, rows = await to_asyncio_future(store.query(store.find_id(name), copied))
        return await asyncio.to_thread(tried, content, rows, event)

    @app.post("/api/learners/{name}/dials")
    async def turn(name: str, dials: Dials, key: Key = "") -> Any:
        number = store.find_id(name)
        await to_asyncio_future(store.submit(number, event_of(name, dials), key))
        return await to_asyncio_future(
            store.query(number, lambda managed: managed.learner.settings.describe())
        )
