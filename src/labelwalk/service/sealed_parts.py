"""The contents of an event as parts that can be erased one by one, and what proves the others.

Each part has a key of its own. Its commitment is a keyed hash: it proves the part to whoever has
the key, and says nothing about it to whoever has not. Erasing a part destroys the part and its key,
and keeps the commitment; so all hashes over commitments stay as they are.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

WHOLE, PARTLY = b"\0", b"\1"
SIZE = struct.Struct("<I")
SECRET = HASH = 32


class InvalidPartsError(ValueError):
    """Bytes that are no sealed parts."""


@dataclass(frozen=True)
class Part:
    """A part as it is kept: with its key, or erased and only its commitment left."""

    content: bytes | None
    key: bytes | None
    commitment: bytes


def encode_parts(parts: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return bytes to keep, and the commitment to all parts.

    Examples
    --------
    >>> kept, commitment = encode_parts([b"one", b"two"])
    >>> [part.content for part in decode_parts(kept)]
    [b'one', b'two']
    >>> rest = redact_parts(kept, [0])
    >>> (
    ...     [part.content for part in decode_parts(rest)],
    ...     compute_commitment(rest) == commitment,
    ...     b"one" in rest,
    ... )
    ([None, b'two'], True, False)
    """
    secret = secrets.token_bytes(SECRET)
    sizes = b"".join(SIZE.pack(len(part)) for part in parts)
    kept = b"".join([WHOLE, secret, SIZE.pack(len(parts)), sizes, *parts])
    return kept, _all(_commitment(part, _key(secret, i)) for i, part in enumerate(parts))


def decode_parts(kept: bytes) -> list[Part]:
    """Return the parts in order.

    Raises
    ------
    InvalidPartsError
        The bytes are damaged in a way that leaves no parts.
    """
    reader = _Reader(kept)
    kind = reader.take(1)
    if kind == WHOLE:
        parts = list(_whole(reader))
    elif kind == PARTLY:
        parts = list(_partly(reader))
    else:
        raise InvalidPartsError(f"it begins with {kind!r}")
    if reader.at != len(kept):
        raise InvalidPartsError(f"{len(kept) - reader.at} bytes are left over")
    return parts


def compute_commitment(kept: bytes) -> bytes:
    """Return the commitment to all parts, those included that are erased."""
    return _all(part.commitment for part in decode_parts(kept))


def redact_parts(kept: bytes, which: Collection[int]) -> bytes:
    """Return the bytes to keep instead, without the parts of these numbers."""
    pieces = []
    for i, part in enumerate(decode_parts(kept)):
        if part.content is None or part.key is None or i in which:
            pieces += [b"\0", part.commitment]
        else:
            pieces += [b"\1", part.key, SIZE.pack(len(part.content)), part.content]
    return b"".join([PARTLY, SIZE.pack(len(decode_parts(kept))), *pieces])


def _whole(reader: _Reader) -> Iterator[Part]:
    secret = reader.take(SECRET)
    sizes = [reader.size() for _ in range(reader.size())]
    for i, size in enumerate(sizes):
        content, key = reader.take(size), _key(secret, i)
        yield Part(content, key, _commitment(content, key))


def _partly(reader: _Reader) -> Iterator[Part]:
    for _ in range(reader.size()):
        if reader.take(1) == b"\0":
            yield Part(None, None, reader.take(HASH))
        else:
            key = reader.take(SECRET)
            content = reader.take(reader.size())
            yield Part(content, key, _commitment(content, key))


def _key(secret: bytes, i: int) -> bytes:
    return blake2b(SIZE.pack(i), key=secret, digest_size=SECRET).digest()


def _commitment(part: bytes, key: bytes) -> bytes:
    return blake2b(part, key=key, digest_size=HASH).digest()


def _all(commitments: Iterator[bytes]) -> bytes:
    return blake2b(b"".join(commitments), digest_size=HASH).digest()


class _Reader:
    """Takes bytes from the front, and complains where there are too few."""

    def __init__(self, content: bytes) -> None:
        self._content, self.at = content, 0

    def take(self, n: int) -> bytes:
        end = self.at + n
        if end > len(self._content):
            raise InvalidPartsError(f"it ends at byte {len(self._content)} of at least {end}")
        found = self._content[self.at : end]
        self.at = end
        return found

    def size(self) -> int:
        return int(SIZE.unpack(self.take(SIZE.size))[0])
