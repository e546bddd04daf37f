"""The key of a folder, wrapped by what its passphrase gives, and kept in the database itself.

So each copy carries it, and another passphrase could wrap it without anything else being written
anew.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import unicodedata
from typing import NamedTuple

from labelwalk.service.cipher import KEY, Cipher, Locking, Plain, UnlockError
from labelwalk.service.database import DamagedError, Database

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


def cipher_of(database: Database, passphrase: str | None) -> Cipher:
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
                "LABELWALK_PASSPHRASE, or to Keeper as passphrase."
            )
        return Plain()
    if lock is not None:
        return Locking(_unwrapped(lock, passphrase, folder))
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
    around = Locking(_stretched(passphrase, salt, N, R, P))
    [wrapped] = around.locked([key], WHAT)
    cipher = Locking(key)
    lock = _Lock(cipher.name, salt, N, R, P, wrapped)
    with database.writing() as connection:
        connection.execute("INSERT INTO lock VALUES (?,?,?,?,?,?,?)", (*lock, lock.proof()))
    return cipher


def _unwrapped(lock: _Lock, passphrase: str, folder: str) -> bytes:
    around = Locking(_stretched(passphrase, lock.salt, lock.n, lock.r, lock.p))
    try:
        [key] = around.unlocked([lock.wrapped], WHAT)
    except UnlockError:
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
