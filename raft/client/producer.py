"""Appends records exactly once and in order, one batch after the other."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from raft.client.blocking import Client
from raft.client.client_user import ClientUser
from raft.client.record_group import RecordGroup, encoded
from raft.client.settings import ClientSettings
from raft.client.transaction import Transaction
from raft.errors import OutOfOrderSequenceError, QuorumUnavailableError, RequestError
from raft.records.header import read_header
from raft.records.record import NO_TIMESTAMP_MS, Record, RecordHeader
from raft.types import Offset
from raft.writers import SEQUENCES, WriteKey

DEFAULT_BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedRecords:
    """Records that are committed. Records of other producers may lie between those of two batches.

    Fields:
        first_offset: of the first record.
        last_offset: of the last record.
        count: how many records there are.
    """

    first_offset: Offset
    last_offset: Offset
    count: int

    def followed_by(self, later: AppendedRecords) -> AppendedRecords:
        """Return these and later ones together."""
        return AppendedRecords(
            first_offset=self.first_offset, last_offset=later.last_offset, count=self.count + later.count
        )


class Producer(ClientUser):
    """Appends records to the log of a quorum, each exactly once, in the order of the calls. For one thread at a time.

        with Producer("localhost:9092") as producer:
            offset = producer.append(b"value", key=b"key")
            producer.append_all(Record(value=line) for line in lines)
            with producer.transaction() as transaction:
                transaction.append(b"one")
                transaction.append(b"two")

    A call returns when its records are on the disks of a majority. If it raises `QuorumUnavailableError`, it is unknown
    whether the last batch was appended; the next call repeats that batch first, and the leader recognizes it. So no
    record is doubled, and none is left out, as long as the program goes on with the same producer, and the nodes
    remember it: they remember 10,000 producers, each for `producer.id.expiration.ms` after its last append.

    Args:
        quorum: see `ClientUser`.
        batch_bytes: up to how many bytes of records go into a batch; a larger record is a batch by itself.

    Raises:
        ConfigError: `quorum` is not a list of addresses.
    """

    def __init__(self, quorum: str | ClientSettings | Client, *, batch_bytes: int = DEFAULT_BATCH_BYTES) -> None:
        super().__init__(quorum)
        self._batch_bytes = min(batch_bytes, self._client.settings.max_request_bytes)
        self._producer_id: int | None = None
        self._next_sequence = 0
        self._unknown: bytes | None = None
        """The batch of which it is unknown whether it was appended."""
        self._without_id: list[Record] = []
        """The records of a batch that was not sent, because no leader gave a producer id in time."""

    def append(
        self,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Iterable[RecordHeader] = (),
        timestamp_ms: int | None = None,
    ) -> Offset:
        """Append one record, and wait until it is committed.

        Args:
            value: None deletes the key in a compacted log.
            key: None for none.
            headers: of the record.
            timestamp_ms: since 1970, UTC; None for the present time.

        Returns:
            Its offset.

        Raises:
            RequestError: the record is too large, or the leader refuses it; it is not appended.
            QuorumUnavailableError: no leader responded in time; see the class.
        """
        time_ms = NO_TIMESTAMP_MS if timestamp_ms is None else timestamp_ms
        record = Record(key=key, value=value, headers=tuple(headers), timestamp_ms=time_ms)
        return self.append_all((record,)).first_offset

    def append_all(self, records: Iterable[Record]) -> AppendedRecords:
        """Append records in as many batches as they need, and wait until they are committed.

        Args:
            records: one or more, in this order. Their offsets are ignored, and they have the present time if they have
                none.

        Raises:
            RequestError: the leader refuses a batch; those before it are appended, it and those after it are not.
            QuorumUnavailableError: no leader responded in time; see the class.
            ValueError: there are no records.
        """
        total: AppendedRecords | None = None
        for appended in self.append_in_batches(records):
            total = appended if total is None else total.followed_by(appended)
        if total is None:
            raise ValueError("there are no records: expected one or more")
        return total

    def append_in_batches(self, records: Iterable[Record]) -> Iterator[AppendedRecords]:
        """Append records as `append_all` does, and yield what was appended after each batch.

        Nothing is appended before it is iterated, and nothing after the iteration has ended.

        Args:
            records: any number, in this order.

        Raises:
            RequestError, QuorumUnavailableError: see `append_all`.
        """
        self._settle()
        group = RecordGroup(self._batch_bytes)
        for record in records:
            if full := group.add(record):
                yield self._append(full)
        if group:
            yield self._append(group.take())

    def transaction(self, key: WriteKey | None = None) -> Transaction:
        """Return a transaction, whose records become visible together; see there.

        Args:
            key: names the transaction, so that a program that repeats it after a crash appends it once. None for one
                that is not repeated.

        Raises:
            RequestError, QuorumUnavailableError: a batch from before, of which it is unknown whether it was appended,
                cannot be repeated.
        """
        self._settle()
        return Transaction(self._client, key or WriteKey(str(uuid.uuid4()), 0), batch_bytes=self._batch_bytes)

    def _settle(self) -> None:
        """Append the batch of the last call, if it failed without a response of the leader."""
        if self._without_id:
            records, self._without_id = self._without_id, []
            self._append(records)
        if self._unknown is not None:
            self._send(self._unknown)

    def _append(self, records: list[Record]) -> AppendedRecords:
        try:
            base_offset = self._send(self._batch_of(records))
        except OutOfOrderSequenceError:
            # All batches before this one are settled, so the nodes have forgotten a producer that was idle for days.
            self._producer_id = None
            base_offset = self._send(self._batch_of(records))
        last_offset = Offset(base_offset + len(records) - 1)
        return AppendedRecords(first_offset=base_offset, last_offset=last_offset, count=len(records))

    def _batch_of(self, records: list[Record]) -> bytes:
        if self._producer_id is None:
            try:
                self._producer_id, self._next_sequence = self._client.new_producer_id(), 0
            except QuorumUnavailableError:
                self._without_id = records
                raise
        return encoded(
            records,
            self._client.settings,
            producer_id=self._producer_id,
            producer_epoch=0,
            base_sequence=self._next_sequence,
        )

    def _send(self, batch: bytes) -> Offset:
        self._unknown = batch
        try:
            appended = self._client.append(batch)
        except RequestError:
            self._unknown = None
            raise
        self._unknown = None
        self._next_sequence = (self._next_sequence + read_header(batch).record_count) % SEQUENCES
        return appended.base_offset
