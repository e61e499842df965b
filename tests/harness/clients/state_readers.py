"""Clients that read the whole log from its beginning, again and again, while it is compacted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from random import Random

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from raft.client import Client, ClientSettings
from raft.records.record import Record
from raft.types import Offset
from tests.harness.clients.librdkafka import READING
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.node.harness.batches import batches_in, records_of
from tests.node.harness.properties import TOPIC
from tests.workload.history import History
from tests.workload.state_model import StateModel, WholeRead
from tests.workload.worker import Worker

_FETCH_BYTES = 20_000
_FETCH_RECORDS = 100
_POLL_S = 0.5
_LONGEST_PAUSE_S = 0.05


class StateReader(Worker):
    """Reads slowly, so that newer snapshots take the place of older ones meanwhile.

    Args:
        name: see `Worker`.
        history: gets the error that ends it, if any.
        model: gets what it has read.
        dice: decides how long it waits between two fetches.
    """

    def __init__(self, name: str, history: History, model: StateModel, dice: Random) -> None:
        super().__init__(name, history)
        self._model = model
        self._dice = dice

    def read_at_end(self) -> None:
        """Read everything once more, when no client writes."""
        self._model.read(WholeRead(self.name, self._read(), is_last=True))

    def _run(self) -> None:
        while not self._is_stopping.is_set():
            try:
                records = self._read()
            except UNAVAILABLE:
                continue
            if not self._is_stopping.is_set():
                self._model.read(WholeRead(self.name, records, is_last=False))

    def _pause(self) -> None:
        self._is_stopping.wait(self._dice.uniform(0, _LONGEST_PAUSE_S))

    @abstractmethod
    def _read(self) -> list[Record]:
        """Read the log once; return what was read until it was to stop."""


class OurStateReader(StateReader):
    """Uses our client.

    Args:
        name: see `StateReader`.
        history: see `StateReader`.
        model: see `StateReader`.
        dice: see `StateReader`.
        settings: of its client.
    """

    def __init__(self, name: str, history: History, model: StateModel, dice: Random, settings: ClientSettings) -> None:
        super().__init__(name, history, model, dice)
        self._settings = settings

    def _read(self) -> list[Record]:
        records: list[Record] = []
        with Client(self._settings) as client:
            offset, end = client.log_start_offset(), client.last_stable_offset()
            while offset < end:
                batches = batches_in(client.fetch(offset, max_bytes=_FETCH_BYTES).records)
                records += [record for record in records_of(batches) if record.offset >= offset]
                offset = batches[-1].header.end_offset if batches else offset
                self._pause()
        return records


class LibrdkafkaStateReader(StateReader):
    """Uses librdkafka. An offset that is out of range ends it.

    Args:
        name: see `StateReader`.
        history: see `StateReader`.
        model: see `StateReader`.
        dice: see `StateReader`.
        access: how it connects.
    """

    def __init__(
        self, name: str, history: History, model: StateModel, dice: Random, access: Mapping[str, object]
    ) -> None:
        super().__init__(name, history, model, dice)
        self._settings = READING | {
            **access,
            "enable.partition.eof": True,
            "message.max.bytes": _FETCH_BYTES,
            "fetch.max.bytes": _FETCH_BYTES,
            "fetch.message.max.bytes": _FETCH_BYTES,
            "queued.min.messages": 1,
            "queued.max.messages.kbytes": _FETCH_BYTES // 1000,
        }

    def _read(self) -> list[Record]:
        records: list[Record] = []
        consumer = Consumer(self._settings)
        try:
            consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
            while True:
                for message in consumer.consume(_FETCH_RECORDS, _POLL_S):
                    error, offset = message.error(), message.offset()
                    if error is not None:
                        if error.code() == KafkaError._PARTITION_EOF:
                            return records
                        raise RuntimeError(f"the consumer reports {error}")
                    assert offset is not None, "a consumed record has an offset"
                    records.append(Record(key=message.key(), value=message.value(), offset=Offset(offset)))
                self._pause()
        finally:
            consumer.close()
