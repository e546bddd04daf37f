"""Kafka topics: messages are read and sent as rows, one JSON object each."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import confluent_kafka as kafka

from labelwalk.arrays import Floats
from labelwalk.io.output import RowSink
from labelwalk.io.rows import Batch, InputError, Position, Rows
from labelwalk.io.text_formats import parse_objects

MAX_BATCH_MESSAGES = 2000
POLL_TIMEOUT_S = 0.2
BROKER_TIMEOUT_S = 15.0
CLOSE_TIMEOUT_S = 10.0


def read_topic(
    servers: str,
    topic: str,
    also: Sequence[str] = (),
    position: Position | None = None,
    *,
    follow: bool = False,
) -> Iterator[Batch]:
    """Yield the messages of all partitions of a topic, without a consumer group.

    The position is the next offset of each partition. Offsets are stored in the checkpoint, never
    with the broker, so that they agree with the state of the learner. The messages of a partition
    are read in order, partitions as they are fetched.

    `follow` waits for more at the end of all partitions. The columns are the keys of the first
    message, and `also`.
    """
    consumer = kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "labelwalk",  # required by the client; no offset is committed
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }
    )
    start = position or {"offsets": {}, "names": []}
    offsets = {int(number): offset for number, offset in start["offsets"].items()}
    try:
        partitions = consumer.list_topics(topic, timeout=BROKER_TIMEOUT_S).topics[topic]
        if partitions.error is not None or not partitions.partitions:
            raise InputError(f"Topic {topic!r} does not exist at {servers}. Create the topic.")
        numbers = sorted(partitions.partitions)
        starts = [(n, offsets.get(n, kafka.OFFSET_BEGINNING)) for n in numbers]
        consumer.assign([kafka.TopicPartition(topic, n, offset) for n, offset in starts])
        names = start["names"]
        for messages in _poll(consumer, follow=follow):
            batch = _make_batch(messages, offsets, names, also)
            offsets, names = _advance(offsets, messages), batch.rows.names
            yield batch
    except kafka.KafkaException as error:
        raise OSError(
            f"Kafka at {servers} is not available ({error.args[0]}). Check that it is running."
        ) from error
    finally:
        consumer.close()


def _poll(consumer: kafka.Consumer, *, follow: bool) -> Iterator[list[kafka.Message]]:
    """Yield the messages that have been fetched; while there are none, wait for one."""
    unfinished = {partition.partition for partition in consumer.assignment()}
    while unfinished:
        first = consumer.poll(POLL_TIMEOUT_S)
        fetched = [] if first is None else [first, *consumer.consume(MAX_BATCH_MESSAGES, 0)]
        messages = []
        for message in fetched:
            error = message.error()
            if error is None:
                messages.append(message)
            elif error.code() != kafka.KafkaError._PARTITION_EOF:
                raise kafka.KafkaException(error)
            elif not follow:
                unfinished.discard(message.partition())
        if messages:
            yield messages


def _make_batch(
    messages: list[kafka.Message], before: Mapping[int, int], names: list[str], also: Sequence[str]
) -> Batch:
    def locate(n: int) -> Position:
        offsets = _advance(before, messages[:n])
        return {"offsets": {str(number): offset for number, offset in offsets.items()}}

    wheres = [f"partition {m.partition()}, offset {m.offset()}" for m in messages]
    texts = [message.value() or b"" for message in messages]
    return parse_objects(texts, wheres, locate, names, also)


class TopicSink(RowSink):
    """A topic that rows are sent to, as JSON with their answers."""

    def __init__(self, servers: str, name: str) -> None:
        self._servers, self._name = servers, name
        self._failed: list[str] = []
        self._producer = kafka.Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 60_000,
            }
        )

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Send rows; wait for the broker if its queue is full."""
        for line in rows.to_json_lines(features, added):
            while True:
                try:
                    self._producer.produce(self._name, line.encode(), on_delivery=self._on_delivery)
                    break
                except BufferError:
                    self._producer.poll(POLL_TIMEOUT_S)
                except kafka.KafkaException as error:
                    raise OSError(
                        f"Topic {self._name!r} rejects a message of {len(line.encode()):,} bytes "
                        f"({error.args[0]}). Reduce the size of the row, or write to a file."
                    ) from error
            self._producer.poll(0)

    def flush(self) -> None:
        """Send waiting rows, without waiting for the broker."""
        self._producer.poll(0)

    def checkpoint(self) -> int:
        """Wait until the broker has acknowledged all rows."""
        self._producer.flush()
        if self._failed:
            raise OSError(
                f"{self._servers} did not accept {len(self._failed)} messages for {self._name!r} "
                f"({self._failed[0]}). Check the broker; a run with a checkpoint can be resumed."
            )
        return 0

    def finalize(self) -> None:
        """Wait until the broker has acknowledged all rows."""
        self.checkpoint()

    def close(self) -> None:
        """Send the rest, also if an error has ended the run."""
        self._producer.flush(CLOSE_TIMEOUT_S)

    def _on_delivery(self, error: kafka.KafkaError | None, message: kafka.Message) -> None:
        if error is not None:
            self._failed.append(str(error))


def _advance(offsets: Mapping[int, int], messages: list[kafka.Message]) -> dict[int, int]:
    """Return the offsets after some messages."""
    ends = {int(m.partition() or 0): int(m.offset() or 0) + 1 for m in messages}
    return {**offsets, **ends}
