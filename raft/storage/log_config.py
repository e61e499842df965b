"""Sizes of a log."""

from __future__ import annotations

from dataclasses import dataclass

from raft.defaults import SEGMENT_BYTES

LARGEST_SEGMENT_BYTES = (1 << 31) - 1
"""An index has positions as int32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Sizes of a log, and who sees its snapshot.

    Fields:
        serves_snapshot: whether readers see the records of the snapshot at the start of the log, before the log.
        segment_bytes: size at which a new segment is begun; at most `LARGEST_SEGMENT_BYTES`.
        tail_bytes: how many of the newest bytes stay in memory.
    """

    serves_snapshot: bool = False
    segment_bytes: int = SEGMENT_BYTES
    tail_bytes: int = 4 << 20

    def __post_init__(self) -> None:
        assert 0 < self.segment_bytes <= LARGEST_SEGMENT_BYTES, f"segments of {self.segment_bytes} bytes"
