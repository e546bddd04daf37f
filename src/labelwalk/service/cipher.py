"""Bytes that are kept: locked by a key, or as they are.

What is locked together has a key of its own, made from the key of the cipher and from what it is.
So it opens nowhere else, and no key locks so much that two nonces could be the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

from labelwalk.service.sealed import SIZE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY, NONCE, NAME = 32, 12, 16  # bytes


class UnlockError(Exception):
    """Bytes that do not open: they were changed, or locked as something else, or by another key."""


class Cipher(Protocol):
    """What becomes of bytes on their way to the disk, and back.

    Attributes
    ----------
    name : bytes
        The same for the same key, and says nothing about it; empty where there is none.
    """

    name: bytes

    def locked(self, parts: Sequence[bytes], what: bytes) -> Sequence[bytes]:
        """Return what is kept in place of parts.

        Parameters
        ----------
        parts : sequence of bytes
        what : bytes
            What they are together: they open as nothing else.
        """

    def unlocked(self, parts: Sequence[bytes | None], what: bytes) -> list[bytes | None]:
        """Return parts as they were; those that are erased, None, stay so.

        Raises
        ------
        UnlockError
        """


class Plain:
    """Keeps bytes as they are."""

    name = b""

    def locked(self, parts: Sequence[bytes], what: bytes) -> Sequence[bytes]:
        """Return the parts."""
        return parts

    def unlocked(self, parts: Sequence[bytes | None], what: bytes) -> list[bytes | None]:
        """Return the parts."""
        return list(parts)


class Locking:
    """Locks bytes with AES-256-GCM; a nonce drawn at random stands before each part.

    Parameters
    ----------
    key : bytes
        Of 32 bytes.

    Examples
    --------
    >>> cipher = Locking(bytes(32))
    >>> kept = cipher.locked([b"one", b"two"], b"numbers")
    >>> cipher.unlocked(kept, b"numbers")
    [b'one', b'two']
    >>> cipher.unlocked(kept, b"letters")
    Traceback (most recent call last):
    labelwalk.service.cipher.UnlockError: cannot be unlocked: it was changed
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._key, self._aes, self._refusal = key, AESGCM, InvalidTag
        self.name = blake2b(key=key, digest_size=NAME, person=b"labelwalk name").digest()

    def locked(self, parts: Sequence[bytes], what: bytes) -> Sequence[bytes]:
        """Return each part under the key of what they are, and in its place among them."""
        aes, kept = self._for(what), []
        drawn = secrets.token_bytes(NONCE * len(parts))  # at once: drawing costs as much as locking
        for i, part in enumerate(parts):
            nonce = drawn[NONCE * i : NONCE * (i + 1)]
            kept.append(nonce + aes.encrypt(nonce, part, SIZE.pack(i)))
        return kept

    def unlocked(self, parts: Sequence[bytes | None], what: bytes) -> list[bytes | None]:
        """Return parts as they were; those that are erased, None, stay so.

        Raises
        ------
        UnlockError
        """
        aes = self._for(what)
        try:
            return [
                None if kept is None else aes.decrypt(kept[:NONCE], kept[NONCE:], SIZE.pack(i))
                for i, kept in enumerate(parts)
            ]
        except (self._refusal, ValueError) as error:  # the second where no nonce is left
            raise UnlockError("cannot be unlocked: it was changed") from error

    def _for(self, what: bytes) -> AESGCM:
        person = b"labelwalk parts"
        return self._aes(blake2b(what, key=self._key, digest_size=KEY, person=person).digest())
