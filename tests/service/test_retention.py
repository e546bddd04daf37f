"""Events that are let go of, and states that thin out: learners stay as they are."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwalk import OnlineLearner
from labelwalk.service.commands import Observe, apply_command
from labelwalk.service.journal import Entry, Journal
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.snapshots import Snapshots, restore
from tests.service.store_writer import EVERY, K, digest, events

pytestmark = pytest.mark.shell


def test_learners_outlive_their_events(tmp_path: Path, passphrase: str | None) -> None:
    store = LearnerStore(
        str(tmp_path / "kept"), snapshot_every=EVERY, retain=0.0, passphrase=passphrase
    )
    number = store.create("a", OnlineLearner(K)).result()
    alone = OnlineLearner(K)
    for i, event in enumerate(islice(events(3), 150)):
        store.submit(number, event, key=f"{i}").result()
        apply_command(event, alone)
    kept = [one.sequence for one in store._journal.reader.read_events()]
    assert 0 < len(kept) < 150
    assert digest(store, number) == alone.digest()
    name = store.back_up()
    first, second = store.erase(number, examples=[0]).result(), digest(store, number)
    assert (first.examples, first.older, second) == (0, True, alone.digest())
    early = next(islice(events(3), 0, None))
    store.submit(number, early, key="0").result()  # the event is gone, and its key with it
    assert store.query(number, lambda managed: managed.learner.n_seen).result() > alone.n_seen
    expected = digest(store, number)
    store.close()

    again = LearnerStore(str(tmp_path / "kept"), passphrase=passphrase)
    assert digest(again, number) == expected
    again.close()
    restore(str(tmp_path / "kept" / "backups" / name), str(tmp_path / "again"))
    back = LearnerStore(str(tmp_path / "again"), passphrase=passphrase)
    assert digest(back, number) == alone.digest()
    back.close()


def test_what_is_kept_can_be_erased_when_older_events_are_gone(
    tmp_path: Path, passphrase: str | None
) -> None:
    store = LearnerStore(str(tmp_path), snapshot_every=EVERY, retain=0.0, passphrase=passphrase)
    number = store.create("a", OnlineLearner(K)).result()
    for event in islice(events(4), 150):
        told = store.submit(number, event).result()
    seen = store.query(number, lambda managed: managed.next_example_id).result()
    more = next(event for event in events(5) if isinstance(event, Observe))
    before = digest(store, number)
    told = store.submit(number, more).result()
    gone = range(told.first, told.first + len(more.rows))
    assert told.first == seen
    assert store.erase(number, examples=gone).result() == (len(more.rows), False)
    assert digest(store, number) == before
    store.close()


@given(gaps=st.lists(st.integers(1, 30), min_size=1, max_size=60))
def test_the_older_the_fewer_states(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[int]
) -> None:
    journal = Journal(str(tmp_path_factory.mktemp("kept")))
    snapshots, moments = Snapshots(journal.reader), []
    for gap in gaps:
        journal.append([Entry(1, "observe", "{}", [b"row"])] * gap)
        snapshots.save(journal.last, {1: str(journal.last.sequence).encode()}, learner_ids=[1])
        moments.append(journal.last.sequence)
    now = moments[-1]
    kept = [
        one for (one,) in journal.database.read("SELECT sequence FROM rounds ORDER BY sequence")
    ]
    states = {state for (state,) in journal.database.read("SELECT content FROM contents")}
    assert (kept[0], kept[-1]) == (moments[0], now)
    assert states == {str(one).encode() for one in kept}
    assert len(kept) <= 3 + 2 * now.bit_length()
    for event in range(moments[0] + 1, now + 1):
        nearest = max(one for one in moments if one < event)
        found = snapshots.read_before(event)
        assert found is not None
        assert now - found.position.sequence <= 2 * (now - nearest)
    journal.close()
