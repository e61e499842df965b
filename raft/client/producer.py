"""Appends records exactly once and in order, one batch after the other."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from raft.client.blocking import Client
from raft.client.record_group import RecordGroup
from raft.client.settings import ClientSettings
from raft.client.transaction import Transaction
from raft.errors import ErrorCode, RequestError
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import NO_TIMESTAMP_MS, Record, RecordHeader
from raft.types import Offset
from raft.writers import WriteKey

DEFAULT_BATCH_BYTES = 1 << 20

_SEQUENCES = 1 << 31


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


class Producer:
    """Appends records to the log of a quorum, each exactly once, in the order of the calls. For one thread at a time.

        with Producer("localhost:9092") as producer:
            offset = producer.append(b"value", key=b"key")
            producer.append_all(Record(value=line) for line in lines)
            with producer.transaction() as transaction:
                transaction.append(b"one")
                transaction.append(b"two")

    A call returns when its records are on the disks of a majority. If it raises `QuorumUnavailableError`, it is unknown
    whether the last batch was appended; the next call repeats that batch first, and the leader recognizes it. So no
    record is doubled, and none is left out, as long as the program goes on with the same producer.

    Args:
        quorum: the nodes to ask first, as "host:port,host:port"; or the settings of a client; or a client, which stays
            open when the producer is closed, and which nothing else uses meanwhile.
        batch_bytes: up to how many bytes of records go into a batch; a larger record is a batch by itself.

    Raises:
        ConfigError: `quorum` is not a list of addresses.
    """

    def __init__(self, quorum: str | ClientSettings | Client, *, batch_bytes: int = DEFAULT_BATCH_BYTES) -> None:
        self._client = quorum if isinstance(quorum, Client) else Client(quorum)
        self._owns_client = self._client is not quorum
        self._batch_bytes = min(batch_bytes, self._client.settings.max_request_bytes)
        self._producer_id: int | None = None
        self._next_sequence = 0
        self._unknown: bytes | None = None
        """The batch of which it is unknown whether it was appended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that the producer has opened. Nothing waits to be sent."""
        if self._owns_client:
            self._client.close()

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
        self._settle()
        appended: list[AppendedRecords] = []
        group = RecordGroup(self._batch_bytes)
        for record in records:
            if full := group.add(record):
                appended.append(self._append(full))
        if not group:
            raise ValueError("there are no records: expected one or more")
        appended.append(self._append(group.take()))
        return AppendedRecords(
            first_offset=appended[0].first_offset,
            last_offset=appended[-1].last_offset,
            count=sum(each.count for each in appended),
        )

    def transaction(self, key: WriteKey | None = None) -> Transaction:
        """Return a transaction, whose records become visible together; see there.

        Args:
            key: names the transaction, so that a program that repeats it after a crash appends it once. None for one
                that is not repeated.
        """
        return Transaction(self._client, key or WriteKey(str(uuid.uuid4()), 0), batch_bytes=self._batch_bytes)

    def _settle(self) -> None:
        """Repeat the batch of which it is unknown whether it was appended."""
        if self._unknown is not None:
            self._send(self._unknown)

    def _append(self, records: list[Record]) -> AppendedRecords:
        try:
            base_offset = self._send(self._batch_of(records))
        except RequestError as error:
            if error.code != ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
                raise
            # All batches before this one are settled, so the nodes have forgotten a producer that was idle for days.
            self._producer_id = None
            base_offset = self._send(self._batch_of(records))
        last_offset = Offset(base_offset + len(records) - 1)
        return AppendedRecords(first_offset=base_offset, last_offset=last_offset, count=len(records))

    def _batch_of(self, records: list[Record]) -> bytes:
        if self._producer_id is None:
            self._producer_id, self._next_sequence = self._client.new_producer_id(), 0
        batch = build_batch(records, producer_id=self._producer_id, producer_epoch=0, base_sequence=self._next_sequence)
        if len(batch) > (largest := self._client.settings.max_request_bytes):
            raise RequestError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"a batch of {len(batch)} bytes is too large: expected at most max_request_bytes={largest}",
            )
        return batch

    def _send(self, batch: bytes) -> Offset:
        self._unknown = batch
        try:
            appended = self._client.append(batch)
        except RequestError:
            self._unknown = None
            raise
        self._unknown = None
        self._next_sequence = (self._next_sequence + read_header(batch).record_count) % _SEQUENCES
        return appended.base_offset
