"""Backups made while the service is in use, their restoration, and retention of events."""

from __future__ import annotations

import os
import shutil
import time

from labelwalk.service.database import DamagedError, Database
from labelwalk.service.journal import JOURNAL_FILE, MARK_FILE, HighWaterMark, Journal, JournalReader
from labelwalk.service.snapshots import Snapshots
from labelwalk.storage.atomic_write import sync_folder

BACKUP_FOLDER = "backups"


def back_up(journal: Journal) -> str:
    """Write a backup of all acknowledged events, and return its file name."""
    folder = os.path.join(os.path.dirname(journal.database.path), BACKUP_FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    moment = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime())
    name = f"{moment}-{journal.last.sequence}.db"
    part = os.path.join(folder, f"{name}.part")
    journal.database.copy_to(part)
    os.replace(part, os.path.join(folder, name))
    sync_folder(folder)
    return name


def restore(backup: str, folder: str) -> int:
    """Make a backup a data folder of its own, and return how many events it has.

    The backup is verified without its passphrase, which the folder takes over. A folder with
    learners raises `FileExistsError`. A damaged backup raises `DamagedError` and leaves nothing.
    """
    path, mark = os.path.join(folder, JOURNAL_FILE), os.path.join(folder, MARK_FILE)
    if os.path.exists(path) or os.path.exists(mark):
        raise FileExistsError(f"{folder} already contains learners. Choose another folder.")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(backup, "rb") as source, open(os.open(path, flags, 0o600), "wb") as target:
            shutil.copyfileobj(source, target)
        return _verify(path, mark)
    except DamagedError:
        for name in filter(os.path.exists, (path, f"{path}-wal", mark)):
            os.remove(name)
        raise


def apply_retention(reader: JournalReader, snapshots: Snapshots, retain_s: float) -> None:
    """Delete events older than a number of seconds, as far as a snapshot can replace them."""
    sequence = snapshots.find_older_than(int(1000 * (time.time() - retain_s)))
    if sequence is not None:
        reader.drop_events(reader.read_position(sequence))
        snapshots.delete(before=sequence)


def _verify(path: str, mark_path: str) -> int:
    """Verify everything in a database, and write its high-water mark."""
    database = Database(path)
    try:
        reader = JournalReader(database)
        for _ in reader.read_events():
            pass
        Snapshots(reader).read_latest()
        end = reader.read_end()
    finally:
        database.close()
    mark = HighWaterMark(mark_path)
    mark.write_twice(end)
    mark.close()
    return end.sequence
