"""Copies of everything as of one moment, made while it is in use, and brought back."""

from __future__ import annotations

import os
import shutil
import time

from labelwalk.service.database import DamagedError, Database, sync_folder
from labelwalk.service.journal import (
    FILE,
    WITNESS,
    HighWaterMark,
    Journal,
    JournalPosition,
    JournalReader,
)
from labelwalk.service.snapshots import Snapshots

BACKUPS = "backups"


def back_up(journal: Journal) -> str:
    """Write a copy into the folder of backups, and return its name.

    It holds all that was acknowledged before the call.
    """
    folder = os.path.join(os.path.dirname(journal.database.path), BACKUPS)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    moment = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime())
    name = f"{moment}-{journal.last.sequence}.db"
    part = os.path.join(folder, f"{name}.part")
    journal.database.copy_to(part)
    os.replace(part, os.path.join(folder, name))
    sync_folder(folder)
    return name


def restore(backup: str, folder: str) -> int:
    """Bring a copy back as a folder of its own, and return how many events it holds.

    It is proved without being read: no passphrase is needed, and the folder has that of the copy.

    Parameters
    ----------
    backup : str
        A file that `back_up` made.
    folder : str
        Where nothing is kept yet.

    Raises
    ------
    FileExistsError
        Something is kept there.
    DamagedError
        The copy is not as it was made; then nothing is left in the folder.
    """
    path = os.path.join(folder, FILE)
    if os.path.exists(path) or os.path.exists(os.path.join(folder, WITNESS)):
        raise FileExistsError(f"{folder} holds learners already. Choose another folder.")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(backup, "rb") as copy, open(os.open(path, new, 0o600), "wb") as file:
            shutil.copyfileobj(copy, file)
        end = _proved(path)
        _testify(folder, end)
        return end.sequence
    except DamagedError:
        for name in (FILE, f"{FILE}-wal", WITNESS):
            if os.path.exists(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name))
        raise


def _proved(path: str) -> JournalPosition:
    """Return the last event of a copy in which all is as it was written."""
    database = Database(path)
    try:
        reader = JournalReader(database)
        for _ in reader.events():
            pass
        Snapshots(reader).latest()
        return reader.end()
    finally:
        database.close()


def _testify(folder: str, end: JournalPosition) -> None:
    """Let a witness say what the copy itself says: nobody else was there."""
    witness = HighWaterMark(os.path.join(folder, WITNESS))
    for _ in range(2):
        witness.write(end, now=True)
    witness.close()


def apply_retention(reader: JournalReader, snapshots: Snapshots, seconds: float) -> None:
    """Drop events that are older than need be, up to a round from which a start can begin.

    Parameters
    ----------
    reader, snapshots : JournalReader, Snapshots
    seconds : float
        How long events are kept at least.
    """
    base = snapshots.older_than(int(1000 * (time.time() - seconds)))
    if base is None:
        return
    reader.drop(reader.at(base))
    snapshots.strike(before=base)
