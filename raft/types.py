"""The words that every part of raft shares: ids, offsets, epochs, endpoints, and the header of a record batch.

Values only: no I/O, no behaviour beyond reading a value's own fields. "Unknown" is None; the -1 of the wire and of
the files stays in `raft.wire` and `raft.storage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NewType

NodeId = NewType("NodeId", int)
"""A replica's integer name; a node that answers only to an address has a negative one (Kafka: -2, -3, ...)."""

Epoch = NewType("Epoch", int)
"""Number of an election; 0 is the empty beginning, before the first."""

Offset = NewType("Offset", int)
"""Position of a record in the log, from 0. Ranges are half-open: an end offset is one past the last record."""

Uuid = NewType("Uuid", str)
"""16 bytes as Kafka prints them: 22 characters of base64url."""

ZERO_UUID = Uuid("AAAAAAAAAAAAAAAAAAAAAA")

FIRST_KEYED_PRODUCER_ID = 1 << 62
"""The first producer id of a keyed write, which a WriteKey makes; lower ids are those of idempotent producers."""

LARGEST_BATCH_BYTES = 255 << 20
"""Largest record batch that nodes and clients can be set up for: 256 MiB, less room for the answer around it. Batches
that are in a log already are read whatever their size."""


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKey:
    """A replica: its node id and, where known, the id of its metadata directory (a new disk has a new one)."""

    node_id: NodeId
    directory_id: Uuid | None = None

    def matches(self, other: ReplicaKey) -> bool:
        """Whether `other` is this replica: same id, and the same directory if this key names one (GEN-14)."""
        return self.node_id == other.node_id and self.directory_id in (None, other.directory_id)


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """Where a node listens. `name` is the listener's name, "" where a message carries none."""

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
    """A point in the log: `offset` is exclusive, `epoch` is that of the record just before it (0 when there is none).

    Order is the one elections use: epoch first, then offset.
    """

    epoch: Epoch
    offset: Offset

    def __str__(self) -> str:
        return f"offset {self.offset} of epoch {self.epoch}"


LOG_BEGIN = OffsetAndEpoch(epoch=Epoch(0), offset=Offset(0))
"""Before the first record of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionState:
    """What a node must not forget of an election: its epoch, the leader it knows, and whom it voted for."""

    epoch: Epoch
    leader_id: NodeId | None = None
    voted_key: ReplicaKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochStart:
    """One entry of the epoch cache: the first offset of a leader epoch."""

    epoch: Epoch
    start_offset: Offset


class ControlType(IntEnum):
    """Types of control records (second int16 of the key)."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchHeader:
    """What the rules need to know of a record batch (Kafka magic v2) without opening its records.

    Fields:
        base_offset, last_offset: offsets of its first and last record.
        epoch: leader epoch it was appended in.
        size_bytes: whole batch, header included.
        record_count: records inside.
        max_timestamp_ms: largest record timestamp, -1 when it has none.
        producer_id, producer_epoch, base_sequence: None, or the writer's key (see `raft.writers`).
        is_transactional: belongs to a transaction.
        control_types: types of its control records, in order; empty for a batch of data. Unknown types stay numbers.
        content_checksum: of the keys, values and headers of its records, whatever their order and their times: two
            batches with the same rows have the same one. None where it is not known: it is computed for keyed
            writes only (producer_id >= FIRST_KEYED_PRODUCER_ID), and not for compressed or malformed records.
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
    """One record batch: its header, and its bytes, which the core hands through unread.

    The bytes may still carry the offset and epoch of the sender; `header` is right, and storage writes those two
    fields from it (they lie outside the checksum).
    """

    header: BatchHeader
    payload: bytes
