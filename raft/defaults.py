"""Defaults of the settings that several parts of raft have. They are Kafka's where Kafka has the setting.

Source: Kafka QuorumConfig, TransactionLogConfig, MetadataLogConfig.
"""

from __future__ import annotations

ELECTION_TIMEOUT_MS = 1_000
"""controller.quorum.election.timeout.ms"""

FETCH_TIMEOUT_MS = 2_000
"""controller.quorum.fetch.timeout.ms"""

ELECTION_BACKOFF_MAX_MS = 1_000
"""controller.quorum.election.backoff.max.ms"""

REQUEST_TIMEOUT_MS = 2_000
"""controller.quorum.request.timeout.ms"""

RETRY_BACKOFF_MS = 20
"""controller.quorum.retry.backoff.ms"""

FETCH_MAX_BYTES = 1 << 20
"""controller.quorum.fetch.max.bytes"""

FETCH_SNAPSHOT_MAX_BYTES = 1 << 20
"""controller.quorum.fetch.snapshot.max.bytes"""

SEGMENT_BYTES = 1 << 30
"""metadata.log.segment.bytes"""

PRODUCER_ID_EXPIRATION_MS = 86_400_000
"""producer.id.expiration.ms: one day."""

WRITER_EXPIRATION_MS = 2_592_000_000
"""raft.writer.expiration.ms: thirty days. A streaming query that is down for longer, and then repeats its last
micro-batch, writes it again; so a query may be down during a vacation. One remembered write takes about 350 bytes.
"""

BYTES_BETWEEN_SNAPSHOTS = 20 << 20
"""metadata.log.max.record.bytes.between.snapshots"""

SNAPSHOT_INTERVAL_MS = 3_600_000
"""metadata.log.max.snapshot.interval.ms: one hour."""

MIN_CLEANABLE_DIRTY_RATIO = 0.5
"""min.cleanable.dirty.ratio: the next snapshot is made when there is as much new as in the last one."""

RETENTION_BYTES = 100 << 20
"""metadata.max.retention.bytes"""

RETENTION_MS = 604_800_000
"""metadata.max.retention.ms: seven days."""

DELETE_RETENTION_MS = 86_400_000
"""delete.retention.ms: one day."""

RESERVE_BYTES = 64 << 20
"""raft.reserve.bytes: what a node keeps free of records."""

SCRUB_BYTES_PER_SECOND = 1 << 20
"""raft.scrub.bytes.per.second: how fast a node checks its log; small batches take 3 % of a core at this speed."""

SCRUB_INTERVAL_MS = 24 * 60 * 60 * 1000
"""raft.scrub.interval.ms: time from one check of the whole log to the next one."""

TRANSACTION_MAX_TIMEOUT_MS = 900_000
"""transaction.max.timeout.ms: fifteen minutes. A transaction that is open for longer is aborted."""

NODE_LOG_MAX_BYTES = 16 << 20
"""raft.node.log.max.bytes"""

NODE_LOG_OLD_FILES = 4
"""raft.node.log.old.files: with the present file, a node has five times raft.node.log.max.bytes at most."""
