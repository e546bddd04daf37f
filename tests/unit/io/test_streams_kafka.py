"""Topics in and out: learned once, whatever happens to the process."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from labelwalk import OnlineLearner, load
from labelwalk.io import Columns, InputError, Reading, Task, run
from labelwalk.io.formats import PathError
from labelwalk.storage.model_file import read
from tests.support.labelled_rows import (
    COLUMNS,
    K,
    N,
    by_hand,
    records,
)

pytestmark = pytest.mark.shell


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """Yield the address of librdkafka's own mock cluster."""
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1"})
    brokers = cluster.list_topics(timeout=10).brokers
    yield ",".join(f"{one.host}:{one.port}" for one in brokers.values())
    cluster.flush()


def send(broker: str, topic: str, values: list[dict[str, Any]]) -> None:
    producer = Producer({"bootstrap.servers": broker})
    for value in values:
        producer.produce(topic, json.dumps(value).encode(), partition=0)
    assert producer.flush(10) == 0


class TestKafka:
    @pytest.mark.slow
    def test_topics_in_and_out(self, broker: str, tmp_path: Path) -> None:
        learner, said = by_hand()
        send(broker, "rows", records())
        first = Task(f"kafka://{broker}/rows", f"kafka://{broker}/named", COLUMNS)
        outcome = run(first, OnlineLearner(K))
        assert outcome.learner.digest() == learner.digest()
        back = Task(f"kafka://{broker}/named", str(tmp_path / "back.ndjson"), COLUMNS, prefix="x_")
        run(back, OnlineLearner(K))
        rows = map(json.loads, (tmp_path / "back.ndjson").read_text().splitlines())
        named = {row["f0"]: row["label"] for row in rows}
        sent = [record["f0"] for record in records()]
        assert named == dict(zip(sent, said, strict=True))

    @pytest.mark.slow
    def test_offsets_are_kept_with_what_was_learned(self, broker: str, tmp_path: Path) -> None:
        checkpoint = str(tmp_path / "run.lw")
        out = f"kafka://{broker}/twice-out"
        task = Task(f"kafka://{broker}/twice", out, COLUMNS, Reading(follow=True))
        everything = records()
        for start in (0, 400):
            send(broker, "twice", everything[start : start + (400 if start == 0 else N)])
            end = threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGTERM))
            end.start()
            outcome = run(task, OnlineLearner(K), checkpoint=checkpoint, every=50)
            end.join()
            assert outcome.signal == signal.SIGTERM
        assert read(checkpoint)[0]["note"]["position"]["offsets"] == {"0": N}
        assert load(checkpoint).digest() == by_hand()[0].digest()

    def test_no_such_broker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("labelwalk.io.kafka.BROKER_TIMEOUT_S", 0.5)
        with pytest.raises(OSError, match="Kafka at localhost:1 is not available"):
            run(Task("kafka://localhost:1/rows"), OnlineLearner(K))

    def test_rows_before_a_fault_are_sent(self, broker: str, tmp_path: Path) -> None:
        lines = [json.dumps(record) for record in records(100)]
        (tmp_path / "in.ndjson").write_text("\n".join([*lines, "{"]))
        sent = f"kafka://{broker}/before-a-fault"
        with pytest.raises(InputError, match="line 101"):
            run(Task(str(tmp_path / "in.ndjson"), sent, COLUMNS), OnlineLearner(K))
        back = Task(sent, str(tmp_path / "back.ndjson"), COLUMNS, prefix="x_")
        assert run(back, OnlineLearner(K)).tally.rows == 100

    def test_a_row_that_no_broker_takes(self, broker: str, tmp_path: Path) -> None:
        (tmp_path / "in.ndjson").write_text(json.dumps({"f0": 1, "note": "x" * 1_200_000}))
        task = Task(str(tmp_path / "in.ndjson"), f"kafka://{broker}/big", Columns(("f0",)))
        with pytest.raises(OSError, match="Topic 'big' rejects a message of 1,2"):
            run(task, OnlineLearner(K))

    def test_a_topic_does_not_feed_itself(self) -> None:
        topic = "kafka://localhost:9092/rows"
        with pytest.raises(PathError, match="input and output are the same"):
            run(Task(topic, topic), OnlineLearner(K))
