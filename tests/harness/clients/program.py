"""A program that uses the library: it goes on with the same producer after calls that got no response."""

from __future__ import annotations

from random import Random

from raft.client import ClientSettings, Producer, WriteKey
from raft.errors import ErrorCode, RequestError
from raft.records.record import Record
from raft.types import Offset
from tests.harness.clients.unavailable import UNAVAILABLE
from tests.harness.quorum import LONGEST_TRANSACTION_MS
from tests.workload.history import Append, History, Transaction, now_ns
from tests.workload.worker import Worker

_BATCH_BYTES = 1_000
_MOST_VALUES = 60
_TRANSACTION = 0.3
"""How often it begins a transaction in place of an append."""

_ABORTED_MEANWHILE = (ErrorCode.INVALID_TXN_STATE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
"""The transaction was open for too long."""


class Program(Worker):
    """Appends single values, and transactions with a key, each of which it repeats until it is acknowledged.

    The producer repeats a batch of which it is unknown whether it was appended before it appends another one. So the
    value of the first call without a response counts as acknowledged when a later call succeeds.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        settings: of its client; with short timeouts, calls fail during faults.
        dice: decides what it does, and how long it waits.
        longest_pause_s: the longest wait between two calls.
    """

    def __init__(
        self, name: str, history: History, settings: ClientSettings, dice: Random, *, longest_pause_s: float
    ) -> None:
        super().__init__(name, history)
        self._settings = settings
        self._dice = dice
        self._longest_pause_s = longest_pause_s
        self._value_count = 0
        self._without_response: list[tuple[bytes, int]] = []
        """The values of the last calls without a response, with the times of the calls."""

    def _run(self) -> None:
        version = 0
        with Producer(self._settings, batch_bytes=_BATCH_BYTES) as producer:
            while not self._is_stopping.wait(self._dice.uniform(0, self._longest_pause_s)):
                if self._dice.random() < _TRANSACTION:
                    self._repeat_transaction(producer, WriteKey(self.name, version))
                    version += 1
                else:
                    self._append(producer)
        self._note_without_response(acknowledged_ns=None)

    def _append(self, producer: Producer) -> None:
        value, invoked_ns = f"{self.name}-{self._value_count}".encode(), now_ns()
        self._value_count += 1
        try:
            offset = producer.append(value)
        except UNAVAILABLE:
            self._without_response.append((value, invoked_ns))
            return
        self._note_without_response(acknowledged_ns=now_ns())
        self._note(value, invoked_ns, acknowledged_ns=now_ns(), offset=offset)

    def _repeat_transaction(self, producer: Producer, key: WriteKey) -> None:
        count = self._dice.randint(1, _MOST_VALUES)
        values = tuple(f"{key.writer_id}-transaction{key.version}-{number}".encode() for number in range(count))
        while not (self._try_transaction(producer, key, values) or self._is_stopping.is_set()):
            pass

    def _try_transaction(self, producer: Producer, key: WriteKey, values: tuple[bytes, ...]) -> bool:
        """Do a transaction, for the first time or again; return whether it was acknowledged."""
        try:
            transaction = producer.transaction(key)
        except UNAVAILABLE:
            return False
        self._note_without_response(acknowledged_ns=now_ns())
        begun_ns = now_ns()
        end_requested_ns, wants_commit, acknowledged_ns = None, False, None
        try:
            with transaction:
                try:
                    transaction.append_all(Record(value=value) for value in values)
                    wants_commit = True
                finally:
                    end_requested_ns = now_ns()
            acknowledged_ns = now_ns()
        except UNAVAILABLE:
            pass
        except RequestError as error:
            if error.code not in _ABORTED_MEANWHILE:
                raise
        finally:
            self._history.transacted(
                Transaction(
                    client=self.name,
                    values=values,
                    task_sizes=(len(values),),
                    begun_ns=begun_ns,
                    wants_commit=wants_commit,
                    end_requested_ns=end_requested_ns,
                    acknowledged_ns=acknowledged_ns,
                    timeout_ms=LONGEST_TRANSACTION_MS,
                )
            )
        return acknowledged_ns is not None

    def _note_without_response(self, *, acknowledged_ns: int | None) -> None:
        """Note the values of calls without a response. Only the first of them was certainly repeated."""
        noted, self._without_response = self._without_response, []
        for at, (value, invoked_ns) in enumerate(noted):
            self._note(value, invoked_ns, acknowledged_ns=None if at else acknowledged_ns, offset=None)

    def _note(self, value: bytes, invoked_ns: int, *, acknowledged_ns: int | None, offset: Offset | None) -> None:
        self._history.appended(
            Append(client=self.name, value=value, invoked_ns=invoked_ns, acknowledged_ns=acknowledged_ns, offset=offset)
        )
