"""One part of a multipart write: batches under a producer id of its own, which become visible with the commit."""

from __future__ import annotations

from collections.abc import Callable
from secrets import randbelow

from raft.client.blocking import Client
from raft.records.header import read_header
from raft.types import WritePart, add_checksums
from raft.writers import PARTS_OF_A_WRITE, SEQUENCES, WriteId

Encode = Callable[[int, int], bytes]
"""Returns a transactional batch, given its producer id and its base sequence; the producer epoch is 0."""


class Part:
    """Appends the batches of one part.

    Args:
        client: of the quorum. Nothing else uses it meanwhile.
        write: the write that the part belongs to.
    """

    def __init__(self, client: Client, write: WriteId) -> None:
        self._client = client
        self._write = write
        self._producer_id = write.part_producer_id(randbelow(PARTS_OF_A_WRITE))
        self._next_sequence = 0
        self._record_count = 0
        self._content_checksum = 0
        self._is_written = False

    @property
    def part(self) -> WritePart:
        """What was appended so far, as the commit of the write names it."""
        return WritePart(
            producer_id=self._producer_id, record_count=self._record_count, content_checksum=self._content_checksum
        )

    def append(self, encode: Encode) -> None:
        """Append a batch. A part whose call failed cannot go on.

        If the log has the whole write already, nothing is appended: its records are only counted from then on, and the
        leader compares them with the ones in the log at the commit.

        Raises:
            RequestError: the batch is refused; MESSAGE_TOO_LARGE leaves the part as it was before.
            QuorumUnavailableError: no leader responded in time.
        """
        batch = encode(self._producer_id, self._next_sequence)
        header = read_header(batch)
        if not self._is_written:
            appended = self._client.append(batch, transactional_id=self._write.transactional_id)
            self._is_written = appended.is_superseded
        self._next_sequence = (self._next_sequence + header.record_count) % SEQUENCES
        self._record_count += header.record_count
        self._content_checksum = add_checksums((self._content_checksum, header.content_checksum or 0))
