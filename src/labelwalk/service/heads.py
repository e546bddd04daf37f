"""The head of a request, its first line and its headers, is limited before a token is asked for."""

from __future__ import annotations

from asyncio import Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from labelwalk.service.access import HEADERS, Refusal, response_of
from labelwalk.service.bodies import CLOSE

LARGEST_HEAD_BYTES = 64 << 10
MOST_HEADERS = 100
MOST_PIPELINED = 100  # requests that wait until those before on a connection are answered
LINGER_S = 2.0  # until a connection is closed whose client may not have read its refusal
REASON = f"headers have more than {LARGEST_HEAD_BYTES:,} bytes with their request line, or are "
TOO_LARGE = Refusal(431, f"{REASON}more than {MOST_HEADERS}. Send fewer and shorter ones.")


class LimitedProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, but heads, chunk extensions, trailers and pipelines have limits.

    A head must be there `patience_s` seconds after its first byte.
    """

    def __init__(self, *args: Any, patience_s: float, **named: Any) -> None:
        super().__init__(*args, **named)
        self._patience_s = patience_s
        self._n_bytes = 0  # of a head, or since the last bytes of a body
        self._is_head, self._is_over = True, False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._clock = self.loop.call_later(self._patience_s, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._clock.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse no more than a head may have, unless a body goes on or a message ends meanwhile."""
        while data and not self._is_over:
            if room := LARGEST_HEAD_BYTES - self._n_bytes:
                self._n_bytes += min(room, len(data))
                super().data_received(data[:room])
                data = data[room:]
            is_large = not room or len(self.headers or ()) > MOST_HEADERS
            if is_large and not self._is_over:
                self._refuse(TOO_LARGE)
        if self._clock.cancelled() and not self._is_over and not self._is_answering():
            self._clock = self.loop.call_later(self._patience_s, self._give_up)

    def on_headers_complete(self) -> None:
        """Begin an answer, unless there are too many headers, or answers to be begun."""
        if len(self.headers) > MOST_HEADERS or len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError
        self._is_over = self.parser.should_upgrade() and self._should_upgrade()  # to a WebSocket
        self._is_head, self._n_bytes = False, 0
        self._clock.cancel()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Leave the limits of a body to others."""
        self._n_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Expect another head."""
        super().on_message_complete()
        self._is_head, self._n_bytes = True, 0

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser, or `on_headers_complete`, did not take."""
        self._refuse(TOO_LARGE if len(self.headers or ()) > MOST_HEADERS else Refusal(400, msg))

    def _is_answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # None before the first request

    def _give_up(self) -> None:
        reason = f"headers were not there after {self._patience_s:g} seconds. Send them faster."
        if self._is_head and self._n_bytes:
            self._refuse(Refusal(408, reason))
        else:  # nothing was begun, or the rest of a body does not come that was refused already
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer with a refusal, and close; what was asked before is answered first."""
        self._is_over, cycle = True, self.cycle
        if refusal.status != 400:  # which uvicorn has logged
            self.logger.warning(refusal.reason)
        if self._is_answering():
            if self._is_head or self.pipeline or cycle.response_started:
                cycle.keep_alive = False
                return
            cycle.disconnected = True
            cycle.message_event.set()
        if self._is_head or not cycle.response_started:
            headers, body = response_of(refusal)
            lines = [b"%s: %s\r\n" % pair for pair in (*headers, CLOSE, *HEADERS)]
            self.transport.write(b"".join([STATUS_LINE[refusal.status], *lines, b"\r\n", body]))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._clock.cancel()
        self._clock = self.loop.call_later(LINGER_S, self.transport.close)
