"""The payload of an event: parts that can be erased one by one without breaking the hash chain.

Each part has its own key, and its commitment is a keyed hash: it verifies the part for those who
have the key, and reveals nothing to others. Erasing a part destroys the part and its key and keeps
the commitment, so every hash over commitments stays valid.
"""

import secrets
import struct
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from labelwalk.errors import LabelwalkError

COMPLETE, REDACTED = b"\0", b"\1"  # the first byte of a payload
UINT32 = struct.Struct("<I")
KEY_BYTES = HASH_BYTES = 32


class InvalidPartsError(LabelwalkError, ValueError):
    """Bytes that are not a payload."""


@dataclass(frozen=True)
class PayloadPart:
    """A part with its key; if it was erased, only the commitment is left."""

    content: bytes | None
    key: bytes | None
    commitment: bytes


def encode_parts(parts: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the payload, and the commitment to all parts."""
    secret = secrets.token_bytes(KEY_BYTES)
    sizes = b"".join(UINT32.pack(len(part)) for part in parts)
    payload = b"".join([COMPLETE, secret, UINT32.pack(len(parts)), sizes, *parts])
    return payload, _hash_all(_commit(part, _derive_key(secret, i)) for i, part in enumerate(parts))


def decode_parts(payload: bytes) -> list[PayloadPart]:
    """Return the parts in order; raise `InvalidPartsError` if there are none."""
    reader, parts = _Reader(payload), list[PayloadPart]()
    kind = reader.take(1)
    if kind == COMPLETE:
        secret = reader.take(KEY_BYTES)
        sizes = [reader.take_uint32() for _ in range(reader.take_uint32())]
        for i, size in enumerate(sizes):
            content, key = reader.take(size), _derive_key(secret, i)
            parts.append(PayloadPart(content, key, _commit(content, key)))
    elif kind == REDACTED:
        for _ in range(reader.take_uint32()):
            if reader.take(1) == b"\0":
                parts.append(PayloadPart(None, None, reader.take(HASH_BYTES)))
            else:
                key = reader.take(KEY_BYTES)
                content = reader.take(reader.take_uint32())
                parts.append(PayloadPart(content, key, _commit(content, key)))
    else:
        raise InvalidPartsError(f"it begins with {kind!r}")
    if reader.position != len(payload):
        raise InvalidPartsError(f"{len(payload) - reader.position} bytes are left over")
    return parts


def compute_commitment(payload: bytes) -> bytes:
    """Return the commitment to all parts, the erased ones included."""
    return _hash_all(part.commitment for part in decode_parts(payload))


def redact_parts(payload: bytes, indices: Collection[int]) -> bytes:
    """Return the payload without the content of some parts."""
    parts, pieces = decode_parts(payload), []
    for i, part in enumerate(parts):
        if part.content is None or part.key is None or i in indices:
            pieces += [b"\0", part.commitment]
        else:
            pieces += [b"\1", part.key, UINT32.pack(len(part.content)), part.content]
    return b"".join([REDACTED, UINT32.pack(len(parts)), *pieces])


class _Reader:
    """Takes bytes from the front of a payload."""

    def __init__(self, payload: bytes) -> None:
        self._payload, self.position = payload, 0

    def take(self, n_bytes: int) -> bytes:
        start, self.position = self.position, self.position + n_bytes
        if self.position > len(self._payload):
            raise InvalidPartsError(
                f"it has {len(self._payload)} bytes and needs at least {self.position}"
            )
        return self._payload[start : self.position]

    def take_uint32(self) -> int:
        return int(UINT32.unpack(self.take(UINT32.size))[0])


def _derive_key(secret: bytes, i: int) -> bytes:
    return blake2b(UINT32.pack(i), key=secret, digest_size=KEY_BYTES).digest()


def _commit(part: bytes, key: bytes) -> bytes:
    return blake2b(part, key=key, digest_size=HASH_BYTES).digest()


def _hash_all(commitments: Iterable[bytes]) -> bytes:
    return blake2b(b"".join(commitments), digest_size=HASH_BYTES).digest()
