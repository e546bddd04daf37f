"""Topics of Kafka: a JSON object a message in, and a message a row out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from labelwalk.arrays import Floats
from labelwalk.io.batch import Batch, Position, Rows
from labelwalk.io.fault import InputError
from labelwalk.io.ndjson import parsed

MESSAGES = 2000  # a batch, at most
PATIENCE = 0.2  # seconds to wait for the first message of a batch
CONNECT = 15.0  # seconds to wait for a broker
LAST = 10.0  # seconds to wait for it in the end


@dataclass(frozen=True)
class Topic:
    """A topic, all partitions of it, read by this process alone.

    Offsets are kept in the checkpoint, never with the broker, so that they belong to what the
    learner has learned. Messages of one partition come in order, partitions as they are fetched.

    Parameters
    ----------
    servers : str
        host:port, or several with commas.
    name : str
    until_end : bool
        Whether to stop at the messages that are last when it begins, or to wait for more for ever.
    also : names
        Columns beside those of the first message.
    """

    servers: str
    name: str
    until_end: bool = False
    also: Sequence[str] = ()

    def batches(self, position: Position | None) -> Iterator[Batch]:
        """Yield batches of messages; the position is the next offset of each partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "labelwalk",  # asked for by the client, not used: nothing is committed
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            }
        )
        try:
            offsets = self._start(consumer, position)
            yield from self._read(consumer, offsets, [] if position is None else position["names"])
        except KafkaException as error:
            raise _unreachable(self.servers, error) from error
        finally:
            consumer.close()

    def _start(self, consumer: Consumer, position: Position | None) -> dict[int, int]:
        topics = consumer.list_topics(self.name, timeout=CONNECT).topics
        if topics[self.name].error is not None or not topics[self.name].partitions:
            raise InputError(f"there is no topic {self.name!r} at {self.servers}. Create it first.")
        known = {int(number): at for number, at in (position or {"offsets": {}})["offsets"].items()}
        partitions = sorted(topics[self.name].partitions)
        offsets = {number: known.get(number, OFFSET_BEGINNING) for number in partitions}
        consumer.assign([TopicPartition(self.name, n, offset) for n, offset in offsets.items()])
        return known

    def _read(
        self, consumer: Consumer, offsets: dict[int, int], names: list[str]
    ) -> Iterator[Batch]:
        open_ends = {one.partition for one in consumer.assignment()}
        while open_ends:
            messages = []
            for message in _waiting(consumer):
                error = message.error()
                if error is None:
                    messages.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    if self.until_end:
                        open_ends.discard(message.partition())
                else:
                    raise KafkaException(error)
            if messages:
                batch = _batch(messages, offsets, names, self.also)
                offsets, names = _moved(offsets, messages), batch.rows.names
                yield batch


class TopicSink:
    """A topic that rows are sent to, as JSON with their answers."""

    def __init__(self, servers: str, name: str) -> None:
        self._servers, self._name = servers, name
        self._failed: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 60_000,
            }
        )

    def write(self, rows: Rows, features: Mapping[str, Floats], added: Mapping[str, Any]) -> None:
        """Send rows; where the broker is slow, wait for it."""
        for line in rows.lines(features, added):
            while True:
                try:
                    self._producer.produce(self._name, line.encode(), on_delivery=self._delivered)
                    break
                except BufferError:
                    self._producer.poll(PATIENCE)
                except KafkaException as error:
                    raise OSError(
                        f"{self._name!r} cannot take a message of {len(line.encode()):,} bytes "
                        f"({error.args[0]}). Make the row smaller, or write a file."
                    ) from error
            self._producer.poll(0)

    def flush(self) -> None:
        """Send what waits, without waiting for the broker."""
        self._producer.poll(0)

    def mark(self) -> int:
        """Wait until the broker has everything."""
        self._producer.flush()
        if self._failed:
            raise OSError(
                f"{self._servers} did not take {len(self._failed)} messages for {self._name!r} "
                f"({self._failed[0]}). Check the broker; a checkpointed run can go on after that."
            )
        return 0

    def complete(self) -> None:
        """Wait until the broker has everything."""
        self.mark()

    def tidy(self) -> None:
        """There is nothing to remove."""

    def release(self) -> None:
        """Let the broker have what was answered, also where a fault has ended the run."""
        self._producer.flush(LAST)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(str(error))


def _waiting(consumer: Consumer) -> list[Message]:
    """Return what there is by now; where there is nothing, wait a little for one message."""
    first = consumer.poll(PATIENCE)
    return [] if first is None else [first, *consumer.consume(MESSAGES, 0)]


def _batch(
    messages: list[Message], before: Mapping[int, int], names: list[str], also: Sequence[str]
) -> Batch:
    wheres = [f"partition {m.partition()}, offset {m.offset()}" for m in messages]
    rows, faults, good = parsed([m.value() or b"" for m in messages], wheres, names, also)

    def after(n: int | None) -> Position:
        done = len(messages) if n is None else (good[n - 1] + 1 if n else 0)
        moved = _moved(before, messages[:done])
        return {"offsets": {str(number): at for number, at in moved.items()}, "names": rows.names}

    return Batch(rows, where=lambda i: wheres[good[i]], after=after, faults=faults)


def _moved(offsets: Mapping[int, int], messages: list[Message]) -> dict[int, int]:
    moved = dict(offsets)
    for message in messages:
        moved[int(message.partition() or 0)] = int(message.offset() or 0) + 1
    return moved


def _unreachable(servers: str, error: KafkaException) -> OSError:
    return OSError(f"Kafka at {servers} cannot be used ({error.args[0]}). Check that it runs.")
