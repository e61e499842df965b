"""A replica's directory that reports its changes as they happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from raft.storage.directory import ReplicaDirectory
from raft.transactions import AbortedTransaction, SnapshotSummary
from raft.types import Batch, ElectionState, NodeId, Offset, OffsetAndEpoch
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.committed_log import CommittedLog
from tests.simulation.log_model import Entry
from tests.simulation.log_on_disk import LogOnDisk


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryListener:
    """The callbacks of a directory.

    Fields:
        append_begun: called before batches are written to the log's file.
        append_done: called after that.
        election_state_stored: called when an election state is durable.
        flush_done: called when more of the log may be durable.
        checkpoints_written: called when the checkpoints are durable.
        snapshot_made: called when a snapshot of the log is on the disk.
        snapshot_checked: called when a snapshot that was downloaded is checked.
        snapshot_installed: called when a snapshot has replaced the log.
        log_cut: called when the log was cut.
    """

    append_begun: Callable[[list[Entry]], None]
    append_done: Callable[[], None]
    election_state_stored: Callable[[], None]
    flush_done: Callable[[], None]
    checkpoints_written: Callable[[], None]
    snapshot_made: Callable[[OffsetAndEpoch], None]
    snapshot_checked: Callable[[], None]
    snapshot_installed: Callable[[OffsetAndEpoch], None]
    log_cut: Callable[[OffsetAndEpoch], None]


class WatchedDirectory(ReplicaDirectory):
    """Keeps a model of its log, and calls a listener. Call `watch` after `open`.

    Attributes:
        truncations: how many times the log was truncated.
    """

    truncations = 0
    _written: LogOnDisk
    _committed: CommittedLog
    _listener: DirectoryListener

    def watch(self, written: LogOnDisk, committed: CommittedLog, listener: DirectoryListener) -> None:
        """Begin to report.

        Args:
            written: the model of the log.
            committed: what is committed: the model of what a snapshot stands for.
            listener: the callbacks.
        """
        self._written = written
        self._committed = committed
        self._listener = listener

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> bool:
        """See `ReplicaDirectory.append`."""
        # An append that waited for room is begun again.
        end_offset = self._written.model.end_offset
        new = [batch for batch in batches if batch.header.base_offset >= end_offset]
        self._listener.append_begun([self._written.append(batch) for batch in new])
        has_rolled = super().append(batches, aborted)
        self._listener.append_done()
        return has_rolled

    def truncate(self, end_offset: Offset) -> None:
        """See `ReplicaDirectory.truncate`."""
        self._written.truncation_begun(end_offset)
        super().truncate(end_offset)
        self._written.truncation_done(end_offset)
        self.truncations += 1

    def check_snapshot(self, snapshot: OffsetAndEpoch) -> SnapshotSummary | None:
        """See `ReplicaDirectory.check_snapshot`."""
        contents = super().check_snapshot(snapshot)
        self._listener.snapshot_checked()
        return contents

    def install_snapshot(self, contents: SnapshotSummary) -> None:
        """See `ReplicaDirectory.install_snapshot`."""
        self._written.install_begun(self._committed.model.between(Offset(0), contents.end.offset))
        super().install_snapshot(contents)
        self._written.install_done()
        self.truncations += 1
        self._listener.snapshot_installed(contents.end)

    def delete_before(self, start: OffsetAndEpoch) -> None:
        """See `ReplicaDirectory.cut`."""
        super().delete_before(start)
        self._listener.log_cut(start)

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> int:
        """See `ReplicaDirectory.finish_snapshot`."""
        size_bytes = super().finish_snapshot(snapshot)
        self._listener.snapshot_made(snapshot)
        return size_bytes

    def store_election_state(self, state: ElectionState, *, kraft_version: int = 0) -> None:
        """See `ReplicaDirectory.store_election_state`."""
        super().store_election_state(state, kraft_version=kraft_version)
        self._listener.election_state_stored()

    def repair(self, batches: Sequence[Batch], source: NodeId) -> bool:
        """See `ReplicaDirectory.repair`."""
        is_repaired = super().repair(batches, source)
        start_offset, end_offset = batches[0].header.base_offset, batches[-1].header.end_offset
        if is_repaired and not self._written.is_as_written(start_offset, end_offset):
            detail = f"offsets {start_offset} to {end_offset} have other bytes than were written"
            raise BrokenInvariantError("RepairedIsAsWritten", ("LOG-31",), detail)
        return is_repaired

    def flush(self) -> Offset:
        """See `ReplicaDirectory.flush`."""
        claimed = super().flush()
        durable_end = self._written.find_durable_end()
        if durable_end < claimed:
            detail = f"flush returned {claimed}, durable is {durable_end}"
            raise BrokenInvariantError("FlushedIsDurable", ("LOG-6",), detail)
        self._listener.flush_done()
        return claimed

    def write_checkpoints(self) -> bool:
        """See `ReplicaDirectory.write_checkpoints`."""
        is_complete = super().write_checkpoints()
        self._listener.checkpoints_written()
        return is_complete
