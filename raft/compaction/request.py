"""What a node sends to the process that makes a snapshot: one line of JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from raft.compaction.snapshot_maker import SnapshotOrder
from raft.types import Epoch, EpochStart, Offset, OffsetAndEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class MakingRequest:
    """The order for one snapshot, and what the process cannot know.

    Fields:
        directory: the partition's folder.
        order: the order.
        now_ms: wall clock, since 1970.
        delete_retention_ms: how long tombstones are kept.
    """

    directory: str
    order: SnapshotOrder
    now_ms: int
    delete_retention_ms: int

    def to_line(self) -> str:
        """Return the line."""
        order = self.order
        return json.dumps(
            {
                "directory": self.directory,
                "base": None if order.base is None else [order.base.offset, order.base.epoch],
                "end": [order.end.offset, order.end.epoch],
                "segments": order.segments,
                "epochs": [[start.epoch, start.start_offset] for start in order.epochs],
                "keeps_records": order.keeps_records,
                "is_urgent": order.is_urgent,
                "now_ms": self.now_ms,
                "delete_retention_ms": self.delete_retention_ms,
            }
        )

    @classmethod
    def from_line(cls, line: str) -> MakingRequest:
        """Return the request that `to_line` has written."""
        fields = json.loads(line)
        base, end = fields["base"], fields["end"]
        return cls(
            directory=fields["directory"],
            order=SnapshotOrder(
                base=None if base is None else OffsetAndEpoch(offset=Offset(base[0]), epoch=Epoch(base[1])),
                end=OffsetAndEpoch(offset=Offset(end[0]), epoch=Epoch(end[1])),
                segments=tuple(map(Offset, fields["segments"])),
                epochs=tuple(
                    EpochStart(epoch=Epoch(epoch), start_offset=Offset(start)) for epoch, start in fields["epochs"]
                ),
                keeps_records=fields["keeps_records"],
                is_urgent=fields["is_urgent"],
            ),
            now_ms=fields["now_ms"],
            delete_retention_ms=fields["delete_retention_ms"],
        )
