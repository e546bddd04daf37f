"""Requests to the service one after the other, without a network."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import httpx

from labelwalk._extensions import ServiceExtension
from labelwalk.service.app import create_app
from labelwalk.service.auth import AuthMiddleware, Tokens
from labelwalk.service.demo import Demo
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.live_updates import PageSampler
from labelwalk.service.openapi import Permissions


def list_permissions() -> Permissions:
    """Return the permission of each route."""
    permissions: Permissions = create_app(cast(LearnerStore, None)).state.permissions
    return permissions


TOKENS = Tokens(read="r" * 40, write="w" * 40)


class Asking:
    """A service, and how to ask it.

    Attributes
    ----------
    sampler : PageSampler
        Samples when its `tick` is called.
    demo : Demo
        To be closed by whoever starts it.
    """

    def __init__(self, store: LearnerStore, faces: ServiceExtension | None = None) -> None:
        self.sampler, self.demo = PageSampler(store), Demo(store)
        app = create_app(store, self.sampler, self.demo, faces)
        self._transport = httpx.ASGITransport(
            AuthMiddleware(app, TOKENS, ["here"], app.state.permissions)
        )

    def __call__(
        self, method: str, path: str, token: str | None = TOKENS.write, **more: Any
    ) -> Any:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        headers |= more.pop("headers", {})

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://here") as one:
                return await one.request(method, path, headers=headers, **more)

        return asyncio.run(ask())
