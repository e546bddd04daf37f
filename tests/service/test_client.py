"""The clients against a real server, which may be killed under them."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.client import AsyncClient, Client, ServiceError
from labelwalk.learner import from_bytes
from tests.service.test_server import Served, served

pytestmark = [pytest.mark.shell, pytest.mark.slow]

POINTS = np.array([[0.0, 0.0], [9.0, 9.0]])


def test_both_clients_have_the_same_methods() -> None:
    methods, async_methods = (
        {name for name in dir(kind) if not name.startswith("_")} for kind in (Client, AsyncClient)
    )
    assert methods == async_methods
    assert list(inspect.signature(Client.observe).parameters) == ["self", "name", "X"]
    assert Client.observe.__doc__


def test_all_of_it(tmp_path: Path) -> None:
    with served(tmp_path / "kept") as one, Client(str(one.http.base_url), one.token) as client:
        client.create("a b", n_centroids=20)
        assert client.teach("a b", POINTS, ["low", "high"]) == 0
        told = client.observe("a b", np.array([[1.0, 0.0], [8.0, 9.0]], np.float32))
        assert (told.first, told.label) == (2, ["low", "high"])
        assert client.predict("a b", [0.0, 1.0]).label == ["low"]
        assert client.ask("a b", 1)[0].guess in ("low", "high")
        client.teach_later("a b", 2, "low")
        client.retract("a b", 2)
        assert client.forget("a b", "high").erased == 1
        assert client.forget("a b", examples=[3]).older is False
        assert client.learners()[0]["classes"] == ["low"]
        assert client.health("a b")[0]["name"] == "radius"
        content = client.export("a b")
        client.take_in("copy", content)
        assert client.export("copy") == content
        client.delete("copy")
        with pytest.raises(ServiceError, match="no learner is named 'copy'") as refused:
            client.observe("copy", POINTS)
        assert refused.value.status == 404
        asyncio.run(synchronized(str(one.http.base_url), one.token))


async def synchronized(url: str, token: str) -> None:
    async with AsyncClient(url, token) as client:
        await client.create("c")
        await client.teach("c", POINTS, ["low", "high"])
        told = await asyncio.gather(*(client.observe("c", POINTS) for _ in range(8)))
        assert sorted(one.first for one in told) == list(range(2, 18, 2))


def test_a_server_that_is_killed_is_waited_for(tmp_path: Path) -> None:
    """Nothing is lost, and nothing is learned twice."""
    one = Served(tmp_path / "kept")
    alone = OnlineLearner(20)
    again: list[Served] = []

    def kill_and_start() -> None:
        for _ in range(2):
            time.sleep(0.7)
            (again[-1] if again else one).end(signal.SIGKILL)
            again.append(Served(tmp_path / "kept", one.port))

    with Client(str(one.http.base_url), one.token) as client:
        client.create("a", n_centroids=20)
        restless = threading.Thread(target=kill_and_start)
        restless.start()
        rng = np.random.default_rng(0)
        while restless.is_alive() or alone.n_seen < 200:
            rows = rng.normal(size=(5, 2))
            said = alone.observe(rows)
            assert client.observe("a", rows).label == said.label.tolist()
        restless.join()
        assert from_bytes(client.export("a")).digest() == alone.digest()
    again[-1].end(signal.SIGTERM)
