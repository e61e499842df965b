"""What a start needs to know of a full segment without reading it."""

from __future__ import annotations

from dataclasses import dataclass

from raft.types import Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSummary:
    """The numbers of the indexes of a segment that searches need before they need an entry.

    Fields:
        offset_index_bytes, time_index_bytes, aborted_index_bytes: sizes of the three files; 0 for a file that does not
            exist.
        checksum: CRC-32C of the three files one after the other.
        largest_timestamp_ms: see `SegmentIndexes.largest_timestamp_ms`.
        offset_of_largest: see `SegmentIndexes.offset_of_largest`.
        transactional_range: see `SegmentIndexes.transactional_range`.
    """

    offset_index_bytes: int
    time_index_bytes: int
    aborted_index_bytes: int
    checksum: int
    largest_timestamp_ms: int
    offset_of_largest: Offset
    transactional_range: tuple[Offset, Offset] | None

    @property
    def size_bytes(self) -> int:
        """Size of the three files together."""
        return self.offset_index_bytes + self.time_index_bytes + self.aborted_index_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSummary:
    """One segment, as it was when it was closed.

    Fields:
        base_offset: offset of its first record.
        end_offset: offset after its last record.
        last_epoch: leader epoch of its last batch.
        size_bytes: of the `.log` file.
        indexes: of its indexes.
    """

    base_offset: Offset
    end_offset: Offset
    last_epoch: Epoch
    size_bytes: int
    indexes: IndexSummary
