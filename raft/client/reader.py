"""Reads committed records in the order of their offsets."""

from __future__ import annotations

from collections.abc import Iterator

from raft.client.aborted import AbortedFilter
from raft.client.blocking import Client
from raft.client.client_user import ClientUser
from raft.client.results import Fetched
from raft.client.settings import ClientSettings
from raft.errors import CorruptBatchError, DecodeError
from raft.records.batch import read_records
from raft.records.batches import read_batches
from raft.records.record import Record
from raft.types import Batch, Offset

DEFAULT_FETCH_BYTES = 4 << 20

_WAIT_MS = 500


class Reader(ClientUser):
    """Reads the committed records of a quorum's log. For one thread at a time.

        with Reader("localhost:9092") as reader:
            for record in reader:
                print(record.offset, record.key, record.value)

    Iterating ends with the last record that is committed when it begins, and a later iteration goes on there. `follow`
    waits for more records instead. Only records that are committed are read, and of transactions only those that are
    committed; control records are left out.

    Args:
        quorum: see `ClientUser`.
        start: where to begin: an offset, or None for the first record of the log.
        fetch_bytes: how many bytes of batches to fetch at once; a larger batch is fetched by itself.

    Raises:
        ConfigError: `quorum` is not a list of addresses.
    """

    def __init__(
        self,
        quorum: str | ClientSettings | Client,
        *,
        start: int | None = None,
        fetch_bytes: int = DEFAULT_FETCH_BYTES,
    ) -> None:
        super().__init__(quorum)
        self._fetch_bytes = fetch_bytes
        self._offset = None if start is None else Offset(start)

    @property
    def offset(self) -> Offset:
        """The offset of the next record: where to begin to go on after this reader."""
        if self._offset is None:
            self._offset = self._client.log_start_offset()
        return self._offset

    def seek(self, offset: int) -> None:
        """Go to an offset. Not to be called while records are iterated."""
        self._offset = Offset(offset)

    def seek_to_end(self) -> None:
        """Go to the end of the committed records, so that only later ones are read."""
        self._offset = self._client.last_stable_offset()

    def seek_to_timestamp(self, timestamp_ms: int) -> None:
        """Go to the first record with this timestamp or a later one; to the end if there is none.

        Args:
            timestamp_ms: since 1970, UTC.
        """
        found = self._client.find_offset(timestamp_ms)
        self._offset = self._client.last_stable_offset() if found is None else found.offset

    def __iter__(self) -> Iterator[Record]:
        """Yield the records up to the end of those that are committed now.

        Raises:
            OffsetOutOfRangeError: the log starts after the offset, or ends before it.
            CorruptBatchError: a batch cannot be read, from no node.
            QuorumUnavailableError: no leader responded in time; the next iteration goes on after the last record.
        """
        yield from self._records(self._client.last_stable_offset())

    def follow(self) -> Iterator[Record]:
        """Yield the records, and wait for more, without end.

        Raises:
            OffsetOutOfRangeError, CorruptBatchError, QuorumUnavailableError: as when iterating.
        """
        yield from self._records(None)

    def batches(self, end: Offset | None) -> Iterator[Batch]:
        """Yield whole batches, control batches too, without those of aborted transactions.

        The first batch may begin before the offset, and the last one end after `end`.

        Args:
            end: where to stop; None for never.

        Raises:
            OffsetOutOfRangeError, CorruptBatchError, QuorumUnavailableError: as when iterating.
        """
        while end is None or self.offset < end:
            yield from self.batches_in(self.fetch(), end)

    def fetch(self) -> Fetched:
        """Fetch the records from the next one on, or nothing if none is committed in time.

        Raises:
            OffsetOutOfRangeError, QuorumUnavailableError: as when iterating.
        """
        return self._client.fetch(self.offset, max_bytes=self._fetch_bytes, max_wait_ms=_WAIT_MS)

    def batches_in(self, fetched: Fetched, end: Offset | None) -> Iterator[Batch]:
        """Yield the batches that were fetched, as `batches` does, and go on after each of them.

        Args:
            fetched: the result of `fetch`.
            end: see `batches`.

        Raises:
            CorruptBatchError: as when iterating.
        """
        aborted = AbortedFilter(fetched.aborted)
        try:
            for batch in read_batches(fetched.records):
                if not aborted.drops(batch.header):
                    yield batch
                batch_end = batch.header.end_offset
                self._offset = max(self.offset, batch_end if end is None else min(batch_end, end))
        except DecodeError as error:
            if fetched.reader is None:
                raise CorruptBatchError(f"the batch with offset {self.offset} cannot be read: {error}") from error
            self._client.leave_reader(fetched.reader)  # Another node may have it whole.

    def _records(self, end: Offset | None) -> Iterator[Record]:
        for batch in self.batches(end):
            if batch.header.is_control:
                continue
            for record in _records_of(batch):
                if record.offset >= self.offset and (end is None or record.offset < end):
                    self._offset = Offset(record.offset + 1)
                    yield record


def _records_of(batch: Batch) -> Iterator[Record]:
    try:
        yield from read_records(batch.payload)
    except DecodeError as error:
        raise CorruptBatchError(f"the batch with offset {batch.header.base_offset} cannot be read: {error}") from error
