"""The disk, as the engine and the request handlers see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from raft.core.effects import FlushLog, ReadRange, StoreSnapshotPiece
from raft.storage.log import Log
from raft.types import Batch, ElectionState, Offset, OffsetAndEpoch
from raft.writers import TableImage

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskListener:
    """What a disk reports, always on the scheduler.

    Fields:
        flushed: called when a flush is done.
        rolled: called when an append has begun a new segment.
        failed: called with the error when the disk has refused something; it does nothing more.
    """

    flushed: Callable[[FlushLog], None]
    rolled: Callable[[], None]
    failed: Callable[[BaseException], None]


class Disk(Protocol):
    """The directory of one replica. No call waits for the disk.

    Everything but `search`, `read_in_pieces` and flushes is done in the order of the calls. So a read sees what was
    appended before it, and a truncation takes effect before the append that follows it.
    """

    def start(self, listener: DiskListener) -> None:
        """Begin to work."""
        ...

    def stop(self) -> None:
        """Finish what is ordered, then stop. A flush that waits is dropped."""
        ...

    def store(self, state: ElectionState, done: Callable[[None], None]) -> None:
        """Store the election state; `done` is called when it is durable."""
        ...

    def append(self, batches: Sequence[Batch]) -> None:
        """Append batches to the log."""
        ...

    def truncate(self, end_offset: Offset) -> None:
        """Remove everything from `end_offset` on from the log."""
        ...

    def flush(self, order: FlushLog) -> None:
        """Flush the log when everything ordered before is written. A newer flush may be reported in its place."""
        ...

    def read(self, read: ReadRange, done: Callable[[bytes], None]) -> None:
        """Read records; `done` gets them. The log is read as it is after everything ordered before."""
        ...

    def read_in_pieces(self, read: ReadRange, look: Callable[[bytes], Found], done: Callable[[Found], None]) -> None:
        """Read committed records, after appends and reads of followers; see `PiecewiseRead`."""
        ...

    def search(self, work: Callable[[Log], Found], done: Callable[[Found], None]) -> None:
        """Look up something committed in the log, after appends and reads of followers; `done` gets the result."""
        ...

    def store_snapshot_piece(self, piece: StoreSnapshotPiece) -> None:
        """Add a piece to a snapshot that is being fetched."""
        ...

    def install_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Replace the log by a snapshot that has been fetched."""
        ...

    def write_producer_snapshot(self, image: TableImage) -> None:
        """Write the table of writers to disk."""
        ...

    def note_committed(self, offset: Offset) -> None:
        """Let the next checkpoint say that everything below `offset` is committed."""
        ...
