"""Encryption at rest: ciphers for stored content, and the passphrase of a folder.

Content that is encrypted together gets a key of its own, derived from the key of the folder and a
context. So it decrypts nowhere else, and no key encrypts enough for two nonces to collide. The key
of the folder is stored in the database, wrapped by a key derived from the passphrase: every copy
carries it.
"""

import hashlib
import os
import secrets
import unicodedata
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from labelwalk.errors import LabelwalkError
from labelwalk.service.database import DamagedError, Database
from labelwalk.service.sealed_parts import KEY_BYTES, UINT32

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES, KEY_NAME_BYTES, SALT_BYTES = 12, 16, 32
SCRYPT_N, SCRYPT_R, SCRYPT_P = 2**17, 8, 1  # for new folders: 128 MiB and half a second
WRAPPED_KEY_CONTEXT = b"the key of a folder"


class DecryptionError(LabelwalkError):
    """Content was changed, or encrypted in another context or with another key."""


class PassphraseError(LabelwalkError, ValueError):
    """The passphrase is missing, wrong or not usable."""


class NoEncryption:
    """Leaves content as it is."""

    key_name = b""

    def encrypt(self, parts: Sequence[bytes], context: bytes) -> Sequence[bytes]:
        """Return the parts."""
        return parts

    def decrypt(self, parts: Sequence[bytes | None], context: bytes) -> list[bytes | None]:
        """Return the parts."""
        return list(parts)


class AesGcmCipher:
    """AES-256-GCM with a key of 32 bytes; a random nonce precedes each part.

    The `key_name` identifies the key without revealing it; it is empty without encryption.
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._key, self._aes, self._invalid_tag = key, AESGCM, InvalidTag
        self.key_name = blake2b(
            key=key, digest_size=KEY_NAME_BYTES, person=b"labelwalk name"
        ).digest()

    def encrypt(self, parts: Sequence[bytes], context: bytes) -> Sequence[bytes]:
        """Return encrypted parts, which decrypt only in the same context and order."""
        aes, encrypted = self._create_aes(context), []
        # One call for all nonces: a call costs as much as encrypting a part.
        nonces = secrets.token_bytes(NONCE_BYTES * len(parts))
        for i, part in enumerate(parts):
            nonce = nonces[NONCE_BYTES * i : NONCE_BYTES * (i + 1)]
            encrypted.append(nonce + aes.encrypt(nonce, part, UINT32.pack(i)))
        return encrypted

    def decrypt(self, parts: Sequence[bytes | None], context: bytes) -> list[bytes | None]:
        """Return decrypted parts, or raise `DecryptionError`; None is an erased part and stays."""
        aes = self._create_aes(context)
        try:
            return [
                None
                if part is None
                else aes.decrypt(part[:NONCE_BYTES], part[NONCE_BYTES:], UINT32.pack(i))
                for i, part in enumerate(parts)
            ]
        except (self._invalid_tag, ValueError) as error:  # ValueError: the nonce is cut off
            raise DecryptionError("cannot be decrypted: it was changed") from error

    def _create_aes(self, context: bytes) -> "AESGCM":
        derived = blake2b(
            context, key=self._key, digest_size=KEY_BYTES, person=b"labelwalk parts"
        ).digest()
        return self._aes(derived)


Cipher = NoEncryption | AesGcmCipher


class WrappedKey(NamedTuple):
    """The encrypted key of a folder, and the parameters of the key that decrypts it."""

    name: bytes
    salt: bytes
    n: int
    r: int
    p: int
    wrapped: bytes

    def compute_checksum(self) -> bytes:
        """Return what tells a damaged record from a wrong passphrase."""
        return blake2b(repr(tuple(self)).encode(), digest_size=32).digest()

    def create_wrapping_cipher(self, passphrase: str) -> AesGcmCipher:
        """Return the cipher of the passphrase; scrypt makes guessing expensive."""
        try:  # keyboards differ in how they compose a letter
            secret = unicodedata.normalize("NFC", passphrase).encode()
        except UnicodeEncodeError:
            raise PassphraseError("the passphrase is not UTF-8 text. Choose another.") from None
        n_bytes = 128 * self.r * (self.n + self.p + 2)  # exactly what scrypt needs
        key = hashlib.scrypt(
            secret, salt=self.salt, n=self.n, r=self.r, p=self.p, dklen=KEY_BYTES, maxmem=n_bytes
        )
        return AesGcmCipher(key)


def open_cipher(database: Database, passphrase: str | None) -> Cipher:
    """Return the cipher of a database; an empty database takes the passphrase as its own.

    A `PassphraseError` means that it is not the passphrase of the database and nothing was changed.
    """
    if passphrase == "":
        raise PassphraseError("passphrase='' is empty. Pass a passphrase, or None.")
    folder = os.path.dirname(os.path.abspath(database.path))
    record = _read_wrapped_key(database)
    if passphrase is None:
        if record is not None:
            raise PassphraseError(
                f"{folder} is encrypted, and no passphrase was given. Use --passphrase-file, "
                "LABELWALK_PASSPHRASE or LearnerStore(..., passphrase=...)."
            )
        return NoEncryption()
    if record is not None:
        try:
            wrapping = record.create_wrapping_cipher(passphrase)
            [key] = wrapping.decrypt([record.wrapped], WRAPPED_KEY_CONTEXT)
        except DecryptionError:
            raise PassphraseError(
                f"the passphrase of {folder} is wrong. Nothing was changed. Use the correct one."
            ) from None
        assert key is not None
        return AesGcmCipher(key)
    if database.read("SELECT 1 FROM events UNION ALL SELECT 1 FROM anchor LIMIT 1"):
        raise PassphraseError(
            f"{folder} was created without a passphrase, and none can be added. Omit "
            "--passphrase-file and LABELWALK_PASSPHRASE, or export its learners and import them "
            "into a new folder with a passphrase."
        )
    return _create_key(database, passphrase)


def read_key_name(database: Database) -> bytes:
    """Return the name of the key of a database; empty if it is not encrypted."""
    record = _read_wrapped_key(database)
    return b"" if record is None else record.name


def _read_wrapped_key(database: Database) -> WrappedKey | None:
    rows = database.read("SELECT name, salt, n, r, p, wrapped, proof FROM lock")
    if not rows:
        return None
    *values, checksum = rows[0]
    record = WrappedKey(*values)
    if record.compute_checksum() != checksum:
        raise DamagedError(f"{database.path}: the encrypted key of the folder was changed")
    return record


def _create_key(database: Database, passphrase: str) -> Cipher:
    key = secrets.token_bytes(KEY_BYTES)
    cipher, salt = AesGcmCipher(key), secrets.token_bytes(SALT_BYTES)
    record = WrappedKey(cipher.key_name, salt, SCRYPT_N, SCRYPT_R, SCRYPT_P, b"")
    [wrapped] = record.create_wrapping_cipher(passphrase).encrypt([key], WRAPPED_KEY_CONTEXT)
    record = record._replace(wrapped=wrapped)
    with database.transaction() as connection:
        values = (*record, record.compute_checksum())
        connection.execute("INSERT INTO lock VALUES (?,?,?,?,?,?,?)", values)
    return cipher
