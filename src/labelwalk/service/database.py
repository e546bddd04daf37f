"""The SQLite file of a data folder: durable transactions, erasure, and the lock of the folder."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from labelwalk.errors import LabelwalkError
from labelwalk.storage.atomic_write import sync_folder

# The application_id of the file: whether deleted content may still be in it.
PURGED, PURGE_PENDING = 0, 1
PRAGMAS = (
    "locking_mode = EXCLUSIVE",
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
)
MIGRATIONS = (  # each one turns a file of the previous format into the next format
    """
CREATE TABLE anchor (sequence INTEGER PRIMARY KEY, chain BLOB NOT NULL) STRICT;
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    learner INTEGER NOT NULL,
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    key TEXT NOT NULL,
    payload BLOB NOT NULL,
    chain BLOB NOT NULL
) STRICT;
CREATE TABLE rounds (
    sequence INTEGER PRIMARY KEY,
    listing TEXT NOT NULL,
    proof BLOB NOT NULL
) STRICT;
CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL,
    content BLOB NOT NULL
) STRICT;
""",
    """
CREATE UNIQUE INDEX contents_by_digest ON contents (digest);
""",
    """
CREATE TABLE lock (
    name BLOB NOT NULL,
    salt BLOB NOT NULL,
    n INTEGER NOT NULL,
    r INTEGER NOT NULL,
    p INTEGER NOT NULL,
    wrapped BLOB NOT NULL,
    proof BLOB NOT NULL
) STRICT;
""",
)
FORMAT_VERSION = len(MIGRATIONS)
LOCK_FILE = "owner"


class DamagedError(LabelwalkError):
    """Stored content is missing or differs from what was written."""


class DiskError(LabelwalkError):
    """A write failed. No more writes are accepted until the folder is opened again."""


class FolderInUseError(LabelwalkError):
    """Another process uses the folder."""


class Database:
    """One SQLite connection to a file, shared by all threads; the file is created if needed.

    A damaged file, or one of a later format, raises `DamagedError`.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._failure: str | None = None
        # Before SQLite creates the file: SQLite gives its logs the permissions of the file.
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        for name in filter(os.path.exists, (path, f"{path}-wal", f"{path}-journal")):
            os.chmod(name, 0o600)
        with self._errors_as_damage():
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, cached_statements=32
            )
        try:
            with self._errors_as_damage():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise
        sync_folder(os.path.dirname(os.path.abspath(path)))

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._lock, self._errors_as_damage():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def transaction(self, *, erases: bool = False) -> Iterator[sqlite3.Connection]:
        """Commit the statements of the block together; they are on disk when it ends.

        With `erases`, overwritten content must disappear from the file: by `purge`, or else when
        the file is opened again. After a `DiskError` the transaction may or may not be on disk,
        and all further writes are refused.
        """
        with self._lock:
            if self._failure is not None:
                raise DiskError(self._failure)
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                if erases:
                    self._connection.execute(f"PRAGMA application_id = {PURGE_PENDING}")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self.fail(f"{self.path} cannot be written ({error})")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def fail(self, reason: str) -> None:
        """Raise a `DiskError`, and refuse all further writes."""
        self._failure = f"{reason}. Free disk space or replace the disk, then restart"
        raise DiskError(self._failure)

    def copy_to(self, path: str) -> None:
        """Write a consistent copy to another file."""
        with self._lock, self._errors_as_damage():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
            with closing(sqlite3.connect(path)) as target:
                self._connection.backup(target)

    def purge(self) -> None:
        """Rewrite the file and truncate its log, so that no deleted content is left in them.

        SQLite overwrites what is deleted, but not the old place of a row that it moved.
        """
        with self._lock:
            try:
                for statement in (
                    "VACUUM",
                    "PRAGMA wal_checkpoint(TRUNCATE)",
                    f"PRAGMA application_id = {PURGED}",
                ):
                    self._connection.execute(statement).fetchall()
            except sqlite3.Error as error:
                self.fail(f"{self.path} cannot be written ({error})")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        for pragma in PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}").fetchall()
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT_VERSION:
            raise DamagedError(
                f"{self.path} has format {version}, but this version of labelwalk supports formats "
                f"up to {FORMAT_VERSION}. Upgrade labelwalk"
            )
        if version < FORMAT_VERSION:  # one transaction: a file never stays between two formats
            steps = "".join(MIGRATIONS[version:])
            self._connection.executescript(
                f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {FORMAT_VERSION}; COMMIT;"
            )
        if self._connection.execute("PRAGMA application_id").fetchone()[0] == PURGE_PENDING:
            self.purge()

    @contextmanager
    def _errors_as_damage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise DamagedError(f"{self.path} cannot be read ({error})") from error


@contextmanager
def lock_folder(folder: str) -> Iterator[None]:
    """Lock a folder in the block; the end of the process, for any reason, unlocks it too."""
    path = os.path.join(folder, LOCK_FILE)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.pread(file, 20, 0).decode("ascii", "replace").strip()
            raise FolderInUseError(
                f"{folder} is in use by process {process}. Stop that process, or choose another "
                "folder."
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)
