"""Folders written by version 0.7.0: every kind of command is read, and the learners continue."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelwalk._validation import NamedRows
from labelwalk.service.commands import (
    Command,
    Observe,
    Teach,
    TeachLater,
    decode_command,
    encode_command,
    encode_metadata,
)
from labelwalk.service.journal_writer import KeyReusedError
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner

DATA = Path(__file__).parents[1] / "data" / "golden-0.7"
PASSPHRASES = {"plain": None, "encrypted": "correct horse"}
Golden = tuple[Path, str | None, dict[str, Any]]

pytestmark = pytest.mark.shell


@pytest.fixture(params=PASSPHRASES)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Golden:
    """A folder that `tests/data/golden-0.7/write_service.py` wrote, and what it holds."""
    with tarfile.open(DATA / "service.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    holds = json.loads((DATA / "service.json").read_text())[request.param]
    return tmp_path / request.param, PASSPHRASES[request.param], holds


def as_stored(managed: ManagedLearner) -> dict[str, Any]:
    assert managed.axes is not None
    stored = {
        "digest": managed.learner.digest(),
        "classes": managed.learner.classes,
        "numbered": managed.next_example_id,
        "erased": managed.erased,
        "notes": managed.notes,
        "past": managed.history.to_dict(),
        "axes": managed.axes.to_dict(),
        "changes": managed.n_changes,
    }
    loaded: dict[str, Any] = json.loads(json.dumps(stored))
    return loaded


def first_commands() -> tuple[Command, Command]:
    rows = np.random.default_rng(7).normal(size=(30, 2))
    return (
        Teach(NamedRows(rows[:2] + 3, ("a", "b")), ("low", "high")),
        Observe(NamedRows(rows[2:8].astype("<f4"), ("a", "b"))),
    )


@pytest.mark.parametrize("from_snapshot", [True, False], ids=["snapshot", "replay"])
def test_learners_are_restored(from_snapshot: bool, golden: Golden) -> None:
    folder, passphrase, holds = golden
    if not from_snapshot:
        store = LearnerStore(str(folder), passphrase=passphrase)
        with store._journal.database.transaction() as connection:
            connection.execute("DELETE FROM rounds")
        store.close()
    store = LearnerStore(str(folder), passphrase=passphrase)
    assert store.find_id("golden") == holds["number"]
    stored = as_stored(store.get(holds["number"]))
    if not from_snapshot:  # the event of the erasure is not counted by a replay
        stored["changes"] += 1
    assert stored == {key: holds[key] for key in stored}
    store.close()


def test_events_are_decoded_and_encoded_as_before(golden: Golden) -> None:
    folder, passphrase, holds = golden
    store = LearnerStore(str(folder), passphrase=passphrase)
    reader, events, kinds = store._journal.reader, [], set()
    for event in reader.read_events():
        if event.kind == "create":
            continue
        parts = reader.decrypt(event).parts
        hexadecimal = [part and part.hex() for part in parts]
        events.append(
            {"kind": event.kind, "about": event.about, "key": event.key, "parts": hexadecimal}
        )
        command = decode_command(event.kind, event.about, parts)
        if command is not None:
            kinds.add(command.kind)
            assert encode_command(command) == [part for part in parts if part is not None]
            assert encode_metadata(command, json.loads(event.about)["first"]) == event.about
    assert events == holds["events"]
    assert kinds == {"observe", "teach", "teach-later", "retract", "forget", "adjust", "note"}
    store.close()


def test_keys_and_learners_continue(golden: Golden) -> None:
    folder, passphrase, holds = golden
    store, number = LearnerStore(str(folder), passphrase=passphrase), holds["number"]
    teach, observe = first_commands()
    assert list(store.submit(number, teach, "first").result()) == holds["answers"][0]
    with pytest.raises(KeyReusedError, match="has been erased"):
        store.submit(number, observe, "second").result()
    with pytest.raises(KeyReusedError, match="used for another command"):
        store.submit(number, TeachLater(4, "low"), "third").result()
    assert as_stored(store.get(number))["digest"] == holds["digest"]
    assert store.erase(number, examples=[6, 7]).result() == (2, False)
    assert store.submit(number, Observe(np.ones((2, 2)))).result().first == holds["numbered"]
    store.back_up()
    expected = store.query(number, ManagedLearner.to_bytes).result()
    store.close()
    again = LearnerStore(str(folder), passphrase=passphrase)
    assert again.query(number, ManagedLearner.to_bytes).result() == expected
    again.close()
