"""The log of a server contains what happened, and nothing confidential."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from labelwalk import OnlineLearner
from labelwalk.faces.demo import DemoVideo
from labelwalk.faces.pictures import encode_jpeg
from labelwalk.service.commands import Observe
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.request_log import LogHandler, ServiceLog
from labelwalk.service.schemas import ARROW, RAW
from tests.service.asking import list_permissions
from tests.service.test_server import ENVIRONMENT, Served, free_port, hello, served
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.shell, pytest.mark.slow]

OPERATIONS = Path(__file__).parents[2] / "docs" / "guide" / "operations.md"
LABEL, OTHER = "a-label-nobody-may-know", "another-label-nobody-may-know"
ROW = [31.4159265, 27.1828182]
SECRETS = [LABEL, OTHER, "31.41592", "27.18281", "a-key-of-mine", "a-source", "a-query", "a-cookie"]


def lines(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def is_documented(line: dict[str, Any]) -> bool:
    """Return whether the table of the guide has the event, the level and all fields of a line."""
    table = re.findall(r"^\| (`.*) \| (.+) \| (.*)\|$", OPERATIONS.read_text("utf-8"), re.M)
    event = f"`{line['event']}`"
    (levels, fields), *more = [rest for events, *rest in table if event in events]
    names = set(re.findall("`(.+?)`", fields))
    return not more and line["level"] in levels and set(line) - {"at", "level", "event"} <= names


def use_all_routes(one: Served) -> set[tuple[str, str]]:
    """Do everything, rightly and wrongly, and return what was done."""
    done: set[tuple[str, str]] = set()

    def ask(method: str, path: str, **more: Any) -> Any:
        done.add((method, path.partition("?")[0].replace("/secretive", "/{name}")))
        headers = {"idempotency-key": f"a-key-of-mine {len(done)}"} | more.pop("headers", {})
        return one.http.request(method, path, headers=headers, **more)

    learner = "/api/learners/secretive"
    wanted = {"name": "secretive", "settings": {"prior": {LABEL: 0.5, OTHER: 0.5}}}
    assert ask("POST", "/api/learners", json=wanted).status_code == 201
    taught = {"rows": [ROW, ROW], "labels": [LABEL, OTHER]}  # which contradict each other
    assert ask("POST", f"{learner}/teach", json=taught).status_code == 200
    assert ask("POST", f"{learner}/observe", json={"rows": [ROW]}).status_code == 200
    assert ask("POST", f"{learner}/predict", json={"rows": [ROW]}).status_code == 200
    assert ask("POST", f"{learner}/explain", json={"rows": [ROW]}).status_code == 200
    late = {"example": 2, "label": LABEL}
    assert ask("POST", f"{learner}/teach_later", json=late).status_code == 200
    content = ask("GET", f"{learner}/export").content
    for path in ("/api/learners", learner, f"{learner}/ask?n=1", f"{learner}/health"):
        assert ask("GET", path).status_code == 200
    for path in (f"{learner}/vertices", "/metrics", "/healthz", "/readyz", "/api/openapi.json"):
        assert ask("GET", path).status_code == 200
    for path in ("map", "recent", "taught", "history"):
        assert ask("GET", f"{learner}/{path}").status_code == 200
    some = ask("GET", f"{learner}/map").json()["vertices"]["id"][0]
    assert ask("GET", f"{learner}/vertices/{some}").status_code == 200
    done.add(("GET", "/api/learners/{name}/vertices/{id}"))
    for path in ("dials/try", "dials"):
        assert ask("POST", f"{learner}/{path}", json={"sink": 0.01}).status_code == 200
    watch(one)
    done.add(("GET", "/api/learners/{name}/live"))
    for path in ("/", "/faces", "/page/index.html"):
        assert ask("GET", path).status_code == 200
    done.add(("GET", "/page/{file}"))
    for method, status in (("POST", 204), ("GET", 200), ("DELETE", 204)):
        assert ask(method, "/api/session").status_code == status
    assert ask("POST", "/api/demo").status_code == 201
    assert ask("POST", "/api/backups").status_code == 201
    use_faces(ask)
    done.add(("GET", "/api/faces/pictures/{example}"))
    use_them_wrongly(ask, learner)
    assert ask("POST", f"{learner}/retract", json={"example": 2}).status_code == 200
    assert ask("POST", f"{learner}/forget", json={"label": OTHER}).status_code == 200
    assert ask("DELETE", learner).status_code == 204
    assert ask("PUT", learner, content=content).status_code == 201
    with one.stream("secretive") as stream:
        stream.send(hello("a-key-of-mine"))
        stream.send(np.uint64(1).tobytes() + np.array([*ROW, *ROW[:1]], "<f4").tobytes())
        with pytest.raises(Exception, match="1008"):
            stream.recv(timeout=60)
    done.add(("WEBSOCKET", "/api/learners/{name}/stream"))
    return done


def use_faces(ask: Any) -> None:
    for frame in DemoVideo(people=1, n_frames=3):
        sent = ask("POST", "/api/faces/frames?camera=door", content=encode_jpeg(frame.image))
    (face,) = sent.json()["faces"]
    named = {"example": face["example"], "name": LABEL}
    assert ask("POST", "/api/faces/name", json=named).status_code == 200
    assert ask("GET", f"/api/faces/pictures/{face['example']}").status_code == 200
    assert ask("POST", "/api/faces/undo", json={"examples": [0, 1, 2]}).status_code == 200
    assert ask("POST", "/api/faces/name", json=named).status_code == 200
    assert ask("POST", "/api/faces/forget", json={"name": LABEL}).status_code == 200
    assert ask("POST", "/api/faces/sink", json={"sink": "auto"}).status_code == 200
    for path, status in (("", 200), ("/sink", 200), ("/view", 404)):
        assert ask("GET", f"/api/faces{path}").status_code == status
    assert ask("POST", "/api/faces/frames?camera=door", content=LABEL).status_code == 422


def watch(one: Served) -> None:
    """Take the first of what a page is told, and leave."""
    with one.http.stream("GET", "/api/learners/secretive/live") as live:
        assert next(live.iter_text())


def use_them_wrongly(ask: Any, learner: str) -> None:
    bad: list[Any] = [
        {"json": {"rows": [[LABEL]], "labels": [LABEL]}},
        {"json": {"rows": [ROW], "labels": [[LABEL]]}},
        {"json": {"rows": [ROW], LABEL: 1}},
        {"content": LABEL, "headers": {"content-type": LABEL}},
        {"content": LABEL, "headers": {"content-type": ARROW}},
        {"content": LABEL, "headers": {"content-type": RAW}},
        {"content": table(), "headers": {"content-type": ARROW}},
        {"json": {"rows": [[*ROW, 1.0]], "labels": [LABEL]}},
    ]
    for body in bad:
        assert ask("POST", f"{learner}/teach?type=a-query&features=2", **body).status_code == 422
        assert ask("POST", f"{learner}/teach", **body).status_code == 422
    for wrong in ({"label": "a-query"}, {"example": LABEL}, {"label": LABEL, "example": 1}):
        assert ask("POST", f"{learner}/retract", json=wrong).status_code == 422
    assert ask("POST", "/api/learners", json={"name": "x", "settings": {LABEL: 1}}).is_error
    assert ask("PUT", "/api/learners/other", content=LABEL).status_code == 422
    assert ask("GET", f"/{LABEL}?{OTHER}").status_code == 404
    for credential in ({"authorization": f"Bearer {LABEL}"}, {"cookie": "labelwalk=a-cookie"}):
        given = {"authorization": ""} | credential
        assert ask("GET", f"{learner}?a-query={LABEL}", headers=given).status_code == 401
    assert ask("PATCH", learner).status_code == 405
    assert ask(LABEL.upper(), learner).status_code == 400


def table() -> bytes:
    sink = pa.BufferOutputStream()
    wrong = pa.table({LABEL: [LABEL], "label": [OTHER]})
    with pa.ipc.new_stream(sink, wrong.schema) as writer:
        writer.write_table(wrong)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.mark.parametrize("form", ["json", "plain"])
def test_log_contains_no_secret(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    with served(folder, options=[f"--log={form}", "--log-level=debug", "--faces=pixels"]) as one:
        assert use_all_routes(one) >= set(list_permissions())
        said = one.end(signal.SIGTERM)
    with served(folder, options=[f"--log={form}", "--log-level=debug"]) as one:
        said += one.end(signal.SIGTERM)
    tokens = json.loads((folder / "tokens.json").read_text())
    for secret in [*SECRETS, tokens["read"], tokens["write"]]:
        assert secret.lower() not in said.lower()
    if form == "json":
        told = lines(said)
        events = [line["event"] for line in told if line["level"] != "debug"]
        assert events[0] == "started"
        assert events.count("learner created") == 2
        assert {"learner deleted", "backup", "refused", "stopped"} < set(events)
        assert {"event", "at", "level"} <= set.intersection(*map(set, told))
        refused = [line for line in told if line["event"] == "refused"]
        assert {line["route"] for line in refused} <= {path for _, path in list_permissions()} | {
            "none"
        }
        assert {line["reason"] for line in refused} >= {"BodyError", "The token is invalid."}
        assert all(map(is_documented, told))


def test_log_level(tmp_path: Path) -> None:
    with served(tmp_path / "kept", options=["--log=json", "--log-level=error"]) as one:
        assert one.http.get("/nothing").status_code == 404
        assert one.end(signal.SIGTERM) == ""


def test_missing_journal_is_logged(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    journal = Journal(str(folder))
    journal.append([Entry(1, "delete", "{}", []) for _ in range(3)])
    journal.close()
    (folder / "journal.db").unlink()
    command = [sys.executable, "-m", "labelwalk", "serve", str(folder), "--log=json"]
    command.append(f"--port={free_port()}")
    failed = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert failed.returncode == 1
    (told,) = lines(failed.stderr)
    assert (told["level"], told["event"]) == ("error", "not started")
    assert is_documented(told)
    assert "3 events were written to it" in told["reason"]


def test_damage_is_logged(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    store = LearnerStore(str(folder), snapshot_every=1)
    number = store.create("a", OnlineLearner(20)).result()
    for _ in range(3):
        store.submit(number, Observe(np.zeros((2, 2)))).result()
    with store._journal.database.transaction() as connection:
        connection.execute("UPDATE events SET kind = 'teach' WHERE sequence = 3")
    store.close()
    with served(folder, options=["--log=json"]) as one:
        wait_until(lambda: "labelwalk_damaged 1" in one.http.get("/metrics").text)
        told = [line for line in lines(one.end(signal.SIGTERM)) if line["level"] == "error"]
    assert [line["event"] for line in told] == ["damage"]
    assert is_documented(told[0])
    assert "event 3 was changed" in told[0]["reason"]


def test_unexpected_errors_are_logged_without_message() -> None:
    stream = io.StringIO()
    heard = LogHandler(ServiceLog(stream, "json", "info"))
    try:
        raise RuntimeError(LABEL)
    except RuntimeError as error:
        record = logging.LogRecord("uvicorn", 40, "", 0, f"{LABEL} %s", (LABEL,), None)
        record.exc_info = (type(error), error, error.__traceback__)
        heard.emit(record)
    (told,) = lines(stream.getvalue())
    assert (told["event"], told["kind"]) == ("failure", "RuntimeError")
    assert is_documented(told)
    assert "test_request_log.py:" in told["where"]
    assert LABEL not in stream.getvalue()


def test_tokens_are_printed_on_a_terminal(tmp_path: Path) -> None:
    """On a terminal, once, in a link that is ready."""
    ours, theirs = pty.openpty()
    port = free_port()
    command = [sys.executable, "-m", "labelwalk", "serve", str(tmp_path / "kept")]
    command.append(f"--port={port}")
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=theirs)
    os.close(theirs)
    said = b""
    while b"Read-only token" not in said:
        said += os.read(ours, 1000)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)
    os.close(ours)
    token = json.loads((tmp_path / "kept" / "tokens.json").read_text())["write"]
    assert f"http://127.0.0.1:{port}/#token={token}\r\n" in said.decode()
