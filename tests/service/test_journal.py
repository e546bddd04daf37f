"""The journal: what was acknowledged is there after kill -9, and one process owns it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk.service.commands import (
    STORED_NAMES,
    Adjust,
    Command,
    Forget,
    Note,
    Observe,
    Retract,
    Teach,
    TeachLater,
    decode_command,
    encode_command,
    encode_metadata,
)
from labelwalk.service.database import FORMAT_VERSION, DamagedError, DiskError, FolderInUseError
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.sealed_parts import (
    compute_commitment,
    decode_parts,
    encode_parts,
    redact_parts,
)
from labelwalk.service.snapshots import Snapshots
from tests.service.journal_writer import whole_groups
from tests.service.sizes import Sizes

pytestmark = pytest.mark.shell

WRITER = [sys.executable, "-m", "tests.service.journal_writer"]


class TestSealed:
    @given(st.lists(st.binary(max_size=40), max_size=6), st.sets(st.integers(0, 5)))
    def test_erasing_leaves_the_rest_and_the_commitment(
        self, parts: list[bytes], which: set[int]
    ) -> None:
        kept, commitment = encode_parts(parts)
        rest = redact_parts(kept, which)
        assert compute_commitment(kept) == compute_commitment(rest) == commitment
        left = [None if i in which else part for i, part in enumerate(parts)]
        assert [part.content for part in decode_parts(rest)] == left
        assert redact_parts(rest, []) == rest

    def test_equal_parts_have_other_commitments(self) -> None:
        kept, _ = encode_parts([b"same", b"same"])
        one, other = decode_parts(kept)
        assert one.commitment != other.commitment
        assert encode_parts([b"same", b"same"])[1] != encode_parts([b"same", b"same"])[1]


def same(one: Command | None, other: Command | None) -> bool:
    if type(one) is not type(other):
        return False
    pairs = zip(vars(one).values(), vars(other).values(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


class TestEvents:
    @pytest.mark.parametrize("kind", [np.float32, np.float64])
    def test_they_are_read_back_as_they_were(self, kind: type) -> None:
        rows: Any = np.random.default_rng(0).normal(size=(3, 2)).astype(kind)
        for event in (
            Observe(rows),
            Observe(rows, ("a", 2, "é")),
            Teach(rows, ("a", -1, "<b>")),
            TeachLater(7, "a"),
            Retract(example=3),
            Retract(label=4),
            Forget("a"),
            Adjust({"sink": 0.5}),
            Note({"place": "door"}),
        ):
            about, parts = encode_metadata(event, 0), encode_command(event)
            json.loads(about)
            assert same(decode_command(event.kind, about, parts), event)

    def test_stored_names_stay_and_unknown_ones_are_ignored(self) -> None:
        for event, stored in (
            (TeachLater(7, "a"), {"example": 7, "label": "a"}),
            (Retract(label=4), {"example": None, "label": 4}),
            (Forget("a"), {"label": "a"}),
            (Adjust({"sink": 0.5}), {"dials": {"sink": 0.5}}),
            (Note({"place": "door"}), {"notes": {"place": "door"}}),
        ):
            assert json.loads(encode_command(event)[0]) == stored
            part = json.dumps(stored | {"settings": 1, "of a later version": 2}).encode()
            assert decode_command(event.kind, "{}", [part]) == event
        for kind, names in STORED_NAMES.items():
            assert list(names) == [field.name for field in fields(kind)]

    def test_erased_examples_never_were(self) -> None:
        rows = np.arange(6.0).reshape(3, 2)
        event = Teach(rows, ("a", "b", "c"))
        about, parts = encode_metadata(event, 0), encode_command(event)
        left = decode_command("teach", about, [parts[0], None, parts[2]])
        assert same(left, Teach(rows[[0, 2]], ("a", "c")))
        assert decode_command("teach", about, [None] * 3) is None


class TestJournal:
    def test_one_process_owns_it(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path))
        with pytest.raises(FolderInUseError, match="in use by process"):
            Journal(str(tmp_path))
        journal.close()
        Journal(str(tmp_path)).close()

    def test_events_after_one(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path))
        journal.append([Entry(1, "observe", "{}", [str(i).encode()]) for i in range(600)])
        assert [event.sequence for event in journal.reader.read_events(after=597)] == [
            598,
            599,
            600,
        ]
        assert len(list(journal.reader.read_events())) == 600
        journal.close()

    def test_an_earlier_format_is_brought_up(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path))
        journal.append([Entry(1, "observe", "{}", [b"row"])])
        Snapshots(journal.reader).save(journal.last, {1: b"state"}, learner_ids=[1])
        with journal.database.transaction() as connection:
            connection.execute("DROP INDEX contents_by_digest")
            connection.execute("DROP TABLE lock")
            connection.execute("PRAGMA user_version = 1")
        journal.close()
        again = Journal(str(tmp_path))
        assert again.database.read("PRAGMA user_version") == [(FORMAT_VERSION,)]
        assert again.database.read("PRAGMA index_list(contents)")
        found = Snapshots(again.reader).read_latest()
        assert found is not None
        assert (len(list(again.reader.read_events())), found.states) == (1, {1: b"state"})
        again.close()

    def test_a_later_format_is_left_alone(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path))
        with journal.database.transaction() as connection:
            connection.execute("PRAGMA user_version = 99")
        journal.close()
        with pytest.raises(DamagedError, match="has format 99"):
            Journal(str(tmp_path))

    def test_nothing_is_accepted_after_a_failure(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path))
        journal.append([Entry(1, "observe", "{}", [b"kept"])])
        with journal.database.transaction() as connection:
            connection.execute("PRAGMA max_page_count = 8")
        with pytest.raises(DiskError, match="full"):
            journal.append([Entry(1, "observe", "{}", [bytes(100_000)])])
        with pytest.raises(DiskError):
            journal.append([Entry(1, "observe", "{}", [b"small"])])
        journal.close()
        again = Journal(str(tmp_path))
        assert [event.sequence for event in again.reader.read_events()] == [1]
        again.close()

    @pytest.mark.slow
    def test_kill_9(self, tmp_path: Path, sizes: Sizes) -> None:
        """What was said to be on the disk is there, once, and nothing that was not sent."""
        rng, told, before = np.random.default_rng(0), (0, ""), 0
        for seed in range(sizes.writer_kills):
            command = [*WRITER, str(tmp_path / "journal"), str(seed), "1000000"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert process.stdout is not None
            with process:
                said = [process.stdout.readline().decode()]
                time.sleep(float(rng.uniform(0, 0.3)))
                process.send_signal(signal.SIGKILL)
                said += process.stdout.read().decode().splitlines()
            sequence, chain = [line for line in said if len(line.split()) == 2][-1].split()
            told = int(sequence), chain
            journal = Journal(str(tmp_path / "journal"))
            found = list(journal.reader.read_events(after=before))
            journal.close()
            assert found[told[0] - before - 1].chain.hex() == told[1]
            assert whole_groups(found, seed)
            before += len(found)
        journal = Journal(str(tmp_path / "journal"))
        assert sum(1 for _ in journal.reader.read_events()) == before
        journal.close()
        print(f"{sizes.writer_kills} times kill -9 of a writer, {before} events: all there, once")
