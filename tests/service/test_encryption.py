"""A folder with a passphrase: nothing that was learned can be read in it, and all is as ever."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from labelwalk.cli import errors
from labelwalk.cli.options import PASSPHRASE_VARIABLE, read_passphrase
from labelwalk.service.commands import Adjust, Forget, Observe, Retract, Teach, TeachLater
from labelwalk.service.database import DamagedError, Database
from labelwalk.service.encryption import AesGcmCipher, DecryptionError, PassphraseError
from labelwalk.service.erasure import BackupError
from labelwalk.service.journal import Entry, Journal, JournalReader, StoredEvent
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.sealed_parts import decode_parts, encode_parts, redact_parts
from labelwalk.service.snapshots import Snapshots, _compute_proof, restore
from tests.reference import encrypted_folder
from tests.service.store_writer import EVERY, K, events
from tests.service.test_server import ENVIRONMENT, free_port, served

pytestmark = [pytest.mark.shell, pytest.mark.usefixtures("quick_scrypt")]

SECRET = "correct horse"
NAME, LABELS = "the door of Ludmila", ("Antonín Dvořák", "Božena Němcová", "a stranger")
SOURCE, KEY = "camera in the hall", "a key of the client"
CLASS_BEFORE = "somebody known before"


def story(rng: np.random.Generator) -> Iterator[Any]:
    """Yield events of every kind, with rows of both widths."""
    points = 6.0 * np.arange(3)[:, None] + rng.normal(size=(3, 4))
    yield Teach(points, LABELS)
    yield Adjust({"prior": [[name, 1 / 4] for name in (CLASS_BEFORE, *LABELS)]})
    for _ in range(30):
        rows = 6.0 * rng.integers(3, size=(3, 1)) + rng.normal(size=(3, 4))
        yield Observe(rows)
        yield Observe(rows.astype(np.float32), (SOURCE,) * 3)
        yield Teach(rows.astype(np.float32), LABELS)
    yield TeachLater(4, LABELS[1])
    yield Retract(4)
    yield Retract(label=LABELS[1])
    yield Forget(LABELS[2])


class Needles(NamedTuple):
    """Bytes that tell something of a story."""

    words: set[bytes]
    rows: set[bytes]
    pieces: set[bytes]

    def all(self) -> set[bytes]:
        return self.words | self.rows | self.pieces


def told(folder: Path, passphrase: str | None) -> tuple[LearnerStore, Needles]:
    """Return a store after the story, and bytes that tell something of it."""
    known = OnlineLearner(K, source_share=0.9)
    known.teach([[50.0] * 4], [CLASS_BEFORE])
    store = LearnerStore(str(folder), snapshot_every=60, passphrase=passphrase)
    number = store.create(NAME, known).result()
    words = {word.encode() for word in (NAME, *LABELS, SOURCE, CLASS_BEFORE)}
    needles = Needles(words | {b"LABELWALK", b"n_centroids"}, set(), set())
    for i, event in enumerate(story(np.random.default_rng(1))):
        store.submit(number, event, key=f"{KEY} {i}" if i % 2 else "").result()
        if isinstance(event, Observe | Teach):
            needles.rows.update(row.tobytes() for row in event.rows)
        if i == 50:
            store.back_up()
            state = store.query(number, lambda managed: managed.to_bytes()).result()
            needles.pieces.update(pieces(state))
    return store, needles


def pieces(state: bytes) -> list[bytes]:
    """Return some pieces of a learner's file that look like nothing else."""
    found = [state[i : i + 32] for i in range(0, len(state), 32)]
    found = [piece for piece in found if len(set(piece)) > 24]
    return found[:: max(1, len(found) // 100)]


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def found(needles: set[bytes], folder: Path) -> set[bytes]:
    contents = list(files(folder).values())
    return {one for one in needles if any(one in content for content in contents)}


class TestNothingCanBeRead:
    def test_in_any_file_at_any_time(self, tmp_path: Path) -> None:
        store, needles = told(tmp_path, SECRET)
        assert {"journal.db", "journal.db-wal"} < set(files(tmp_path))
        assert any(name.startswith("backups") for name in files(tmp_path))
        assert len(files(tmp_path)["journal.db-wal"]) > 50_000
        assert not found(needles.all(), tmp_path)
        store.erase(1, examples=[5]).result()
        assert not found(needles.all(), tmp_path)
        store.close()
        assert not found(needles.all(), tmp_path)
        assert SECRET.encode() not in b"".join(files(tmp_path).values())

    def test_the_search_finds_what_is_not_encrypted(self, tmp_path: Path) -> None:
        store, needles = told(tmp_path, None)
        assert found(needles.words, tmp_path) == needles.words
        assert found(needles.rows, tmp_path) == needles.rows
        assert len(needles.pieces) >= 50
        assert len(found(needles.pieces, tmp_path)) >= len(needles.pieces) / 2
        store.close()

    def test_no_hash_tells_what_is_not_encrypted(self, tmp_path: Path) -> None:
        """Else a guess could be tried."""
        store, _ = told(tmp_path, SECRET)
        store.erase(1, examples=[0]).result()  # so that there is a round now
        states = store.query_all(lambda all_: [one.to_bytes() for one in all_.values()]).result()
        held = [
            store._journal.reader.decrypt(event) for event in store._journal.reader.read_events()
        ]
        parts = [part for one in held for part in one.parts if part is not None]
        for content in [*states, *parts]:
            digest = blake2b(content, digest_size=32).digest()
            assert not found({digest, digest.hex().encode()}, tmp_path)
        store.close()

    def test_what_stays_readable_is_what_the_guide_says(self, tmp_path: Path) -> None:
        store, _ = told(tmp_path, SECRET)
        store.close()
        reader = JournalReader(Database(str(tmp_path / "journal.db")))
        event = list(reader.read_events())[3]
        assert (event.kind, event.about) == ("observe", '{"d":4,"first":4,"type":"<f8"}')
        assert found({KEY.encode()}, tmp_path)
        reader.database.close()

    def test_the_same_is_never_kept_as_the_same(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path), SECRET)
        journal.append([Entry(1, "observe", "{}", [bytes(40), bytes(40)])] * 3)
        kept = [
            part.content or b""
            for event in journal.reader.read_events()
            for part in decode_parts(event.payload)
        ]
        assert len({one[:12] for one in kept}) == len({one[12:-16] for one in kept}) == 6
        journal.close()


class TestAllElseIsAsEver:
    def test_the_twin_reads_it(self, tmp_path: Path) -> None:
        """What the decision record says is enough to read a folder without this package."""
        store, _ = told(tmp_path, SECRET)
        store.erase(1, examples=[0, 7]).result()
        state = store.query(1, lambda managed: managed.to_bytes()).result()
        expected = []
        for event in store._journal.reader.read_events():
            held = store._journal.reader.decrypt(event)
            expected.append((event.kind, held.parts + ([held.answer] if event.key else [])))
        store.close()
        path = str(tmp_path / "journal.db")
        assert encrypted_folder.events_of(path, SECRET) == expected
        assert encrypted_folder.states_of(path, SECRET) == {1: state}

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_a_journal_holds_what_it_was_given(
        self, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """The reference implementation is a list of lists, from which parts are struck."""
        folder, twin = str(tmp_path_factory.mktemp("kept")), list[list[bytes | None]]()
        journal = Journal(folder, SECRET)
        for what in data.draw(st.lists(st.sampled_from(["append", "erase", "reopen"]), max_size=9)):
            if what == "append":
                group = data.draw(st.lists(st.lists(st.binary(max_size=40), max_size=4)))
                journal.append([Entry(1, "observe", "{}", parts) for parts in group])
                twin += [list(parts) for parts in group]
            elif what == "erase" and twin:
                event = data.draw(st.integers(0, len(twin) - 1))
                which = data.draw(st.sets(st.integers(0, 4)))
                payload = journal.reader.read_event(event + 1).payload
                journal.reader.replace_payloads({event + 1: redact_parts(payload, which)})
                twin[event] = [None if i in which else p for i, p in enumerate(twin[event])]
            else:
                journal.close()
                journal = Journal(folder, SECRET)
            assert [
                journal.reader.decrypt(one).parts for one in journal.reader.read_events()
            ] == twin
        journal.close()

    def test_states_that_did_not_change_are_kept_once(self, tmp_path: Path) -> None:
        for round_ in range(3):
            journal = Journal(str(tmp_path), SECRET)
            snapshots = Snapshots(journal.reader)
            journal.append([Entry(1, "observe", "{}", [b"row"])])
            if round_:
                assert snapshots.read_latest() is not None
            snapshots.save(journal.last, {1: b"one", 2: f"{round_}".encode()}, learner_ids=[1, 2])
            kept = journal.database.read("SELECT count(*), count(DISTINCT digest) FROM contents")
            [(n_rounds,)] = journal.database.read("SELECT count(*) FROM rounds")
            assert kept == [(n_rounds + 1, n_rounds + 1)]
            journal.close()

    def test_it_is_proved_without_the_passphrase(self, tmp_path: Path) -> None:
        store, _ = told(tmp_path / "kept", SECRET)
        name, n = store.back_up(), store._journal.last.sequence
        store.close()
        assert restore(str(tmp_path / "kept" / "backups" / name), str(tmp_path / "again")) == n
        with pytest.raises(PassphraseError, match="again is encrypted"):
            LearnerStore(str(tmp_path / "again"))
        again = LearnerStore(str(tmp_path / "again"), passphrase=SECRET)
        assert again.get_classes(NAME) == (CLASS_BEFORE, *LABELS[:2])
        again.close()

    @pytest.mark.slow
    def test_without_a_passphrase_nothing_is_imported_for_it(self, tmp_path: Path) -> None:
        code = (
            "import sys; from labelwalk.service.learner_store import LearnerStore; "
            "from labelwalk import OnlineLearner; store = LearnerStore(sys.argv[1]); "
            "store.create('a', OnlineLearner(9)).result(); store.close(); "
            "assert not any(name.startswith('cryptography') for name in sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=ENVIRONMENT, check=True)


class TestRefused:
    def test_whatever_is_not_the_passphrase(self, tmp_path: Path) -> None:
        store, _ = told(tmp_path, SECRET)
        store.close()
        before = files(tmp_path)
        for wrong in ("Correct horse", "correct horse\n", "x"):
            with pytest.raises(PassphraseError, match=r"Nothing was changed\. Use the correct one"):
                LearnerStore(str(tmp_path), passphrase=wrong)
        with pytest.raises(
            PassphraseError, match=r"no passphrase was given. Use --passphrase-file"
        ):
            LearnerStore(str(tmp_path))
        with pytest.raises(PassphraseError, match="is empty"):
            LearnerStore(str(tmp_path), passphrase="")
        with pytest.raises(PassphraseError, match="not UTF-8 text"):
            LearnerStore(str(tmp_path), passphrase="\udc80")
        assert files(tmp_path) | {"owner": b""} == before | {"owner": b""}
        LearnerStore(str(tmp_path), passphrase=SECRET).close()

    def test_a_folder_that_was_begun_without_one(self, tmp_path: Path) -> None:
        store, _ = told(tmp_path, None)
        store.close()
        before = files(tmp_path)
        with pytest.raises(PassphraseError, match="export its learners and import"):
            LearnerStore(str(tmp_path), passphrase=SECRET)
        assert files(tmp_path) | {"owner": b""} == before | {"owner": b""}
        LearnerStore(str(tmp_path)).close()

    def test_one_in_which_nothing_was_kept_takes_it(self, tmp_path: Path) -> None:
        LearnerStore(str(tmp_path)).close()
        LearnerStore(str(tmp_path), passphrase=SECRET).close()
        with pytest.raises(PassphraseError, match="is encrypted"):
            LearnerStore(str(tmp_path))

    @pytest.mark.parametrize("n_events", [0, 1])
    def test_an_earlier_format(self, n_events: int, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path))
        journal.append([Entry(1, "observe", "{}", [b"row"])] * n_events)
        with journal.database.transaction() as connection:
            connection.execute("DROP TABLE lock")
            connection.execute("PRAGMA user_version = 2")
        journal.close()
        if n_events:
            with pytest.raises(PassphraseError, match="created without"):
                Journal(str(tmp_path), SECRET)
        again = Journal(str(tmp_path), None if n_events else SECRET)
        assert len(list(again.reader.read_events())) == n_events
        assert (again.reader.cipher.key_name == b"") == bool(n_events)
        again.close()

    def test_letters_may_be_written_in_two_ways(self, tmp_path: Path) -> None:
        LearnerStore(str(tmp_path), passphrase="caf\u00e9").close()
        LearnerStore(str(tmp_path), passphrase="cafe\u0301").close()

    @pytest.mark.slow
    def test_copies_of_another_folder_are_left_alone(self, tmp_path: Path) -> None:
        store, _ = told(tmp_path / "kept", SECRET)
        for i, passphrase in enumerate([SECRET, None]):
            other, _ = told(tmp_path / f"other {i}", passphrase)
            name = other.back_up()
            other.close()
            copy = tmp_path / "kept" / "backups" / f"other {i}.db"
            copy.write_bytes((tmp_path / f"other {i}" / "backups" / name).read_bytes())
            before = copy.read_bytes()
            with pytest.raises(BackupError, match=rf"other {i}\.db is not a backup of this folder"):
                store.erase(1, examples=[3]).result()
            assert copy.read_bytes() == before
            copy.unlink()
        assert store.erase(1, examples=[3]).result().examples == 1
        store.close()


class TestChanged:
    """Whoever writes into a folder without its passphrase can move nothing to another place."""

    @given(
        st.lists(st.binary(max_size=30), min_size=1, max_size=4),
        st.binary(max_size=20),
        st.data(),
    )
    def test_parts(self, parts: list[bytes], what: bytes, data: st.DataObject) -> None:
        cipher = AesGcmCipher(bytes(range(32)))
        kept = list(cipher.encrypt(parts, what))
        assert cipher.decrypt(kept, what) == parts
        assert cipher.decrypt([None, *kept[1:]], what) == [None, *parts[1:]]
        with pytest.raises(DecryptionError):
            cipher.decrypt(kept, what + b"x")
        with pytest.raises(DecryptionError):
            AesGcmCipher(bytes(32)).decrypt(kept, what)
        with pytest.raises(DecryptionError):
            cipher.decrypt([kept[-1], *kept], what)  # each in another place
        i = data.draw(st.integers(0, len(kept) - 1))
        bit = data.draw(st.integers(0, 8 * len(kept[i]) - 1))
        changed = bytearray(kept[i])
        changed[bit // 8] ^= 1 << bit % 8
        cut = kept[i][: bit // 8]
        for other in (bytes(changed), cut):
            with pytest.raises(DecryptionError):
                cipher.decrypt([*kept[:i], other, *kept[i + 1 :]], what)

    def test_events(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path), SECRET)
        journal.append([Entry(1, "teach", "{}", [b"one", b"two"])] * 2)
        one, two = journal.reader.read_events()
        first, second = (part.content or b"" for part in decode_parts(one.payload))
        moved: list[StoredEvent] = [
            one._replace(payload=two.payload),
            one._replace(payload=encode_parts([second, first])[0]),
            one._replace(payload=encode_parts([second])[0]),
            one._replace(learner=2),
            one._replace(kind="observe"),
            one._replace(about="{ }"),
            one._replace(at=one.at + 1),
            one._replace(key="k"),
        ]
        for event in moved:
            with pytest.raises(DamagedError, match="event 1 cannot be decrypted"):
                journal.reader.decrypt(event)
        assert journal.reader.decrypt(one).parts == [b"one", b"two"]
        journal.close()

    def test_states(self, tmp_path: Path) -> None:
        journal = Journal(str(tmp_path), SECRET)
        journal.append([Entry(1, "observe", "{}", [b"row"])])
        snapshots = Snapshots(journal.reader)
        snapshots.save(journal.last, {1: b"one", 2: b"two"}, learner_ids=[1, 2])
        [(listing,)] = journal.database.read("SELECT listing FROM rounds")
        (_, one), (_, two) = json.loads(listing)
        swapped = json.dumps([[1, two], [2, one]])
        with journal.database.transaction() as connection:
            values = (swapped, _compute_proof(journal.last, swapped))
            connection.execute("UPDATE rounds SET listing = ?, proof = ?", values)
        with pytest.raises(DamagedError, match="the state of learner 1 cannot be decrypted"):
            snapshots.read_latest()
        journal.close()

    def test_the_wrapped_key(self, tmp_path: Path) -> None:
        """A bit that flips there is no wrong passphrase, and is told as what it is."""
        journal = Journal(str(tmp_path), SECRET)
        journal.append([Entry(1, "observe", "{}", [b"row"])])
        columns = journal.database.read("SELECT name, salt, wrapped, proof FROM lock")[0]
        journal.close()
        content = (tmp_path / "journal.db").read_bytes()
        for column in columns:
            place = content.index(column) + len(column) // 2
            spoilt = bytearray(content)
            spoilt[place] ^= 4
            (tmp_path / "journal.db").write_bytes(spoilt)
            with pytest.raises(DamagedError, match="key of the folder was changed"):
                Journal(str(tmp_path), SECRET)
        (tmp_path / "journal.db").write_bytes(content)
        Journal(str(tmp_path), SECRET).close()

    @pytest.mark.parametrize("passphrase", [None, SECRET])
    @pytest.mark.parametrize("every", [60, 10**6])
    def test_a_key_that_is_gone(self, every: int, passphrase: str | None, tmp_path: Path) -> None:
        store = LearnerStore(str(tmp_path), snapshot_every=every, passphrase=SECRET)
        number = store.create(NAME, OnlineLearner(K)).result()
        for event in islice(events(0), 20):
            store.submit(number, event).result()
        with store._journal.database.transaction() as connection:
            connection.execute("DELETE FROM lock")
        store.close()
        with pytest.raises((DamagedError, PassphraseError)):
            LearnerStore(str(tmp_path), snapshot_every=EVERY, passphrase=passphrase)


class TestCommand:
    def test_where_it_comes_from(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
        assert read_passphrase(None) is None
        monkeypatch.setenv(PASSPHRASE_VARIABLE, "of the environment")
        assert read_passphrase(None) == "of the environment"
        path = tmp_path / "secret"
        for written, meant in [
            ("of the file", "of the file"),
            ("of the file\n", "of the file"),
            ("of the file\r\n", "of the file"),
            (" two\nlines \n\n", " two\nlines \n"),
            ("ž", "ž"),
        ]:
            path.write_bytes(written.encode())
            assert read_passphrase(str(path)) == meant

    def test_what_cannot_be_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(PASSPHRASE_VARIABLE, "")
        with pytest.raises(ValueError, match=f"{PASSPHRASE_VARIABLE} is empty"):
            read_passphrase(None)
        path = tmp_path / "secret"
        for content, said in [(b"", "is empty"), (b"\n", "is empty"), (b"\xff", "not UTF-8 text")]:
            path.write_bytes(content)
            with pytest.raises(ValueError, match=said):
                read_passphrase(str(path))
        with pytest.raises(OSError, match="cannot be read"):
            read_passphrase(str(tmp_path / "none"))

    def test_the_extra_is_named_where_it_is_missing(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
        with pytest.raises(typer.Exit), errors.exit_on_error():
            LearnerStore(str(tmp_path), passphrase=SECRET)
        assert "pip install 'labelwalk[encrypted]'" in capsys.readouterr().err

    @pytest.mark.slow
    def test_served_killed_and_served_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, path = tmp_path / "kept", tmp_path / "secret"
        path.write_text(f"{SECRET}\n")
        monkeypatch.setitem(ENVIRONMENT, PASSPHRASE_VARIABLE, "another")  # the file wins
        with served(folder, options=[f"--passphrase-file={path}"]) as one:
            wanted = {"name": "Ludmila", "settings": {"n_centroids": K}}
            one.http.post("/api/learners", json=wanted)
            taught = {"rows": [[0.0, 0.1], [9.0, 9.1]], "labels": list(LABELS[:2])}
            assert one.http.post("/api/learners/Ludmila/teach", json=taught).status_code == 200
            assert SECRET not in one.end(signal.SIGKILL)
        needles = {word.encode() for word in ("Ludmila", *LABELS)}
        assert not found(needles, folder)
        for value, said in [("another", "the passphrase of"), ("", "is empty")]:
            monkeypatch.setitem(ENVIRONMENT, PASSPHRASE_VARIABLE, value)
            failed = serve_in_vain(folder)
            assert failed.returncode == (1 if value else 2)
            assert said in failed.stderr
        monkeypatch.delitem(ENVIRONMENT, PASSPHRASE_VARIABLE)
        [line] = serve_in_vain(folder, "--log=json").stderr.splitlines()
        assert "is encrypted" in json.loads(line)["reason"]
        monkeypatch.setitem(ENVIRONMENT, PASSPHRASE_VARIABLE, SECRET)
        with served(folder) as one:
            [learner] = one.http.get("/api/learners").json()
            assert (learner["name"], learner["classes"]) == ("Ludmila", list(LABELS[:2]))
            one.end(signal.SIGTERM)
        assert not found(needles, folder)


def serve_in_vain(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "labelwalk", "serve", str(folder), f"--port={free_port()}"]
    return subprocess.run([*command, *options], env=ENVIRONMENT, capture_output=True, text=True)
