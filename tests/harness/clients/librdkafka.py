"""A producer and a consumer of librdkafka, through confluent-kafka. The producer has many values in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from raft.types import Offset
from tests.harness.clients.log_reader import LogReader
from tests.node.harness.properties import TOPIC
from tests.workload.history import Append, History, LoggedValue, Read, now_ns
from tests.workload.worker import Worker

COMMON: dict[str, object] = {
    "socket.timeout.ms": 2000,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 1000,
    "retry.backoff.ms": 50,
    # The faults of the test close connections, which librdkafka would log.
    "log_level": 0,
}
"""The settings of all clients of librdkafka."""

READING: dict[str, object] = COMMON | {
    "group.id": "none",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "check.crcs": True,
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": 200,
}
"""The settings of its consumers, which read committed records of the whole log and have no group."""

_NEVER_MS = 3_600_000
_MOST_IN_FLIGHT = 200
_FLUSH_S = 30.0
_POLL_S = 0.2
_FETCH_RECORDS = 500


class LibrdkafkaProducer(Worker):
    """An idempotent producer that keeps many values in flight.

    No value times out: after a timeout, librdkafka sends the other values of its batch again under a new epoch, and
    they are in the log twice if the first batch was appended (librdkafka issue 4953).

    Args:
        name: see `Worker`.
        history: see `Worker`.
        access: how it connects.
        pause_s: between two values.
    """

    def __init__(self, name: str, history: History, access: Mapping[str, object], *, pause_s: float) -> None:
        super().__init__(name, history)
        self._settings = COMMON | {
            **access,
            "enable.idempotence": True,
            "linger.ms": 5,
            "request.timeout.ms": 1500,
            "message.timeout.ms": _NEVER_MS,
        }
        self._pause_s = pause_s
        self._in_flight: dict[bytes, int] = {}

    def _run(self) -> None:
        try:
            self._produce(Producer(self._settings))
        finally:
            for value, invoked_ns in self._in_flight.items():
                self._history.appended(Append(client=self.name, value=value, invoked_ns=invoked_ns))

    def _produce(self, producer: Producer) -> None:
        number = 0
        while not self._is_stopping.is_set():
            if len(self._in_flight) < _MOST_IN_FLIGHT:
                value = f"{self.name}-{number}".encode()
                number += 1
                self._in_flight[value] = now_ns()
                producer.produce(TOPIC, value=value, partition=0, on_delivery=self._delivered)
            producer.poll(self._pause_s)
        producer.flush(_FLUSH_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        acknowledged_ns = now_ns()
        value, offset = message.value(), message.offset()
        assert isinstance(value, bytes), "the value that was produced"
        if error is not None:
            raise RuntimeError(f"{value!r} is not delivered: {error}")
        self._history.appended(
            Append(
                client=self.name,
                value=value,
                invoked_ns=self._in_flight.pop(value),
                acknowledged_ns=acknowledged_ns,
                # librdkafka knows no offset if a response was lost, and that of a later batch implies this one.
                offset=None if offset is None or offset < 0 else Offset(offset),
            )
        )


class LibrdkafkaReader(LogReader):
    """Reads the committed records of the whole log as a consumer without a group.

    Args:
        name: see `LogReader`.
        history: see `LogReader`.
        access: how it connects.
    """

    def __init__(self, name: str, history: History, access: Mapping[str, object]) -> None:
        super().__init__(name, history)
        self._settings = READING | {**access}

    def _run(self) -> None:
        consumer = Consumer(self._settings)
        try:
            consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
            while not self._is_done:
                invoked_ns = now_ns()
                records = [_logged(message) for message in consumer.consume(_FETCH_RECORDS, _POLL_S)]
                if records:
                    self._note(records, invoked_ns)
        finally:
            consumer.close()

    def _note(self, records: Sequence[LoggedValue], invoked_ns: int) -> None:
        end_offset = Offset(records[-1][0] + 1)
        self._history.read(
            Read(
                session=self.name,
                invoked_ns=invoked_ns,
                answered_ns=now_ns(),
                start_offset=self._position,
                end_offset=end_offset,
                records=tuple(records),
            )
        )
        self._position = end_offset


def _logged(message: Message) -> LoggedValue:
    error, offset, value = message.error(), message.offset(), message.value()
    if error is not None:
        raise RuntimeError(f"the consumer reports {error}")
    assert offset is not None, "a consumed record has an offset"
    assert isinstance(value, bytes), "every record has a value"
    return Offset(offset), value
