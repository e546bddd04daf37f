"""What comes before a body, without an end, too slowly or in pieces, sent to a real server."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from labelwalk.service.server import MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED_REQUESTS
from tests.service.test_server import Served, served

pytestmark = [pytest.mark.shell, pytest.mark.slow]

PATIENCE_S = 2.0
MOST_SENT_BYTES = 24 << 20  # kept in memory, they would be seen there
MOST_GROWTH_BYTES = 8 << 20
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
HEADER, LETTERS = b"a:\r\n", b"a" * 4096
LAST = b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("heads") / "kept"
    with served(folder, options=[f"--patience={PATIENCE_S:g}"]) as server:
        yield server


def head(one: Served, line: str = "GET /healthz", *, token: bool = False) -> bytes:
    lines = [f"{line} HTTP/1.1", f"Host: 127.0.0.1:{one.port}"]
    lines += [f"Authorization: Bearer {one.token}"] if token else []
    return "\r\n".join([*lines, ""]).encode()


def upgraded(one: Served, to: str) -> bytes:
    return head(one) + f"Connection: upgrade\r\nUpgrade: {to}\r\n".encode()


def connected(one: Served) -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", one.port), timeout=120)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return wire


def rest(wire: socket.socket) -> bytes:
    """Return what comes until a connection is closed."""
    pieces = []
    try:
        while piece := wire.recv(1 << 20):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def statuses(answer: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1.1 (\d+)", answer)]


def flood(wire: socket.socket, again: bytes) -> tuple[bytes, int]:
    """Send the same again until the connection is closed; return what came, and what was sent."""
    received, n_sent = b"", 0
    block = again * (65_536 // len(again))
    wire.settimeout(0.01)
    while n_sent < MOST_SENT_BYTES:
        try:
            n_sent += wire.send(block)
        except TimeoutError:
            pass
        except OSError:
            break
        try:
            piece = wire.recv(1 << 20)
        except TimeoutError:
            continue
        except OSError:
            break
        if not piece:
            break
        received += piece
    return received, n_sent


def check_alive(one: Served) -> None:
    assert one.http.get("/healthz").json() == {"alive": True}


REFUSED = ([401], [431])  # for want of a token, if that is seen first
ENDLESS = {
    "short headers": ("GET /healthz", b"", HEADER, ([431],)),
    "a value": ("GET /healthz", b"a: ", LETTERS, ([431],)),
    "a name": ("GET /healthz", b"", LETTERS, ([431],)),
    "spaces before a value": ("GET /healthz", b"a:", b" ", ([431],)),
    "a value over many lines": ("GET /healthz", b"a: b\r\n", b" c\r\n", ([400],)),
    "a second request": ("GET /healthz", b"\r\nGET / HTTP/1.1\r\na: ", LETTERS, ([200, 431],)),
    "a chunk's extension": ("POST /api/learners", CHUNKED + b"5;", LETTERS, REFUSED),
    "a chunk's quoted extension": ("POST /api/learners", CHUNKED + b'5;a="', LETTERS, REFUSED),
    "the size of a chunk": ("POST /api/learners", CHUNKED, b"0", REFUSED),
    "trailers": ("POST /api/learners", CHUNKED + b"1\r\nx\r\n0\r\n", HEADER, REFUSED),
    "a trailer": ("POST /api/learners", CHUNKED + b"1\r\nx\r\n0\r\na:", LETTERS, REFUSED),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_has_no_end(one: Served, kind: str) -> None:
    line, begun, again, expected = ENDLESS[kind]
    check_endless(one, head(one, line) + begun, again, expected)


@pytest.mark.parametrize("begun", [b"", b"GET /", b"GET /?", b"GET http://a/#"])
def test_a_first_line_that_has_no_end(one: Served, begun: bytes) -> None:
    check_endless(one, begun, LETTERS if begun else b"\r\n", ([431],))


@pytest.mark.parametrize("to", ["websocket", "h2c"])
def test_a_head_without_end_that_asks_for_another_protocol(one: Served, to: str) -> None:
    check_endless(one, upgraded(one, to), HEADER, ([431],))
    check_endless(one, upgraded(one, to) + b"a:", LETTERS, ([431],))


def test_a_token_buys_no_more(one: Served) -> None:
    begun = head(one, "POST /api/learners", token=True) + CHUNKED
    check_endless(one, begun + b"5;", LETTERS, ([431],))
    check_endless(one, begun + b"1\r\nx\r\n0\r\na:", LETTERS, ([431],))


def check_endless(one: Served, begun: bytes, again: bytes, expected: Sequence[list[int]]) -> None:
    before = one.memory_bytes()
    with connected(one) as wire:
        wire.sendall(begun)
        answer, n_sent = flood(wire, again)
        assert n_sent < MOST_SENT_BYTES, "it was read to the end"
        assert statuses(answer) in expected
        check_alive(one)
    if 431 in statuses(answer):
        assert b"Send fewer or shorter headers" in answer
        assert b"connection: close" in answer
        assert b"nosniff" in answer
    assert one.memory_bytes() - before < MOST_GROWTH_BYTES


def test_many_connections_at_once(one: Served) -> None:
    before = one.memory_bytes()
    with ExitStack() as held:
        wires = [held.enter_context(connected(one)) for _ in range(50)]
        for wire in wires:
            wire.sendall(head(one) + b"a: " + b"v" * (MAX_HEAD_BYTES - 100))
        check_alive(one)
        answers = [rest(wire) for wire in wires]
    assert [statuses(answer) for answer in answers] == [[408]] * 50
    assert one.memory_bytes() - before < 50 * 4 * MAX_HEAD_BYTES


def test_requests_that_nobody_waits_for(one: Served) -> None:
    """As many as may wait are answered; those behind them are not kept."""
    before = one.memory_bytes()
    with connected(one) as wire:
        wire.sendall((head(one) + b"\r\n") * (MAX_PIPELINED_REQUESTS - 1) + head(one) + LAST)
        assert statuses(rest(wire)) == [200] * MAX_PIPELINED_REQUESTS
    with connected(one) as wire:
        answer, n_sent = flood(wire, head(one) + b"\r\n")
        assert n_sent < MOST_SENT_BYTES
        assert set(statuses(answer)) == {200}
    assert one.memory_bytes() - before < MOST_GROWTH_BYTES
    check_alive(one)


@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize("beginning", [b"GET /", b"GET / HTTP/1.1\r\nHost: a\r\nb:"])
def test_a_head_that_does_not_come(one: Served, beginning: bytes, is_second: bool) -> None:
    """Nor one that comes a byte at a time, by which a server could be kept waiting for ever."""
    with connected(one) as wire:
        if is_second:
            wire.sendall(head(one) + b"\r\n")
        wire.sendall(beginning)
        wire.settimeout(0.05)
        began, answer = time.monotonic(), b""
        while not answer.endswith(b"}") or answer.endswith(b'{"alive":true}'):
            assert time.monotonic() - began < 60
            try:
                wire.sendall(b"v")
                answer += wire.recv(1 << 20)
            except TimeoutError:
                pass
        wire.settimeout(120)
        assert rest(wire) == b""
    assert statuses(answer) == [200] * is_second + [408]
    assert b"were incomplete after 2 seconds" in answer
    check_alive(one)


def test_a_connection_on_which_nothing_comes_is_closed(one: Served) -> None:
    with connected(one) as wire:
        assert rest(wire) == b""
    with connected(one) as wire:  # nor does the rest of a body that was refused
        wire.sendall(head(one, "POST /api/learners") + b"Content-Length: 9\r\n\r\n1234")
        wire.sendall(b"5")
        assert statuses(rest(wire)) == [401]


def test_a_head_in_small_pieces(one: Served) -> None:
    whole = head(one, token=True) + LAST
    for size in (1, 2, 7):
        with connected(one) as wire:
            for at in range(0, len(whole), size):
                wire.send(whole[at : at + size])
            assert statuses(rest(wire)) == [200]


@pytest.mark.parametrize("excess", [0, 1])
@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize("body", [b"", b"x" * 70_000])
def test_the_largest_head(one: Served, excess: int, is_second: bool, body: bytes) -> None:
    line = "POST /api/nowhere" if body else "GET /healthz"
    begun = head(one, line) + f"Content-Length: {len(body)}\r\nConnection: close\r\na: ".encode()
    whole = begun + b"v" * (MAX_HEAD_BYTES + excess - len(begun) - 4) + b"\r\n\r\n" + body
    with connected(one) as wire:
        if is_second:
            wire.sendall(head(one) + b"\r\n")
            assert statuses(wire.recv(1 << 20)) == [200]
        wire.sendall(whole)
        fitting = 404 if body else 200
        assert statuses(rest(wire)) == [431 if excess else fitting]


@pytest.mark.parametrize("excess", [0, 1])
def test_as_many_headers_as_there_may_be(one: Served, excess: int) -> None:
    whole = head(one) + HEADER * (MAX_HEADERS + excess - 2) + LAST
    for size in (len(whole), 100):
        with connected(one) as wire:
            for at in range(0, len(whole), size):
                wire.send(whole[at : at + size])
            assert statuses(rest(wire)) == [431 if excess else 200]


def test_answers_under_way_come_before_a_refusal(one: Served) -> None:
    """Else a refusal could be taken for the answer to what was asked before."""
    learner = {"name": "a", "settings": {"n_centroids": 20}}
    assert one.http.post("/api/learners", json=learner).status_code in (201, 409)
    rows = b'{"rows": [[1.0, 2.0]]}'
    asked = head(one, "POST /api/learners/a/observe", token=True)
    asked += f"Content-Length: {len(rows)}\r\n\r\n".encode() + rows
    for wrong in (HEADER * 200, b"\0\r\n"):
        with connected(one) as wire:
            wire.sendall(asked + b"GET / HTTP/1.1\r\n" + wrong)
            answer = rest(wire)
        assert statuses(answer) == [200]
        assert b'"first"' in answer


def test_a_body_in_chunks_with_extensions_and_trailers(one: Served) -> None:
    chunks = b"".join(b"1;a=b\r\n%c\r\n" % byte for byte in b'{"name": "' + b"b" * 90 + b'"}')
    with connected(one) as wire:
        wire.sendall(head(one, "POST /api/learners", token=True))
        wire.sendall(b"Content-Type: application/json\r\nConnection: close\r\n" + CHUNKED)
        wire.sendall(chunks + b"0\r\na: b\r\n\r\n")
        assert statuses(rest(wire)) == [201]
