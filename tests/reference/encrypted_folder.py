"""What an encrypted journal.db holds, read as docs/decisions/service.md tells it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
import unicodedata

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def decrypted(kept: bytes, key: bytes, what: bytes, place: int) -> bytes:
    own_key = hashlib.blake2b(what, key=key, digest_size=32, person=b"labelwalk parts").digest()
    return AESGCM(own_key).decrypt(kept[:12], kept[12:], struct.pack("<I", place))


def key_of(connection: sqlite3.Connection, passphrase: str) -> bytes:
    query = "SELECT salt, n, r, p, wrapped FROM lock"
    [(salt, n, r, p, wrapped)] = connection.execute(query).fetchall()
    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8")
    around = hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, dklen=32, maxmem=2**31 - 1)
    return decrypted(wrapped, around, b"the key of a folder", 0)


def parts_of(payload: bytes) -> list[bytes | None]:
    """The parts as they are kept; None where one is erased."""
    parts: list[bytes | None] = []
    if payload[0] == 0:
        [n] = struct.unpack_from("<I", payload, 33)
        at = 37 + 4 * n
        for size in struct.unpack_from(f"<{n}I", payload, 37):
            parts.append(payload[at : at + size])
            at = at + size
        return parts
    [n] = struct.unpack_from("<I", payload, 1)
    at = 5
    for _ in range(n):
        if payload[at] == 0:
            parts.append(None)
            at = at + 1 + 32
        else:
            [size] = struct.unpack_from("<I", payload, at + 1 + 32)
            parts.append(payload[at + 37 : at + 37 + size])
            at = at + 37 + size
    return parts


def events_of(path: str, passphrase: str) -> list[tuple[str, list[bytes | None]]]:
    """Kind and parts of each event."""
    connection = sqlite3.connect(path)
    key = key_of(connection, passphrase)
    found = []
    query = "SELECT sequence, at, learner, kind, about, key, payload FROM events ORDER BY sequence"
    for sequence, at, learner, kind, about, name, payload in connection.execute(query).fetchall():
        numbers = f"{sequence} {at} {learner} {len(kind)} {len(about)}"
        what = f"{numbers}\0{kind}\0{about}\0{name}".encode()
        parts: list[bytes | None] = []
        for place, kept in enumerate(parts_of(payload)):
            parts.append(None if kept is None else decrypted(kept, key, what, place))
        found.append((kind, parts))
    connection.close()
    return found


def states_of(path: str, passphrase: str) -> dict[int, bytes]:
    """The state of each learner in the last round."""
    connection = sqlite3.connect(path)
    key = key_of(connection, passphrase)
    query = "SELECT listing FROM rounds ORDER BY sequence DESC LIMIT 1"
    [(listing,)] = connection.execute(query).fetchall()
    found = {}
    for learner, digest in json.loads(listing):
        query = "SELECT content FROM contents WHERE digest = ?"
        [(kept,)] = connection.execute(query, (digest,)).fetchall()
        found[learner] = decrypted(kept, key, f"state of learner {learner}".encode(), 0)
    connection.close()
    return found
