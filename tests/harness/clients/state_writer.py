"""A client that writes values under keys of its own, again and again, and deletes some."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from raft.client import Client, ClientSettings
from raft.errors import RaftError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.workload.history import History
from tests.workload.state_model import StateModel, Written
from tests.workload.worker import Worker

_KEYS = 60
_MOST_RECORDS = 8
_DELETED = 0.1
_FILLING = b"." * 150


class StateWriter(Worker):
    """Appends batches as an idempotent producer. If no response comes in time, a batch may be in the log or not.

    Args:
        name: see `Worker`; its keys begin with it.
        history: gets the error that ends it, if any.
        model: gets what it writes.
        settings: of its client; with short timeouts, appends fail during faults.
        dice: decides what it writes, and how long it waits.
        longest_pause_s: the longest wait between two appends.
    """

    def __init__(
        self,
        name: str,
        history: History,
        model: StateModel,
        settings: ClientSettings,
        dice: Random,
        *,
        longest_pause_s: float,
    ) -> None:
        super().__init__(name, history)
        self._model = model
        self._settings = settings
        self._dice = dice
        self._longest_pause_s = longest_pause_s
        self._value_count = 0

    def _run(self) -> None:
        with Client(self._settings) as client:
            while not self._is_stopping.is_set():
                try:
                    self._append_as(client, client.new_producer_id())
                except UNAVAILABLE:
                    # Whether the sequence numbers of the append in flight are used is unknown: a new id starts at 0.
                    continue

    def _append_as(self, client: Client, producer_id: int) -> None:
        """Append under one producer id until an append fails, or it is time to stop."""
        sequence = 0
        while not self._is_stopping.wait(self._dice.uniform(0, self._longest_pause_s)):
            records = self._new_records()
            batch = build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
            written = [Written(key=record.key or b"", value=record.value, offset=None) for record in records]
            try:
                base_offset = client.append(batch).base_offset
            except RaftError:
                self._note(written)
                raise
            self._note([replace(each, offset=Offset(base_offset + at)) for at, each in enumerate(written)])
            sequence += len(records)

    def _note(self, written: list[Written]) -> None:
        for each in written:
            self._model.wrote(each)

    def _new_records(self) -> list[Record]:
        return [self._new_record() for _ in range(self._dice.randint(1, _MOST_RECORDS))]

    def _new_record(self) -> Record:
        self._value_count += 1
        # Some keys are written much more often than others.
        number = int(_KEYS * self._dice.random() ** 2)
        is_deleted = self._dice.random() < _DELETED
        value = None if is_deleted else f"{self.name}-{self._value_count}".encode() + _FILLING
        return Record(key=f"{self.name}-key{number}".encode(), value=value)
