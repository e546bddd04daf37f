"""Errors that nobody expects, at any line: memory stays what the journal says."""

from __future__ import annotations

import linecache
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import numpy as np
import pytest

import labelwalk
from labelwalk import OnlineLearner
from labelwalk.learner import from_bytes
from labelwalk.service import commands, managed_learner, worker
from labelwalk.service.commands import (
    Command,
    Note,
    Observe,
    Retract,
    apply_command,
    decode_command,
)
from labelwalk.service.database import DiskError
from labelwalk.service.journal import HighWaterMark, Journal
from labelwalk.service.journal_writer import IdempotencyCache, JournalWriter
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.managed_learner import ManagedLearner
from labelwalk.service.schemas import RAW
from labelwalk.service.snapshots import CREATE, Snapshots
from labelwalk.service.worker import LearnerWorker, NoLearnerError
from tests.service.asking import Asking
from tests.service.sizes import Sizes
from tests.service.store_writer import D, K, events
from tests.service.test_server import ENVIRONMENT, served
from tests.support.waiting import wait_until

pytestmark = pytest.mark.shell

PACKAGE = str(Path(labelwalk.__file__).parent)
ERRORS = (MemoryError, OSError, RuntimeError)
LAST_RESORT = {  # what meets an error when all else has failed, and what tells of it
    *("_run", "_note_error", "_enqueue_group", "put", "wait", "take", "wake"),
    *("_try", "fail", "get_refusal", "is_behind", "_can_take"),
    *("_send", "emit", "tell", "tell_error", "end", "lessen"),
}
EVERY = 40


class Injector:
    """Raises an error at the n-th line that is run by a thread of a store.

    Attributes
    ----------
    n_raised : int
    """

    def __init__(self) -> None:
        self.n_raised = 0
        self.places: list[str] = []
        self._left = 0
        self._error: type[Exception] = RuntimeError

    def arm(self, n_lines: int, error: type[Exception]) -> None:
        self._error, self._left = error, n_lines

    def disarm(self) -> None:
        self._left = 0

    def traced(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that watches its lines; each error ends that for a thread."""

        def tracing(*given: Any) -> Any:
            sys.settrace(self._calls)
            try:
                return method(*given)
            finally:
                sys.settrace(None)

        return tracing

    def _calls(self, frame: FrameType, event: str, _: object) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE) or code.co_name in LAST_RESORT:
            return None
        return self._lines

    def _lines(self, frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and self._left > 0:
            self._left -= 1
            if self._left == 0:
                self._raise(frame)
        return self._lines

    def _raise(self, frame: FrameType) -> None:
        path, line = frame.f_code.co_filename, frame.f_lineno
        if linecache.getline(path, line).strip().startswith("with "):
            self._left = 1  # this may be its end, where an error would leave a lock held
            return
        self.n_raised += 1
        self.places.append(f"{path}:{line}")
        raise self._error("injected")


@contextmanager
def injecting() -> Iterator[Injector]:
    """Let an injector into the threads that learn and write."""
    injector = Injector()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LearnerWorker, "_execute_all", injector.traced(LearnerWorker._execute_all))
        patch.setattr(JournalWriter, "_write", injector.traced(JournalWriter._write))
        patch.setattr(Snapshots, "save", injector.traced(Snapshots.save))
        yield injector


@dataclass
class Client:
    """Sends each request under a key until it is answered, and starts the service where it must.

    Attributes
    ----------
    answers : dict
        What was answered under each key.
    n_refused, n_starts : int
    """

    folder: str
    answers: dict[str, Any] = field(default_factory=dict)
    n_refused: int = 0
    n_starts: int = 0
    unwritten: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.store = LearnerStore(self.folder, snapshot_every=EVERY)

    def send(self, number: int, sent: Sequence[tuple[str, Command]]) -> None:
        """Have requests wait together, and send again what was not done."""
        for _ in range(20):
            hold = threading.Event()
            with suppress(*ERRORS, DiskError):
                self.store.query_all(partial(waited, hold))
            asked = [(key, event, self.store.submit(number, event, key)) for key, event in sent]
            hold.set()
            sent = []
            for key, event, answer in asked:
                try:
                    self.answers[key] = answer.result(timeout=60)
                except ValueError:
                    self.unwritten.add(key)
                except Exception as error:
                    self._refused(error)
                    sent.append((key, event))
            if not sent:
                return
            self.go_on()
        raise AssertionError("it never recovered")

    def do(self, step: Callable[[LearnerStore], Any]) -> Any:
        """Do what has no key, until it is done."""
        for _ in range(20):
            try:
                return step(self.store)
            except (ValueError, NoLearnerError):
                return None
            except Exception as error:
                self._refused(error)
                self.go_on()
                time.sleep(0.02)  # as who is told to try again later
        raise AssertionError("it never recovered")

    def go_on(self) -> None:
        """Start again where the disk is thought to have failed."""
        if self.store.failure is not None:
            self.store.close()
            self.store = LearnerStore(self.folder, snapshot_every=EVERY)
            self.n_starts += 1

    def contents(self) -> dict[int, bytes]:
        """Return all learners, with their names, pasts and axes."""
        found: dict[int, bytes] = self.do(
            lambda store: store.query_all(
                lambda learners: {
                    number: managed.to_bytes() for number, managed in learners.items()
                }
            ).result(timeout=60)
        )
        return dict(sorted(found.items()))

    def _refused(self, error: Exception) -> None:
        self.n_refused += 1
        assert type(error) not in ERRORS, f"a client was told {error!r}"


def waited(hold: threading.Event, learners: object) -> None:
    hold.wait(60)


def stream(seed: int) -> Iterator[Command]:
    """Yield events of all kinds, some of which are refused."""
    rng = np.random.default_rng(seed)
    for i, event in enumerate(events(seed)):
        yield event
        if i % 9 == 5:
            yield Observe(np.full((1, D), np.nan))
        if i % 13 == 7:
            yield Retract(int(rng.integers(0, 30)))
        if i % 11 == 3:
            yield Note({"seen": i})


def check(client: Client, sent: dict[str, Command], number: int) -> None:
    """See that each request is in the journal once, and that memory and answers follow from it."""
    before = client.contents()
    client.store.close()
    again = Client(client.folder)
    assert again.contents() == before
    alone, done = OnlineLearner(K), set[str]()
    journal = again.store._journal
    for stored in journal.reader.read_events():
        if stored.learner != number or stored.kind == CREATE:
            continue
        assert stored.key not in done, f"{stored.key} was done twice"
        done.add(stored.key)
        event = decode_command(stored.kind, stored.about, journal.reader.decrypt(stored).parts)
        assert event is not None
        said = apply_command(event, alone)
        if said is not None:
            told = client.answers[stored.key].columns
            assert told["label"] == said.label.tolist()
            assert told["confidence"] == said.confidence.tolist()
    assert done == set(client.answers)
    assert done | client.unwritten == set(sent)
    digest = again.store.query(number, lambda managed: managed.learner.digest()).result()
    assert digest == alone.digest()
    again.store.close()


def run(folder: Path, seed: int, n_errors: int, injector: Injector) -> Client:
    """Send a stream while errors are raised, one at a time."""
    rng = np.random.default_rng(seed)
    client = Client(str(folder))
    number = client.store.create("a", OnlineLearner(K)).result()
    source, sent = stream(seed), dict[str, Command]()
    until, n_sent = injector.n_raised + n_errors, 0
    while injector.n_raised < until:
        some = {f"{seed} {n_sent + i}": event for i, event in enumerate(islice(source, 8))}
        n_sent += len(some)
        sent |= some
        injector.arm(int(10 ** rng.uniform(0, 4)), ERRORS[int(rng.integers(len(ERRORS)))])
        client.send(number, list(some.items()))
    injector.disarm()
    check(client, sent, number)
    return client


N_EACH = 10


@pytest.mark.slow
def test_memory_is_what_the_journal_says(tmp_path: Path, sizes: Sizes) -> None:
    refused = starts = n_done = 0
    with injecting() as injector:
        for seed in range(sizes.injected_errors // N_EACH):
            client = run(tmp_path / f"kept-{seed}", seed, N_EACH, injector)
            refused, starts = refused + client.n_refused, starts + client.n_starts
            n_done += len(client.answers)
    print(
        f"{injector.n_raised} errors at {len(set(injector.places))} lines: {n_done} requests done, "
        f"{refused} sent again, {starts} starts; none lost, none twice"
    )
    assert injector.n_raised >= sizes.injected_errors


class Failing:
    """Makes a function fail, before or after what it does, at its n-th call or always."""

    def __init__(self, patch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self._patch, self._owner, self._name = patch, owner, name
        self._real = getattr(owner, name)

    def begin(self, error: type[Exception], *, after: bool, at: int = 1, times: int = 1) -> None:
        n_calls = 0

        def fails(*given: Any, **named: Any) -> Any:
            nonlocal n_calls
            n_calls += 1
            is_wrong = at <= n_calls < at + times
            if is_wrong and not after:
                raise error("injected")
            done = self._real(*given, **named)
            if is_wrong:
                raise error("injected")
            return done

        self._patch.setattr(self._owner, self._name, fails)

    def end(self) -> None:
        self._patch.setattr(self._owner, self._name, self._real)


STEPS = [
    (managed_learner, "compute_axes"),
    (ManagedLearner, "apply"),
    (ManagedLearner, "apply_blocks"),
    (ManagedLearner, "to_bytes"),
    (managed_learner.RecentHistory, "add_observed"),
    (OnlineLearner, "observe"),
    (OnlineLearner, "teach"),
    (Journal, "append"),
    (IdempotencyCache, "add_pending"),
    (IdempotencyCache, "mark_written"),
    (Snapshots, "save"),
    (HighWaterMark, "write"),
    (worker, "Entry"),
    (commands, "encode_metadata"),
    (worker, "split_batches"),
]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=lambda one: getattr(one, "__name__", one))
def test_each_step(
    owner: Any, name: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing, n_sent, sent = Failing(monkeypatch, owner, name), 0, dict[str, Command]()
    client, source = Client(str(tmp_path)), stream(3)
    number = client.store.create("a", OnlineLearner(K)).result()
    for error in ERRORS:
        for at in (1, 2):
            some = {f"k {n_sent + i}": event for i, event in enumerate(islice(source, 8))}
            n_sent, sent = n_sent + 8, sent | some
            failing.begin(error, after=after, at=at)
            client.send(number, list(some.items()))
            failing.end()
    check(client, sent, number)


def test_what_cannot_be_drawn_is_learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, rng = Client(str(tmp_path)), np.random.default_rng(0)
    number = client.store.create("a", OnlineLearner(K)).result()
    client.store.submit(number, Observe(rng.normal(size=(3, D)))).result()
    failing = Failing(monkeypatch, managed_learner, "compute_axes")
    failing.begin(np.linalg.LinAlgError, after=False, times=1000)
    for i in range(10):
        told = client.store.submit(number, Observe(rng.normal(size=(3, D)))).result()
        assert told.first == 3 + 3 * i
    failing.end()
    assert client.store.query(number, lambda managed: managed.learner.n_seen).result() == 33
    client.store.close()
    again = Client(str(tmp_path))
    assert again.store.query(number, lambda managed: managed.learner.n_seen).result() == 33
    again.store.close()


@pytest.mark.slow
@pytest.mark.parametrize("step", ["create", "delete", "erase"])
def test_learners_that_come_and_go(step: str, tmp_path: Path, sizes: Sizes) -> None:
    n_raised = 0
    with injecting() as injector:
        for seed in range(max(3, sizes.injected_errors // 10)):
            n_raised += come_and_go(tmp_path / f"{step}-{seed}", step, seed, injector)
    assert n_raised
    print(f"{n_raised} errors while learners {step}: memory as after a start")


def come_and_go(folder: Path, step: str, seed: int, injector: Injector) -> int:
    """Do one step under errors, and see that memory is as after a start."""
    rng, before = np.random.default_rng(seed), injector.n_raised
    client = Client(str(folder))
    numbers = [client.store.create(name, OnlineLearner(K)).result() for name in "ab"]
    for number in numbers:
        client.send(number, [(f"{number} {i}", e) for i, e in enumerate(islice(events(seed), 12))])
    steps: dict[str, Callable[[LearnerStore], Any]] = {
        "create": lambda store: store.create("c", OnlineLearner(K)).result(60),
        "delete": lambda store: store.delete(store.find_id("a")).result(60),
        "erase": lambda store: store.erase(numbers[0], examples=[0, 3, 4]).result(60),
    }
    for high in (2, 2.5, 3):
        injector.arm(int(10 ** rng.uniform(0, high)), ERRORS[seed % 3])
        client.do(steps[step])
    injector.disarm()
    client.send(numbers[1], [("last", Observe(np.ones((2, D))))])
    names = {"create": ["a", "b", "c"], "delete": ["b"], "erase": ["a", "b"]}[step]
    found = client.do(
        lambda store: store.query_all(
            lambda learners: {one.name: sorted(one.erased) for one in learners.values()}
        ).result(60)
    )
    assert sorted(found) == names
    assert step != "erase" or found["a"] == [0, 3, 4]
    contents = client.contents()
    client.store.close()
    again = Client(client.folder)
    assert again.contents() == contents
    again.store.close()
    return injector.n_raised - before


def test_one_that_cannot_be_rebuilt_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, rows = Client(str(tmp_path)), np.ones((2, D))
    one, other = (client.store.create(name, OnlineLearner(K)).result() for name in "ab")
    learns, rebuilds = (
        Failing(monkeypatch, ManagedLearner, "apply"),
        Failing(monkeypatch, worker, "rebuild_learner"),
    )
    learns.begin(RuntimeError, after=True)
    rebuilds.begin(MemoryError, after=False, times=4)
    for text in ("Try again", "cannot be rebuilt", "cannot be rebuilt"):
        with pytest.raises(Exception, match=text):
            client.store.submit(one, Observe(rows), "k").result()
        assert client.store.submit(other, Observe(rows)).result()
    with pytest.raises(Exception, match="cannot be rebuilt"):
        client.store.erase(other, examples=[0]).result()
    with pytest.raises(Exception, match="cannot be rebuilt"):
        client.store.predict(one, rows).result()
    assert client.store.submit(one, Observe(rows), "k").result().first == 0
    assert client.store.query(other, lambda managed: managed.next_example_id).result() == 6
    client.store.close()


def test_over_http(store: LearnerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Asking(store)
    ask("POST", "/api/learners", json={"name": "a", "settings": {"n_centroids": K}})
    body, key = {"rows": [[0.0, 1.0]]}, {"idempotency-key": "k"}
    drawing = Failing(monkeypatch, managed_learner, "compute_axes")
    drawing.begin(RuntimeError, after=False)
    assert ask("POST", "/api/learners/a/observe", json=body).status_code == 200
    assert ask("GET", "/api/learners/a/map").json()["axes"] == 1
    learns = Failing(monkeypatch, OnlineLearner, "observe")
    learns.begin(MemoryError, after=True)
    path = "/api/learners/a/observe"
    refused = ask("POST", path, json=body, headers=key)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert "unexpected error" in refused.json()["error"]
    for _ in range(2):
        assert ask("POST", path, json=body, headers=key).json()["first"] == 1
    assert ask("GET", "/api/learners/a").json()["examples"] == 2


def test_a_failed_deletion_is_no_deletion(
    store: LearnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = store.create("a", OnlineLearner(K)).result()
    writes = Failing(monkeypatch, Journal, "append")
    writes.begin(MemoryError, after=False)
    with pytest.raises(Exception, match="Try again"):
        store.delete(number).result()
    with pytest.raises(Exception, match="Try again"):  # it is not said that there is none
        store.find_id("a")
    wait_until(lambda: not store._worker._doubtful and not store._worker.writer.is_interrupted)
    assert store.find_id("a") == number


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of another process is changed")
def test_memory_that_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A running service gets hardly any more memory; then as much as it likes."""
    monkeypatch.setitem(
        ENVIRONMENT, "MALLOC_MMAP_THRESHOLD_", "65536"
    )  # what is free is given back
    features, rng = 64, np.random.default_rng(0)
    sizes = [int(n) for n in rng.choice([20, 3000, 9000], size=60)]
    blocks = [rng.normal(size=(n, features)).astype("<f4") for n in sizes]
    refused = list[int]()
    with served(tmp_path / "kept") as one:
        one.http.post("/api/learners", json={"name": "a", "settings": {"n_centroids": K}})

        def send(i: int) -> int:
            headers = {"content-type": RAW, "idempotency-key": f"k {i}"}
            path = f"/api/learners/a/observe?type=f4&features={features}"
            content = blocks[i].tobytes()
            try:
                return one.http.post(path, content=content, headers=headers).status_code
            except httpx.TransportError:  # no memory for the connection itself: not acknowledged
                return 503

        def limit(n_bytes: int) -> None:
            given = resource.prlimit(one.process.pid, resource.RLIMIT_AS)
            resource.prlimit(one.process.pid, resource.RLIMIT_AS, (n_bytes, given[1]))

        assert send(0) == 200
        for i in range(1, len(blocks)):
            taken = int(Path(f"/proc/{one.process.pid}/statm").read_text().split()[0])
            limit(taken * resource.getpagesize() + int(2.0 ** rng.uniform(20, 25)))
            if send(i) != 200:
                refused.append(i)
        limit(resource.RLIM_INFINITY)
        assert [send(i) for i in refused] == [200] * len(refused)
        assert one.http.get("/api/learners/a").json()["examples"] == sum(sizes)
        digest = from_bytes(one.http.get("/api/learners/a/export").content).digest()
        said = one.end(signal.SIGKILL)
    again = LearnerStore(str(tmp_path / "kept"))
    number = again.find_id("a")
    assert again.query(number, lambda managed: managed.learner.digest()).result() == digest
    keys = [
        stored.key for stored in again._journal.reader.read_events() if stored.kind == Observe.kind
    ]
    assert sorted(keys) == sorted({f"k {i}" for i in range(len(blocks))})
    again.close()
    print(f"{len(refused)} of {len(blocks)} requests refused while memory was short")
    assert refused
    assert "MemoryError" in said
