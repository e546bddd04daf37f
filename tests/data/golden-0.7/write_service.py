"""Write folders of the service of version 0.7.0, with every kind of command, and what they hold.

How `service.tar.gz` and `service.json` beside this file were made:

    git archive d97b955 | tar x -C OLD
    PYTHONPATH=OLD/src NUMBA_CACHE_DIR=$(mktemp -d) python tests/data/golden-0.7/write_service.py
"""

# mypy: ignore-errors
from __future__ import annotations

import json
import os
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from labelwalk.service.events import (
    Adjust,
    Forget,
    Note,
    Observe,
    Retract,
    Teach,
    TeachLater,
)
from labelwalk.service.keeper import Keeper

from labelwalk import OnlineLearner
from labelwalk._validation import NamedRows
from labelwalk.service import passphrase as scrypt

HERE = Path(__file__).resolve().parent
PASSPHRASES = {"plain": None, "encrypted": "correct horse"}


def commands() -> list[tuple[Any, str]]:
    """Return one command of each kind, and more, with their idempotency keys."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(30, 2))
    return [
        (Teach(NamedRows(rows[:2] + 3, ("a", "b")), ("low", "high")), "first"),
        (Observe(NamedRows(rows[2:8].astype("<f4"), ("a", "b"))), "second"),
        (Observe(rows[8:14], tuple(f"s{i % 3}" for i in range(6))), ""),
        (TeachLater(3, "low"), ""),
        (TeachLater(4, "gone"), "third"),
        (Teach(rows[14:16], (7, "gone")), ""),
        (Retract(3), ""),
        (Retract(label="gone"), ""),
        (
            Adjust(
                {"sink": 0.02, "prior": [["low", 0.5], ["high", 0.25], ["gone", 0.125], [7, 0.125]]}
            ),
            "",
        ),
        (Note({"camera": "north", "tags": ["ä", 1]}), ""),
        (Observe(rows[16:24]), ""),
        (Forget(7), "fourth"),
        (Note({"camera": "south"}), ""),
        (Observe(rows[24:30]), ""),
    ]


def write(folder: str, passphrase: str | None) -> dict[str, Any]:
    """Write a folder, and return what its learner and its journal hold."""
    keeper = Keeper(folder, every=12, passphrase=passphrase)
    learner = OnlineLearner(8, remember=50, source_share=0.5)
    number = keeper.create("golden", learner, {"made": "by 0.7.0"}).result()
    gone = keeper.create("deleted", OnlineLearner(8)).result()
    answers = []
    for command, key in commands():
        told = keeper.change(number, command, key).result()
        answers.append([told.first, told.columns])
    keeper.delete(gone).result()
    keeper.erase(number, examples=[5]).result()
    journal = keeper._journal
    events = [
        {
            "kind": event.kind,
            "about": event.about,
            "key": event.key,
            "parts": [part and part.hex() for part in journal.unlocked(event).parts],
        }
        for event in journal.events()
        if event.kind != "create"
    ]
    pupil = keeper.pupil(number)
    holds = {
        "number": number,
        "answers": answers,
        "events": events,
        "digest": pupil.learner.digest(),
        "classes": pupil.learner.classes,
        "numbered": pupil.n_numbered,
        "erased": pupil.erased,
        "notes": pupil.notes,
        "past": pupil.past.described(),
        "axes": pupil.axes.described(),
        "changes": pupil.n_changes,
    }
    keeper.close()
    return holds


if __name__ == "__main__":
    scrypt.N = 2**4
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        holds = {kind: write(kind, passphrase) for kind, passphrase in PASSPHRASES.items()}
        with tarfile.open(HERE / "service.tar.gz", "w:gz") as archive:
            for kind in PASSPHRASES:
                archive.add(kind)
    (HERE / "service.json").write_text(json.dumps(holds, indent=1, ensure_ascii=False))
