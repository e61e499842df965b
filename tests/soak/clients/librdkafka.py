"""A producer and a reader by librdkafka, through confluent-kafka: many values at once, batched as it likes."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer, TopicPartition

from raft.types import Endpoint, Offset
from tests.node.harness.properties import TOPIC
from tests.soak.clients.log_reader import LogReader
from tests.workload.history import Append, History, LoggedValue, Read, now_ns
from tests.workload.worker import Worker

_COMMON: dict[str, object] = {
    "socket.timeout.ms": 2000,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 1000,
    "retry.backoff.ms": 50,
    # What it says of lost connections is the test's own doing.
    "log_level": 0,
}
_NEVER_MS = 3_600_000
_MOST_UNDER_WAY = 200
_LAST_CHANCE_S = 30.0
_POLL_S = 0.2
_FETCH_RECORDS = 500


class LibrdkafkaProducer(Worker):
    """An idempotent producer that keeps many values under way.

    It gives none of them up: when librdkafka does, it sends those that were in one batch with that one again, under a
    new epoch, and so twice if the batch had arrived (librdkafka issue 4953).

    Args:
        name: see `Worker`.
        history: see `Worker`.
        servers: where the nodes are.
        pause_s: between two values.
    """

    def __init__(self, name: str, history: History, servers: Sequence[Endpoint], *, pause_s: float) -> None:
        super().__init__(name, history)
        self._settings = _COMMON | {
            "bootstrap.servers": _joined(servers),
            "enable.idempotence": True,
            "linger.ms": 5,
            "request.timeout.ms": 1500,
            "message.timeout.ms": _NEVER_MS,
        }
        self._pause_s = pause_s
        self._under_way: dict[bytes, int] = {}

    def _run(self) -> None:
        try:
            self._produce(Producer(self._settings))
        finally:
            for value, invoked_ns in self._under_way.items():
                self._history.appended(Append(client=self.name, value=value, invoked_ns=invoked_ns))

    def _produce(self, producer: Producer) -> None:
        number = 0
        while not self._is_stopping.is_set():
            if len(self._under_way) < _MOST_UNDER_WAY:
                value = f"{self.name}-{number}".encode()
                number += 1
                self._under_way[value] = now_ns()
                producer.produce(TOPIC, value=value, partition=0, on_delivery=self._delivered)
            producer.poll(self._pause_s)
        producer.flush(_LAST_CHANCE_S)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        answered_ns = now_ns()
        value, offset = message.value(), message.offset()
        assert isinstance(value, bytes), "what was produced"
        if error is not None:
            raise RuntimeError(f"{value!r} is not delivered: {error}")
        assert offset is not None, "told on delivery"
        self._history.appended(
            Append(
                client=self.name,
                value=value,
                invoked_ns=self._under_way.pop(value),
                answered_ns=answered_ns,
                offset=Offset(offset),
            )
        )


class LibrdkafkaReader(LogReader):
    """Reads the whole log as a consumer without a group.

    Args:
        name: see `LogReader`.
        history: see `LogReader`.
        servers: where the nodes are.
    """

    def __init__(self, name: str, history: History, servers: Sequence[Endpoint]) -> None:
        super().__init__(name, history)
        self._settings = _COMMON | {
            "bootstrap.servers": _joined(servers),
            "group.id": "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
            "fetch.wait.max.ms": 200,
        }

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
        raise RuntimeError(f"the reader is told: {error}")
    assert offset is not None, "it is in the log"
    assert isinstance(value, bytes), "nobody writes anything else"
    return Offset(offset), value


def _joined(servers: Sequence[Endpoint]) -> str:
    return ",".join(map(str, servers))
