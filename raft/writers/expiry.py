"""When a writer is forgotten: in log time, so that every node forgets it at the same record.

Log time is the largest timestamp of all batches up to a point of the log. It is not the time of any clock: a node that
judged by its own clock would accept a repeated write that another node still knows, and two leaders in succession would
write it twice. A client whose clock runs ahead moves log time ahead with it, by no more than the leader allows:
`log.message.timestamp.after.max.ms`.

Log time can also jump. Clients may write old timestamps, for example of records that they copy from another log. The
first record with the present time then moves log time forward by years, though the others were written a moment ago. So
the newest writers are kept whatever their age, and a write that is repeated is still recognized.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.defaults import PRODUCER_ID_EXPIRATION_MS, WRITER_EXPIRATION_MS
from raft.types import BatchHeader

NEWEST_WRITERS_KEPT = 1_000
"""Of each kind. Far more than usually write at the same time; they take at most 350 kB."""

NO_LOG_TIME_MS = -1
"""Log time of a log without timestamps."""

LATEST_TIMESTAMP_MS = 253_402_300_799_999
"""The end of the year 9999. What lies beyond is no time in milliseconds: a client wrote micro- or nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterExpiry:
    """How long writers are remembered after their last write, in log time. All nodes of a quorum need the same.

    Fields:
        producer_ms: idempotent producers, and writers that wrote version 0 of their key and no other: plain batch
            writes, each of which draws a name of its own.
        writer_ms: writers with a higher version, such as streaming queries.
        newest_kept: how many writers of each kind are kept whatever their age: those that wrote last.
    """

    producer_ms: int = PRODUCER_ID_EXPIRATION_MS
    writer_ms: int = WRITER_EXPIRATION_MS
    newest_kept: int = NEWEST_WRITERS_KEPT


def log_time_after(log_time_ms: int, header: BatchHeader) -> int:
    """Return log time once a batch is appended; a timestamp that is missing or impossible does not count."""
    timestamp_ms = header.max_timestamp_ms
    return timestamp_ms if log_time_ms < timestamp_ms <= LATEST_TIMESTAMP_MS else log_time_ms
