"""Defaults that parts of raft below its configuration have too. They are Kafka's where Kafka has the setting.

Source: Kafka QuorumConfig, TransactionLogConfig, MetadataLogConfig.
"""

from __future__ import annotations

ELECTION_TIMEOUT_MS = 1_000
FETCH_TIMEOUT_MS = 2_000
ELECTION_BACKOFF_MAX_MS = 1_000
REQUEST_TIMEOUT_MS = 2_000
RETRY_BACKOFF_MS = 20
FETCH_MAX_BYTES = 1 << 20
FETCH_SNAPSHOT_MAX_BYTES = 1 << 20
SEGMENT_BYTES = 1 << 30
PRODUCER_ID_EXPIRATION_MS = 86_400_000
"""One day."""

WRITER_EXPIRATION_MS = 2_592_000_000
"""Thirty days. A streaming query that is down for longer, and then repeats its last micro-batch, writes it again; so a
query may be down during a vacation. One remembered write takes about 350 bytes."""

TRANSACTION_MAX_TIMEOUT_MS = 900_000
"""Fifteen minutes."""
