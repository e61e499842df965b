"""A `read_committed` consumer of librdkafka that reads a log while it is written, under all faults."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from raft.types import Offset
from tests.java.librdkafka import PARTITION
from tests.node.harness.properties import TOPIC
from tests.workload.history import LoggedValue

_SETTINGS: dict[str, object] = {
    "group.id": "none",
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "check.crcs": True,
    "socket.timeout.ms": 2000,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 1000,
    "retry.backoff.ms": 50,
    "fetch.wait.max.ms": 200,
    # Faults close connections, which librdkafka would log.
    "log_level": 0,
}
_RECORDS = 1000
_POLL_S = 0.2
_LONGEST_S = 60.0


class LiveConsumer:
    """Reads from now on, from the beginning of the log.

    Args:
        access: how it connects.

    Attributes:
        rows: what it has read.
        error: what ended it too soon, if anything.
    """

    def __init__(self, access: Mapping[str, object]) -> None:
        self.rows: list[LoggedValue] = []
        self.error: Exception | None = None
        self._settings = {**_SETTINGS, **access}
        self._last_offset: Offset | None = None
        self._deadline = threading.Event()
        self._thread = threading.Thread(target=self._run, name="librdkafka", daemon=True)
        self._thread.start()

    def read_to(self, last_offset: Offset) -> list[LoggedValue]:
        """Return everything that it has read, once it has the record at this offset, or has waited for it for long."""
        self._last_offset = last_offset
        self._thread.join(_LONGEST_S)
        self.stop()
        return self.rows

    def stop(self) -> None:
        """End it."""
        self._deadline.set()
        self._thread.join(_LONGEST_S)

    def _run(self) -> None:
        try:
            consumer = Consumer(self._settings)
            try:
                consumer.assign([TopicPartition(TOPIC, PARTITION, OFFSET_BEGINNING)])
                while not self._is_done():
                    self._read(consumer)
            finally:
                consumer.close()
        except Exception as error:
            self.error = error

    def _is_done(self) -> bool:
        end = self._last_offset
        return self._deadline.is_set() or (end is not None and bool(self.rows) and self.rows[-1][0] >= end)

    def _read(self, consumer: Consumer) -> None:
        for message in consumer.consume(_RECORDS, _POLL_S):
            error, offset, value = message.error(), message.offset(), message.value()
            if error is not None:
                raise RuntimeError(f"the consumer reports {error}")
            assert offset is not None, "a record has an offset"
            assert isinstance(value, bytes), "every record has a value"
            self.rows.append((Offset(offset), value))
