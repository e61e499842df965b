"""The values that all parts of raft share: ids, offsets, epochs, endpoints, and the header of a record batch.

Unknown is None. The -1 of the wire and of the files does not leave `raft.wire` and `raft.storage`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NewType

NodeId = NewType("NodeId", int)
"""Id of a replica. A node of which only the address is known has a negative id (Kafka: -2, -3, ...)."""

Epoch = NewType("Epoch", int)
"""Number of an election; 0 before the first one."""

Offset = NewType("Offset", int)
"""Position of a record in the log, from 0. An end offset is one past the last record."""

Uuid = NewType("Uuid", str)
"""A uuid as text: 16 bytes as 22 characters of base64url. See `raft.uuids`."""

ZERO_UUID = Uuid("AAAAAAAAAAAAAAAAAAAAAA")

FIRST_PART_PRODUCER_ID = 1 << 61
"""The first producer id of a part of a multipart write; lower ids are those of Kafka's producers."""

FIRST_KEYED_PRODUCER_ID = 1 << 62
"""The first producer id of a keyed write, which a WriteKey makes; lower ids are those of parts."""

LARGEST_BATCH_BYTES = 255 << 20
"""Largest record batch that a node or a client can be configured for: 256 MiB, without room for the response around it.
Larger batches that are in a log already can be read."""


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """A replica: its node id and, if known, the id of its metadata directory, which is new on a new disk."""

    node_id: NodeId
    directory_id: Uuid | None = None

    def matches(self, other: ReplicaKey) -> bool:
        """Whether `other` is this replica: it has the same id, and the same directory if this key has one (GEN-14)."""
        return self.node_id == other.node_id and self.directory_id in (None, other.directory_id)


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """An address of a node. `name` is the name of the listener, "" if a message has none."""

    host: str
    port: int
    name: str = ""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndEpoch:
    """An epoch and its leader, as far as a node knows it.

    Fields:
        epoch: the epoch.
        leader_id: its leader; None while none is known.
        endpoints: where the leader listens; empty while unknown.
    """

    epoch: Epoch
    leader_id: NodeId | None = None
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class OffsetAndEpoch:
    """A point in the log: an offset, and the epoch of the record just before it, 0 if there is none.

    The order is that of elections: epoch first, then offset.
    """

    epoch: Epoch
    offset: Offset

    def __str__(self) -> str:
        return f"offset {self.offset} of epoch {self.epoch}"


LOG_BEGIN = OffsetAndEpoch(epoch=Epoch(0), offset=Offset(0))
"""The point before the first record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionState:
    """The state of elections that a node stores: epoch, leader if known, and its vote."""

    epoch: Epoch
    leader_id: NodeId | None = None
    voted_key: ReplicaKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """One entry of the epoch cache: the first offset of a leader epoch."""

    epoch: Epoch
    start_offset: Offset


class Damaged(Enum):
    """What of a log is damaged."""

    BATCHES = "batches"
    INDEX = "index"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedRange:
    """A range of the log that this node cannot read, because bytes on its disk are damaged (LOG-29).

    Fields:
        kind: what is damaged. The range of an index is that of its segment, and that of a snapshot begins at offset 0.
        start_offset, end_offset: the range.
    """

    kind: Damaged = Damaged.BATCHES
    start_offset: Offset
    end_offset: Offset

    def __str__(self) -> str:
        return f"offsets {self.start_offset} to {self.end_offset}"


_CHECKSUMS = 1 << 64


def add_checksums(checksums: Iterable[int]) -> int:
    """Return the content checksum of several batches together (see `BatchHeader`)."""
    return sum(checksums) % _CHECKSUMS


class CleanupPolicy(Enum):
    """What becomes of old records: Kafka's `cleanup.policy`, and NONE."""

    NONE = "none"
    """Everything is kept."""
    COMPACT = "compact"
    """The newest record of each key is kept."""
    DELETE = "delete"
    """What is older than the retention is removed."""


class ControlType(IntEnum):
    """Types of control records (second int16 of the key)."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6
    WRITE_COMMIT = 1000
    TRANSACTIONAL_ID = 1001
    """These two are of this project. A node that does not know them stops at them (CONTROL-8)."""


HIGHEST_KRAFT_VERSION = 1
"""The highest kraft.version whose records a voter of this project can follow if the voters are its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedVoters:
    """What a control batch says of the quorum.

    Fields:
        voters: the ids of the voters from there on; None if it does not name them.
        kraft_version: from there on; None if it does not name it.
    """

    voters: tuple[NodeId, ...] | None = None
    kraft_version: int | None = None

    def difference(self, configured: Collection[NodeId]) -> str | None:
        """Return how this differs from the voters of a configuration; None if a voter can go on with those."""
        if self.voters is not None and set(self.voters) != set(configured):
            return f"the log names the voters {sorted(self.voters)}, the configuration {sorted(configured)}"
        if self.kraft_version is not None and self.kraft_version > HIGHEST_KRAFT_VERSION:
            return f"the log has kraft.version {self.kraft_version}, expected {HIGHEST_KRAFT_VERSION} at most"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePart:
    """A part of a multipart write: what one attempt of a task appended under a producer id of its own.

    Fields:
        producer_id: of the attempt, from FIRST_PART_PRODUCER_ID on.
        record_count: number of its records.
        content_checksum: sum of the content checksums of its batches, modulo 2^64.
    """

    producer_id: int
    record_count: int
    content_checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCommit:
    """WRITE_COMMIT: a multipart write is committed. The header of its batch has the key of the write.

    Fields:
        parts: the parts that belong to the write, in any order; other parts of the same write are aborted.
    """

    parts: tuple[WritePart, ...]

    @property
    def record_count(self) -> int:
        """Number of records of the whole write."""
        return sum(part.record_count for part in self.parts)

    @property
    def content_checksum(self) -> int:
        """Content checksum of the whole write: that of one batch with the same records."""
        return add_checksums(part.content_checksum for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalId:
    """TRANSACTIONAL_ID: which producer id and epoch a transactional id has. The header of its batch has both.

    Fields:
        name: the transactional id.
        timeout_ms: longest duration of its transactions.
        previous: producer id and epoch that the same producer had before, if it has asked for higher ones itself; None
            if a producer began, which fences the one before it.
        last_end: how the transaction ended that it wrote with `previous`; None if it ended none. In snapshots only.
    """

    name: str
    timeout_ms: int
    previous: tuple[int, int] | None = None
    last_end: ControlType | None = None


ControlValue = WriteCommit | TransactionalId
"""What a header tells of the value of a control record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHeader:
    """The header of a record batch (Kafka magic v2), and what is known of its control types and its content.

    Fields:
        base_offset, last_offset: of its first and last record.
        epoch: leader epoch in which it was appended.
        size_bytes: of the whole batch, with its header.
        record_count: number of its records.
        max_timestamp_ms: largest timestamp of its records, -1 for none.
        producer_id, producer_epoch, base_sequence: None, or the key of the writer (see `raft.writers`).
        is_transactional: belongs to a transaction.
        control_types: types of its control records, in order; empty for a batch of data. Unknown types are numbers.
        control_value: the value of its control record, if that is of a type of this project.
        logged_voters: what its control records say of the voters; None for nothing.
        content_checksum: of keys, values and headers of its records, independent of their order and timestamps: two
            batches with the same rows have the same checksum. None if it is not known: it is computed for writes of
            this project only (producer_id >= FIRST_PART_PRODUCER_ID), and not for compressed or malformed records.
    """

    base_offset: Offset
    last_offset: Offset
    epoch: Epoch
    size_bytes: int
    record_count: int
    max_timestamp_ms: int = -1
    producer_id: int | None = None
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    control_types: tuple[int, ...] = ()
    control_value: ControlValue | None = None
    logged_voters: LoggedVoters | None = None
    content_checksum: int | None = None

    @property
    def end_offset(self) -> Offset:
        """One past the last record."""
        return Offset(self.last_offset + 1)

    @property
    def is_control(self) -> bool:
        """Whether it holds control records instead of data."""
        return bool(self.control_types)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A record batch: its header, and its bytes, which the core does not read.

    The bytes may have the offset and epoch of the sender. Those in `header` are right, and storage writes them into the
    bytes; the checksum does not cover these fields.
    """

    header: BatchHeader
    payload: bytes

    def placed(self, base_offset: Offset, epoch: Epoch) -> Batch:
        """Return the batch at another offset, appended in another epoch."""
        header = self.header
        # Each append needs this, and `dataclasses.replace` takes longer.
        placed = BatchHeader(
            base_offset=base_offset,
            last_offset=Offset(base_offset + header.last_offset - header.base_offset),
            epoch=epoch,
            size_bytes=header.size_bytes,
            record_count=header.record_count,
            max_timestamp_ms=header.max_timestamp_ms,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            is_transactional=header.is_transactional,
            control_types=header.control_types,
            control_value=header.control_value,
            logged_voters=header.logged_voters,
            content_checksum=header.content_checksum,
        )
        return Batch(header=placed, payload=self.payload)
