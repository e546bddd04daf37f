"""Clients of the service that need little processor time, so that a benchmark measures the server.

They speak just as much HTTP and WebSocket as is needed here: no masks worth the name, no
fragments, no compression. Tests of the service use real clients.
"""

import asyncio
import base64
import json
import os
import struct
from dataclasses import dataclass
from typing import Self

TEXT, BINARY = 1, 2


@dataclass(frozen=True)
class Address:
    """The port of a server, and a token for it."""

    port: int
    token: str

    def head(self, line: str, **headers: str) -> bytes:
        named = {"Host": f"127.0.0.1:{self.port}", "Authorization": f"Bearer {self.token}"}
        lines = [f"{name}: {value}" for name, value in (named | headers).items()]
        return "\r\n".join([f"{line} HTTP/1.1", *lines, "", ""]).encode()


@dataclass
class Connection:
    """A connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    address: Address

    @classmethod
    async def open(cls, address: Address) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", address.port), address)

    def close(self) -> None:
        self.writer.close()


class Http(Connection):
    """Requests one after the other."""

    async def post(self, path: str, body: bytes) -> tuple[int, bool, bytes]:
        """Return the status, whether it says when to try again, and the body of the answer."""
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(len(body))}
        self.writer.write(self.address.head(f"POST {path}", **headers) + body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        content = await self.reader.readexactly(length)
        return int(head.split()[1]), b"retry-after" in head, content


class Stream(Connection):
    """A WebSocket on which rows are observed."""

    @classmethod
    async def begin(cls, address: Address, learner: str, features: int) -> Self:
        one = await cls.open(address)
        headers = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Sec-WebSocket-Version": "13",
        }
        one.writer.write(address.head(f"GET /api/learners/{learner}/stream", **headers))
        assert b" 101 " in await one.reader.readuntil(b"\r\n\r\n")
        hello = {"type": "f4", "features": features, "session": os.urandom(8).hex()}
        one.send(TEXT, json.dumps(hello).encode())
        return one

    def observe(self, number: int, rows: bytes) -> None:
        self.send(BINARY, struct.pack("<Q", number) + rows)

    def send(self, kind: int, content: bytes) -> None:
        size = len(content)
        if size < 126:
            head = bytes([0x80 | kind, 0x80 | size])
        elif size < 1 << 16:
            head = bytes([0x80 | kind, 0x80 | 126]) + struct.pack(">H", size)
        else:
            head = bytes([0x80 | kind, 0x80 | 127]) + struct.pack(">Q", size)
        self.writer.write(head + bytes(4) + content)  # a mask of zeros changes nothing

    async def answer(self) -> bytes:
        first, size = await self.reader.readexactly(2)
        if size == 126:
            size = struct.unpack(">H", await self.reader.readexactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", await self.reader.readexactly(8))[0]
        content = await self.reader.readexactly(size)
        assert first == 0x80 | BINARY, content
        return content
