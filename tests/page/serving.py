"""A server in a process of its own, and somebody who watches a page of it in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Page,
    Playwright,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.support.waiting import PATIENCE_S, wait_until

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
GONE = re.compile(r"/(vertices|pictures)/-?\d+$")  # it merged just before it was asked for
DESK: ViewportSize = {"width": 1440, "height": 1000}
PHONE: ViewportSize = {"width": 390, "height": 844}


class Serving:
    """`labelwalk serve`, and how to ask it beside the page."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = int(one.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self.http = httpx.Client(base_url=self.address, timeout=60)
        self.said = ""
        self.start(*options)

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "labelwalk", "serve", str(self.folder)]
        ours, theirs = os.openpty()  # links are told to terminals alone
        self.process = subprocess.Popen(
            [*command, f"--port={self.port}", *options], env=ENVIRONMENT, stderr=theirs
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, args=(ours,), daemon=True)
        self._reader.start()
        wait_until(self._is_ready)
        self.tokens = json.loads((self.folder / "tokens.json").read_text())
        self.http.headers["authorization"] = f"Bearer {self.tokens['write']}"

    def _read(self, terminal: int) -> None:
        with suppress(OSError), os.fdopen(terminal, closefd=True) as lines:  # an error is its end
            for line in lines:
                self.said += line

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.said
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    @property
    def link(self) -> str:
        """The link that was printed."""
        found = wait_until(lambda: re.search(r"http://\S+/#token=\S+", self.said))
        return str(found.group())

    def end(self, number: int = signal.SIGTERM) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(60)
        self._reader.join()

    def close(self) -> None:
        self.end(signal.SIGKILL)
        self.http.close()

    def asked(self, name: str, path: str = "") -> Any:
        return (
            self.http.get(f"/api/learners/{quote(name, safe='')}{path}").raise_for_status().json()
        )

    def done(self, name: str, path: str, body: Any) -> Any:
        answer = self.http.post(f"/api/learners/{quote(name, safe='')}{path}", json=body)
        return answer.raise_for_status().json()


class Watch:
    """Writes down what a page should never do: complain, fail, or ask another host."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.away = False  # while the server is, the browser says so, and may
        self.wrong: list[str] = []
        self.requests: list[tuple[str, str]] = []
        self._host = urlsplit(address).netloc
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"{error}\n{error.stack}"))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._request(request.method, request.url))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning"):
            return
        gone = "404" in message.text and GONE.search(message.location["url"])
        if not gone and not (self.away and "net::ERR_" in message.text):
            self.wrong.append(f"{message.type}: {message.text} {message.location}")

    def _dialog(self, dialog: Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, method: str, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https", "ws", "wss"):
            self.requests.append((method, parts.path))
            if parts.netloc != self._host:
                self.wrong.append(f"asked another host: {url}")


class Browsers:
    """The browsers that are installed here: tests share one for each set of flags."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, ...], Browser] = {}
        self._stack = ExitStack()

    def open(self, *more: str) -> Browser:
        """Return a browser with more flags, if there are any; of those, the last alone stays."""
        if more not in self._opened:
            for flags in [flags for flags in self._opened if flags and more]:
                self._opened.pop(flags).close()
            self._opened[more] = self._playwright.chromium.launch(
                executable_path=CHROMIUM, args=[*FLAGS, *more]
            )
        return self._opened[more]

    @cached_property
    def _playwright(self) -> Playwright:
        if CHROMIUM is None:
            pytest.skip("there is no chromium here")
        return self._stack.enter_context(sync_playwright())

    def close(self) -> None:
        for browser in self._opened.values():
            browser.close()
        self._stack.close()


@contextmanager
def looking(
    browser: Browser, serving: Serving, token: str | None = None, path: str = "/", **how: Any
) -> Iterator[tuple[Page, Watch]]:
    """Open the page with a token, and in the end look whether anything went wrong."""
    context = browser.new_context(**({"viewport": DESK} | how))
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE_S)
    expect.set_options(timeout=1000 * PATIENCE_S)
    watch = Watch(page, serving.address)
    token = token or serving.tokens["write"]
    page.goto(f"{serving.address}{path}#token={token}")
    try:
        yield page, watch
        assert watch.wrong == [], watch.wrong
    finally:
        context.close()
