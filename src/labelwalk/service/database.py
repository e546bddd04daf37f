"""The file under journal and snapshots: SQLite, where what is written is on the disk."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

CLEAN, SOILED = 0, 1  # of the application_id: whether what was erased may still lie about
EMPTY_THE_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
SETTINGS = (
    "locking_mode = EXCLUSIVE",
    "journal_mode = WAL",
    "synchronous = FULL",
    "secure_delete = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
)
FORMATS = (  # each makes a file of its format from one of the format before
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
FORMAT = len(FORMATS)


class DamagedError(Exception):
    """What was written is not there, or not as it was written; says where."""


class DiskError(Exception):
    """The disk refused: nothing more is accepted before the file is opened again."""


class Database:
    """One connection for all threads, one at a time.

    Parameters
    ----------
    path : str
        Made if it is not there.

    Raises
    ------
    DamagedError
        The file is none of ours, of a later version, or spoiled.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._failed: str | None = None
        _make_private(path)
        with self._blaming_the_file():
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, cached_statements=32
            )
        try:
            with self._blaming_the_file():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise
        sync_folder(os.path.dirname(os.path.abspath(path)))

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._lock, self._blaming_the_file():
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def writing(self, *, erasing: bool = False) -> Iterator[sqlite3.Connection]:
        """Hold what is written together: it is all on the disk afterwards.

        Parameters
        ----------
        erasing : bool
            Whether what is overwritten must go for good: with `cleanse`, or else at the next start.

        Raises
        ------
        DiskError
            Then it may be there or not, and nothing is written any more.
        """
        with self._lock:
            if self._failed is not None:
                raise DiskError(self._failed)
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                if erasing:
                    self._connection.execute(f"PRAGMA application_id = {SOILED}")
                yield self._connection
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                self.fail(f"{self.path} cannot be written ({error})")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def fail(self, reason: str) -> None:
        """Refuse all that comes."""
        self._failed = f"{reason}. Make room or change the disk, then start again"
        raise DiskError(self._failed)

    def copy_to(self, path: str) -> None:
        """Write all of it, as of one moment, to another file."""
        with self._lock, self._blaming_the_file():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
            target = sqlite3.connect(path)
            try:
                self._connection.backup(target)
            finally:
                target.close()

    def cleanse(self) -> None:
        """Write all of it anew: what was deleted or overwritten is nowhere any more.

        SQLite overwrites what is deleted, but not what is left behind where it moves rows about.
        """
        with self._lock:
            try:
                for statement in ("VACUUM", EMPTY_THE_LOG, f"PRAGMA application_id = {CLEAN}"):
                    self._connection.execute(statement).fetchall()
            except sqlite3.Error as error:
                self.fail(f"{self.path} cannot be written ({error})")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        for setting in SETTINGS:
            self._connection.execute(f"PRAGMA {setting}").fetchall()
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise DamagedError(
                f"{self.path} has format {version}, and this version of labelwalk knows those up "
                f"to {FORMAT}. Use a later one"
            )
        if version < FORMAT:  # all at once: a file is never between two formats
            steps = "".join(FORMATS[version:])
            statements = f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {FORMAT}; COMMIT;"
            self._connection.executescript(statements)
        if self._connection.execute("PRAGMA application_id").fetchone()[0] == SOILED:
            self.cleanse()

    @contextmanager
    def _blaming_the_file(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise DamagedError(f"{self.path} cannot be read ({error})") from error


def sync_folder(folder: str) -> None:
    """See that files that are new will be found: SQLite asks for it, and does not hear a no."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_private(path: str) -> None:
    """Create a file before SQLite does, which gives its logs the same permissions."""
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for name in filter(os.path.exists, (path, f"{path}-wal", f"{path}-journal")):
        os.chmod(name, 0o600)


NAME = "owner"


class FolderInUseError(Exception):
    """Another process has the folder."""


class FolderLock:
    """Holds a folder until it is released, or the process ends, however it ends.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     owner = FolderLock(folder)
    ...     FolderLock(folder)
    Traceback (most recent call last):
    labelwalk.service.database.FolderInUseError: ... is in use by process ...
    """

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, NAME)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            process = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            raise FolderInUseError(
                f"{folder} is in use by process {process}. Stop that one, or choose another folder."
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have the folder."""
        os.close(self._file)
