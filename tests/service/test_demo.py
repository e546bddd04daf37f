"""The demo: it starts with no labels, and one label names all that hangs together."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from labelwalk import OnlineLearner
from labelwalk.learner import from_bytes
from labelwalk.service.commands import Observe, TeachLater
from labelwalk.service.demo import DEMO_LEARNER, Demo, make_examples
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.views import draw_map
from tests.service.asking import TOKENS, Asking
from tests.service.test_server import ENVIRONMENT, free_port, is_ready
from tests.support.waiting import wait_until

pytestmark = pytest.mark.shell


def n_examples(store: LearnerStore) -> int:
    found: int = store.query(
        store.find_id(DEMO_LEARNER), lambda managed: managed.next_example_id
    ).result()
    return found


@pytest.mark.parametrize("n", [100, 300, 3000])
def test_one_label_names_ten_others_and_not_all(n: int) -> None:
    """Whichever vertex it is that a newcomer teaches."""
    managed = ManagedLearner(DEMO_LEARNER, OnlineLearner(200, unreached="abstain"))
    managed.apply(Observe(make_examples(0, n)))
    content, shown = managed.learner.to_bytes(), draw_map(managed)["vertices"]
    assert shown["label"] == [None] * len(shown["id"])
    for example in [one for one in shown["example"] if one is not None][::20]:
        again = ManagedLearner(DEMO_LEARNER, from_bytes(content))
        again.apply(TeachLater(example, "mine"))
        after = draw_map(again)["vertices"]
        named = [label == "mine" for label in after["label"]]
        assert 11 <= sum(named) <= len(named) / 2
        assert np.mean(np.array(after["confidence"])[named]) > 0.9


@pytest.mark.slow
def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    for _ in range(2):
        store = LearnerStore(str(tmp_path / "kept"))
        demo = Demo(store)
        assert demo.start() == demo.start() == DEMO_LEARNER
        before = n_examples(store)
        wait_until(lambda store=store, before=before: n_examples(store) > before + 5)
        demo.close()
        n = n_examples(store)
        alone = OnlineLearner(200, unreached="abstain")
        alone.observe(make_examples(0, n))
        digest = store.query(
            store.find_id(DEMO_LEARNER), lambda managed: managed.learner.digest()
        ).result()
        assert digest == alone.digest()
        store.close()


@pytest.mark.parametrize("noticed", [False, True])
def test_it_ends_with_its_learner_and_can_be_started_again(
    store: LearnerStore, noticed: bool
) -> None:
    demo = Demo(store)
    demo.start()
    store.delete(store.find_id(DEMO_LEARNER)).result()
    assert demo._thread is not None
    if noticed:
        demo._thread.join()
    demo.start()
    wait_until(lambda: n_examples(store) > 0)
    demo.close()


def test_over_http(store: LearnerStore) -> None:
    ask = Asking(store)
    assert ask("POST", "/api/demo", TOKENS.read).status_code == 403
    store.create(DEMO_LEARNER, OnlineLearner()).result()
    store.submit(store.find_id(DEMO_LEARNER), Observe(np.zeros((1, 3)))).result()
    taken = ask("POST", "/api/demo")
    assert (taken.status_code, "3 features" in taken.json()["error"]) == (409, True)
    ask("DELETE", f"/api/learners/{DEMO_LEARNER}")
    assert ask("POST", "/api/demo").json() == {"name": DEMO_LEARNER}
    assert ask("POST", "/api/demo").status_code == 201
    wait_until(lambda: n_examples(store) > 0)
    ask.demo.close()


def started(folder: Path, *options: str) -> tuple[subprocess.Popen[str], int]:
    port = free_port()
    command = [sys.executable, "-m", "labelwalk", "serve", *options, f"--port={port}"]
    process = subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: _is_ready(process, port))
    return process, port


def _is_ready(process: subprocess.Popen[str], port: int) -> bool:
    assert process.poll() is None, process.communicate()[1]
    return is_ready(port)


def ended(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    return said


@pytest.mark.slow
def test_it_is_fed_and_says_where_the_tokens_are(tmp_path: Path) -> None:
    process, port = started(tmp_path, "--demo")
    try:
        tokens = (tmp_path / "labelwalk-demo" / "tokens.json").read_text()
        token = re.findall(r'"write": "([^"]+)"', tokens)[0]
        headers = {"authorization": f"Bearer {token}"}
        address = f"http://127.0.0.1:{port}"

        def seen() -> Any:
            return httpx.get(f"{address}/api/learners/{DEMO_LEARNER}", headers=headers).json()

        wait_until(lambda: seen().get("examples", 0) > 10)
        assert seen()["classes"] == []
        said = ended(process)
        process, _ = started(tmp_path, "labelwalk-demo")
        for one in (said, ended(process)):
            assert token not in one
            assert "tokens.json" in one
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_without_a_folder_it_says_what_is_missing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "labelwalk", "serve"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "FOLDER is missing" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_stream_is_a_function_of_the_number() -> None:
    assert np.array_equal(make_examples(5, 20)[3:], make_examples(8, 17))
    assert make_examples(3, 0).shape == (0, 2)
