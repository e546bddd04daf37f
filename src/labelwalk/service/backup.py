"""Copies of everything as of one moment, made while it is in use, and brought back."""

from __future__ import annotations

import os
import shutil
import time

from labelwalk.service.database import DamagedError, Database, sync_folder
from labelwalk.service.erasing import Plan, Unwanted, carry_out, planned
from labelwalk.service.journal import FILE, WITNESS, Journal
from labelwalk.service.ledger import Ledger
from labelwalk.service.passphrase import name_of_key
from labelwalk.service.pupil import pupil_from_bytes
from labelwalk.service.snapshots import Snapshots
from labelwalk.service.witness import Seen, Witness

BACKUPS = "backups"


class CopyError(Exception):
    """A copy cannot be read, or is of another folder, so nothing can be erased from it."""


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


def erase_in_copies(journal: Journal, unwanted: Unwanted) -> bool:
    """Erase from all copies in the folder of backups; return whether something older remains."""
    folder = os.path.join(os.path.dirname(journal.database.path), BACKUPS)
    older = False
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if ".db.part" in name:  # of a copy that was never finished
            os.remove(os.path.join(folder, name))
        if not name.endswith(".db"):
            continue
        database = _opened(os.path.join(folder, name))
        try:
            _check_key(database, journal)
            ledger = Ledger(database, journal.cipher)
            if ledger.end().sequence < unwanted.learner:
                continue  # it was made later
            snapshots = Snapshots(ledger)
            plan = planned(ledger, unwanted)
            carry_out(plan, ledger, snapshots)
            older |= plan.older or _remains(snapshots, unwanted, plan)
            database.cleanse()
        finally:
            database.close()
    return older


def _remains(snapshots: Snapshots, unwanted: Unwanted, plan: Plan) -> bool:
    """Return whether a state of a copy still knows what came before its events."""
    last = snapshots.latest()
    state = None if last is None else last.states.get(unwanted.learner)
    return state is not None and unwanted.remains(pupil_from_bytes(state), plan)


def _opened(path: str) -> Database:
    try:
        return Database(path)
    except DamagedError as error:
        raise CopyError(
            f"the learner stays as it is: {path} is damaged. Take it out of there, and ask again."
        ) from error


def _check_key(copy: Database, journal: Journal) -> None:
    if name_of_key(copy) != journal.cipher.name:
        raise CopyError(
            f"the learner stays as it is: {copy.path} is no copy of this folder, since it is "
            "encrypted otherwise. Take it out of there, and ask again."
        )


def _proved(path: str) -> Seen:
    """Return the last event of a copy in which all is as it was written."""
    database = Database(path)
    try:
        ledger = Ledger(database)
        for _ in ledger.events():
            pass
        Snapshots(ledger).latest()
        return ledger.end()
    finally:
        database.close()


def _testify(folder: str, end: Seen) -> None:
    """Let a witness say what the copy itself says: nobody else was there."""
    witness = Witness(os.path.join(folder, WITNESS))
    for _ in range(2):
        witness.write(end, now=True)
    witness.close()
