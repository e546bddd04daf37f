"""Bytes that are kept: locked by a key, or as they are.

What is locked together has a key of its own, made from the key of the cipher and from what it is.
So it opens nowhere else, and no key locks so much that two nonces could be the same.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol

from labelwalk.service.database import DamagedError, Database
from labelwalk.service.sealed_parts import SIZE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY, NONCE, NAME = 32, 12, 16  # bytes


class DecryptionError(Exception):
    """Bytes that do not open: they were changed, or locked as something else, or by another key."""


class Cipher(Protocol):
    """What becomes of bytes on their way to the disk, and back.

    Attributes
    ----------
    name : bytes
        The same for the same key, and says nothing about it; empty where there is none.
    """

    name: bytes

    def encrypt(self, parts: Sequence[bytes], what: bytes) -> Sequence[bytes]:
        """Return what is kept in place of parts.

        Parameters
        ----------
        parts : sequence of bytes
        what : bytes
            What they are together: they open as nothing else.
        """

    def decrypt(self, parts: Sequence[bytes | None], what: bytes) -> list[bytes | None]:
        """Return parts as they were; those that are erased, None, stay so.

        Raises
        ------
        DecryptionError
        """


class NoEncryption:
    """Keeps bytes as they are."""

    name = b""

    def encrypt(self, parts: Sequence[bytes], what: bytes) -> Sequence[bytes]:
        """Return the parts."""
        return parts

    def decrypt(self, parts: Sequence[bytes | None], what: bytes) -> list[bytes | None]:
        """Return the parts."""
        return list(parts)


class AesGcmCipher:
    """Locks bytes with AES-256-GCM; a nonce drawn at random stands before each part.

    Parameters
    ----------
    key : bytes
        Of 32 bytes.

    Examples
    --------
    >>> cipher = AesGcmCipher(bytes(32))
    >>> kept = cipher.encrypt([b"one", b"two"], b"numbers")
    >>> cipher.decrypt(kept, b"numbers")
    [b'one', b'two']
    >>> cipher.decrypt(kept, b"letters")
    Traceback (most recent call last):
    labelwalk.service.encryption.DecryptionError: cannot be unlocked: it was changed
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._key, self._aes, self._refusal = key, AESGCM, InvalidTag
        self.name = blake2b(key=key, digest_size=NAME, person=b"labelwalk name").digest()

    def encrypt(self, parts: Sequence[bytes], what: bytes) -> Sequence[bytes]:
        """Return each part under the key of what they are, and in its place among them."""
        aes, kept = self._for(what), []
        drawn = secrets.token_bytes(NONCE * len(parts))  # at once: drawing costs as much as locking
        for i, part in enumerate(parts):
            nonce = drawn[NONCE * i : NONCE * (i + 1)]
            kept.append(nonce + aes.encrypt(nonce, part, SIZE.pack(i)))
        return kept

    def decrypt(self, parts: Sequence[bytes | None], what: bytes) -> list[bytes | None]:
        """Return parts as they were; those that are erased, None, stay so.

        Raises
        ------
        DecryptionError
        """
        aes = self._for(what)
        try:
            return [
                None if kept is None else aes.decrypt(kept[:NONCE], kept[NONCE:], SIZE.pack(i))
                for i, kept in enumerate(parts)
            ]
        except (self._refusal, ValueError) as error:  # the second where no nonce is left
            raise DecryptionError("cannot be unlocked: it was changed") from error

    def _for(self, what: bytes) -> AESGCM:
        person = b"labelwalk parts"
        return self._aes(blake2b(what, key=self._key, digest_size=KEY, person=person).digest())


SALT = HASH = 32
N, R, P = 2**17, 8, 1  # of scrypt, for folders to come: 128 MiB, and half a second
WHAT = b"the key of a folder"


class PassphraseError(ValueError):
    """A passphrase that is missing, wrong, or not wanted."""


class _Lock(NamedTuple):
    """The key, wrapped, and what the key around it is made from besides the passphrase."""

    name: bytes
    salt: bytes
    n: int
    r: int
    p: int
    wrapped: bytes

    def proof(self) -> bytes:
        """Return what tells a lock that was damaged from a passphrase that is wrong."""
        return hashlib.blake2b(repr(tuple(self)).encode(), digest_size=HASH).digest()


def open_cipher(database: Database, passphrase: str | None) -> Cipher:
    """Return what locks and unlocks all that is kept in a database.

    A passphrase given to a database in which nothing was ever kept becomes its own.

    Parameters
    ----------
    database : Database
    passphrase : str or None

    Raises
    ------
    PassphraseError
        It is not that of the database; nothing has changed.
    DamagedError
        The wrapped key is not as it was kept.
    """
    if passphrase == "":
        raise PassphraseError("passphrase='' is empty. Give one, or none at all.")
    folder = os.path.dirname(os.path.abspath(database.path))
    lock = _lock_of(database)
    if passphrase is None:
        if lock is not None:
            raise PassphraseError(
                f"{folder} has a passphrase, and none was given. Give it by --passphrase-file or "
                "LABELWALK_PASSPHRASE, or to LearnerStore as passphrase."
            )
        return NoEncryption()
    if lock is not None:
        return AesGcmCipher(_unwrapped(lock, passphrase, folder))
    if database.read("SELECT 1 FROM events UNION ALL SELECT 1 FROM anchor LIMIT 1"):
        raise PassphraseError(
            f"{folder} was begun without a passphrase, so none can be given to it, by "
            "--passphrase-file or LABELWALK_PASSPHRASE. Leave it out; or export its learners, and "
            "import them into a new folder that has one."
        )
    return _begun(database, passphrase)


def name_of_key(database: Database) -> bytes:
    """Return the name of the key under which a database is kept; empty where there is none."""
    lock = _lock_of(database)
    return b"" if lock is None else lock.name


def _lock_of(database: Database) -> _Lock | None:
    rows = database.read("SELECT name, salt, n, r, p, wrapped, proof FROM lock")
    if not rows:
        return None
    *values, proof = rows[0]
    lock = _Lock(*values)
    if lock.proof() != proof:
        raise DamagedError(f"{database.path}: the key behind the passphrase was changed")
    return lock


def _begun(database: Database, passphrase: str) -> Cipher:
    key, salt = secrets.token_bytes(KEY), secrets.token_bytes(SALT)
    around = AesGcmCipher(_stretched(passphrase, salt, N, R, P))
    [wrapped] = around.encrypt([key], WHAT)
    cipher = AesGcmCipher(key)
    lock = _Lock(cipher.name, salt, N, R, P, wrapped)
    with database.writing() as connection:
        connection.execute("INSERT INTO lock VALUES (?,?,?,?,?,?,?)", (*lock, lock.proof()))
    return cipher


def _unwrapped(lock: _Lock, passphrase: str, folder: str) -> bytes:
    around = AesGcmCipher(_stretched(passphrase, lock.salt, lock.n, lock.r, lock.p))
    try:
        [key] = around.decrypt([lock.wrapped], WHAT)
    except DecryptionError:
        raise PassphraseError(
            f"the passphrase is not the one of {folder}. Nothing has changed: give the right one."
        ) from None
    assert key is not None
    return key


def _stretched(passphrase: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    """Return a key that costs whoever guesses passphrases as much as it costs us, each time."""
    try:  # keyboards differ in how they write the same letter
        secret = unicodedata.normalize("NFC", passphrase).encode()
    except UnicodeEncodeError:
        raise PassphraseError("the passphrase is not text in UTF-8. Choose another.") from None
    room = 128 * r * (n + p + 2)  # what it takes, to the byte
    return hashlib.scrypt(secret, salt=salt, n=n, r=r, p=p, dklen=KEY, maxmem=room)
