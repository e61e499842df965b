"""When a writer expires: in log time, so that it expires at the same record on every node.

Log time is the largest timestamp of all batches up to a point of the log. It is not the time of a clock. If each node
used its own clock, one node could forget a writer that another node still knows, and two leaders in succession could
write the same batch twice. A client whose clock is ahead moves log time ahead, by no more than the leader allows for
timestamps.

Log time can also jump. Clients may write old timestamps, for example of records that they copy from another log. The
first record with the present time then moves log time forward by years, although the other records were written a
moment ago. So the newest writers are kept whatever their age, and their repeated writes are still recognised.
"""

from __future__ import annotations

from dataclasses import dataclass

from raft.defaults import PRODUCER_ID_EXPIRATION_MS, WRITER_EXPIRATION_MS
from raft.types import BatchHeader

NEWEST_WRITERS_KEPT = 1_000
"""Writers of each kind that never expire. They are far more than usually write at once, and take at most 350 kB."""

NO_LOG_TIME_MS = -1
"""Log time of a log without timestamps, and Kafka's timestamp of a batch without one: any other time is later."""

LATEST_TIMESTAMP_MS = 253_402_300_799_999
"""The end of the year 9999. A later timestamp is not in milliseconds: a client wrote micro- or nanoseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterExpiry:
    """How long writers are remembered after their last write, in log time. All nodes of a quorum need the same values.

    Fields:
        producer_ms: idempotent producers, and writers that wrote version 0 of their key only: these are batch writes,
            each of which has a random name.
        writer_ms: writers with a higher version, such as streaming queries.
        newest_kept: how many writers of each kind never expire: those that wrote last.
    """

    producer_ms: int = PRODUCER_ID_EXPIRATION_MS
    writer_ms: int = WRITER_EXPIRATION_MS
    newest_kept: int = NEWEST_WRITERS_KEPT


def log_time_after(log_time_ms: int, header: BatchHeader) -> int:
    """Return log time after this batch; a missing or impossible timestamp does not count."""
    timestamp_ms = header.max_timestamp_ms
    return timestamp_ms if log_time_ms < timestamp_ms <= LATEST_TIMESTAMP_MS else log_time_ms
