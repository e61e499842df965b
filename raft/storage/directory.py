"""The directory of a node: its files, opened in the right order.

    <log dir>/.lock
              meta.properties
              <topic>-<partition>/partition.metadata
                                  quorum-state quorum-state.spare
                                  recovery-point-offset-checkpoint flushed-offsets
                                  replication-offset-checkpoint
                                  leader-epoch-checkpoint
                                  trusted-segments-checkpoint
                                  00000000000000000000.log .index .timeindex ...
                                  <end offset>.snapshot
                                  <end offset>-<epoch>.checkpoint

Source: rule STATE-17; Kafka KafkaRaftManager.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Self

from raft.errors import CorruptBatchError, DiskFullError
from raft.storage.compacted_records import CompactedRecords
from raft.storage.damage import KnownDamage
from raft.storage.damage_search import check_segments, damaged_snapshot, note_damage
from raft.storage.files import Files
from raft.storage.log_config import LogConfig
from raft.storage.opened_directory import OpenedDirectory, ReplicaIdentity, open_files
from raft.storage.repair import repair_batches
from raft.storage.scrub import Scrub, ScrubProgress
from raft.transactions import AbortedTransaction, ProducerState, ProducerStateImage, SnapshotSummary
from raft.types import Batch, ElectionState, NodeId, Offset, OffsetAndEpoch, Uuid

_logger = logging.getLogger(__name__)


class ReplicaDirectory:
    """The directory of a node, locked and open; `open` opens one.

    Attributes:
        log: the log.
        snapshots: the snapshots.
        election_state: the state on the disk: as it was when the directory was opened, or as it was stored last.
        has_election_state: whether the directory had one when it was opened.
        damage: what is damaged of its log, as far as it is known.
    """

    def __init__(self, files: Files, opened: OpenedDirectory) -> None:
        self._files = files
        self._lock = opened.lock
        self._owner = opened.owner
        self._election_state_file = opened.election_state_file
        self._recovery_point = opened.recovery_point
        self._high_watermark = opened.high_watermark
        self._committed_offset = opened.high_watermark.offset
        self.snapshots = opened.snapshots
        self._producer_snapshots = opened.producer_snapshots
        self._serves_snapshot = opened.serves_snapshot
        self.log = opened.log
        self.damage = KnownDamage()
        self._scrub = Scrub(opened.log, opened.snapshots, self.damage)
        self.election_state = opened.election_state_file.read()
        self.has_election_state = opened.election_state_file.exists
        self._are_checkpoints_late = False

    @classmethod
    def open(
        cls,
        files: Files,
        identity: ReplicaIdentity,
        *,
        entropy: bytes,
        config: LogConfig | None = None,
        producers: ProducerState | None = None,
    ) -> Self:
        """Lock a directory, check whose it is, and open its files; an empty one gets the identity.

        Args:
            files: the log directory; it is created if it does not exist.
            identity: the node, cluster and topic that it must belong to.
            entropy: 16 random bytes, for the id of a directory that has no id.
            config: sizes of the log; None takes the defaults.
            producers: empty tables; they are filled from the newest producer snapshot and the batches after that.

        Raises:
            ConfigError: the directory is in use, or belongs to another node, cluster or topic.
            StorageError: a file is unreadable or damaged, or the disk returned an error; a CorruptBatchError names the
                batch.
        """
        config = config or LogConfig()
        return cls(files, open_files(files, identity, entropy=entropy, config=config, producers=producers))

    @property
    def cluster_id(self) -> str:
        """Id of the cluster that the directory belongs to."""
        return self._owner.cluster_id

    @property
    def partition(self) -> str:
        """Name of the partition's folder."""
        return self.snapshots.directory

    @property
    def directory_id(self) -> Uuid:
        """Id of this directory; a new disk gets a new id."""
        return self._owner.directory_id

    @property
    def committed_offset(self) -> Offset:
        """Everything below is committed and on this disk; from the core, or from the checkpoint at the start."""
        return self._committed_offset

    def note_committed(self, offset: Offset) -> None:
        """Record the offset below which everything is committed and on this disk, for the next checkpoint.

        Args:
            offset: `RaftCore.durable_high_watermark`. It never falls, except when a snapshot replaces the log.
        """
        self._committed_offset = max(self._committed_offset, offset)

    def store_election_state(self, state: ElectionState, *, kraft_version: int = 0) -> None:
        """Store the election state, and return when it is on the disk; see `ElectionStateFile.write`.

        Args:
            state: the new state.
            kraft_version: see `ElectionStateFile.write`.
        """
        self._election_state_file.write(state, kraft_version=kraft_version)
        self.election_state = state

    def keep_spare(self) -> None:
        """See `ElectionStateFile.keep_spare`."""
        self._election_state_file.keep_spare()

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """See `Files.keep_in_page_cache`."""
        self._files.keep_in_page_cache(is_kept)

    def free_bytes(self) -> int:
        """See `Files.free_bytes`."""
        return self._files.free_bytes()

    def check_piece(self, max_bytes: int) -> ScrubProgress:
        """Check a piece of the log, as far as it is committed; see `Scrub.check_piece`."""
        return self._scrub.check_piece(max_bytes, self._committed_offset)

    def flush(self) -> Offset:
        """Flush the log and mark what is flushed; see `Log.flush`."""
        end_offset = self.log.flush()
        self._recovery_point.flushed(end_offset, self._committed_offset)
        return end_offset

    def write_checkpoints(self) -> bool:
        """Write the recovery point, the high watermark and the trusted segments, and return when they are on the disk.

        It may run on the thread that flushes, but not while the log is truncated or closed.

        Returns:
            Whether all flushed records are committed, and the checkpoints say so; if not, another call is due soon. A
            disk without room delays the checkpoints only: a start reads more of the log then (LOG-27).
        """
        durable_offset = self.log.durable_end_offset
        try:
            self._recovery_point.advance(durable_offset)
            self._high_watermark.advance(self._committed_offset)
            self.log.list_trusted()
        except DiskFullError as error:
            if not self._are_checkpoints_late:
                _logger.warning("%s; the checkpoints are written when there is room", error)
            self._are_checkpoints_late = True
            return False
        self._are_checkpoints_late = False
        return self._committed_offset >= durable_offset

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> bool:
        """Append batches to the log; return whether a new segment was begun: then a producer snapshot is due.

        Args:
            batches: see `Log.append`.
            aborted: see `Log.append`.
        """
        return self.log.append(batches, aborted)

    def truncate(self, end_offset: Offset) -> None:
        """Truncate the log; see `Log.truncate`. Producer snapshots of the removed offsets are removed before."""
        self._producer_snapshots.remove_after(end_offset)
        self.log.truncate(end_offset)
        self.damage.truncate(end_offset)

    def write_producer_snapshot(self, image: ProducerStateImage) -> None:
        """Store the writers and transactions, and return when they are on the disk.

        Args:
            image: the tables at an end of the log that is reached now, or when the ordered appends are done.

        Raises:
            DiskFullError: the disk has no room; the call may be repeated.
        """
        self._producer_snapshots.write(image, last_segment=self.log.segment_bases[-1])

    def store_snapshot_piece(self, snapshot: OffsetAndEpoch, position: int, piece: bytes) -> None:
        """See `SnapshotFolder.store_piece`."""
        self.snapshots.store_piece(snapshot, position, piece)

    def check_snapshot(self, snapshot: OffsetAndEpoch) -> SnapshotSummary | None:
        """See `SnapshotFolder.check_part`."""
        contents = self.snapshots.check_part(snapshot)
        if contents is None or self._serves_snapshot:
            return contents
        return replace(contents, shows_records=False)

    def install_snapshot(self, contents: SnapshotSummary) -> None:
        """Replace the log by a snapshot that was checked, and return when that is on the disk."""
        snapshot = contents.end
        self.snapshots.begin_install(snapshot)
        self._producer_snapshots.remove_all()
        self.log.restart_at(contents)
        self.snapshots.finish_install(snapshot)
        self.snapshots.remove_before(snapshot.offset)
        self.log.compacted = self._compacted_of(snapshot)
        self.damage.clear()

    def roll(self, image: ProducerStateImage) -> None:
        """Begin a new segment, so that a snapshot can end there; return when that is on the disk.

        Args:
            image: the writers and transactions at the present end of the log.
        """
        assert image.end_offset == self.log.end_offset, f"tables at {image.end_offset}, log end {self.log.end_offset}"
        self.log.roll()
        self._producer_snapshots.pinned = image.end_offset
        self._producer_snapshots.write(image, last_segment=image.end_offset)

    @property
    def rolled_at(self) -> Offset | None:
        """Where the last `roll` was; None if the log was truncated below, or the directory was opened since."""
        end_offset = self._producer_snapshots.pinned
        if end_offset is None or end_offset not in self.log.segment_bases:
            return None
        return end_offset if self._producer_snapshots.at(end_offset) is not None else None

    def finish_snapshot(self, snapshot: OffsetAndEpoch) -> int:
        """Use a snapshot that was made from now on; return its size when that is on the disk."""
        self.snapshots.finish_made(snapshot)
        self._producer_snapshots.pinned = None
        return self.snapshots.size_bytes(snapshot)

    def delete_before(self, start: OffsetAndEpoch) -> None:
        """Remove the log before the end of a whole snapshot, and older snapshots; return when that is on the disk."""
        self.log.delete_before(start, self._compacted_of(start))
        self.snapshots.remove_before(start.offset)
        self.damage.delete_before(start.offset)

    def check(self, snapshot: OffsetAndEpoch | None, base_offsets: Sequence[Offset]) -> Generator[None, None, None]:
        """Read a snapshot, if it is still there, and segments from begin to end. It yields after each piece.

        Args:
            snapshot: the snapshot; None for none.
            base_offsets: of the segments; see `check_segments`.

        Raises:
            CorruptBatchError: while iterating, at the first damage.
        """
        if snapshot is not None and self.snapshots.has(snapshot):
            for _piece_bytes in self.snapshots.check(snapshot):
                yield
        yield from check_segments(self.log, base_offsets)

    def note_damage(self, error: CorruptBatchError) -> None:
        """Note what is damaged where a read of the log or of a snapshot has failed; see `damage_search.note_damage`."""
        for snapshot in self.snapshots.whole():
            if error.path == self.snapshots.path_of(snapshot):
                self.note_damaged_snapshot(snapshot, error)
                return
        note_damage(self.log, self.damage, error)

    def note_damaged_snapshot(self, snapshot: OffsetAndEpoch, error: CorruptBatchError) -> None:
        """Note that a whole snapshot is damaged."""
        size_bytes = self.snapshots.size_bytes(snapshot)
        self.damage.add(damaged_snapshot(self.snapshots.path_of(snapshot), snapshot.offset, size_bytes, error))

    def remove_needless_damaged_snapshots(self) -> None:
        """Remove damaged snapshots whose records the log still has; return when that is on the disk.

        A new one is made of the log, and of the snapshot before. The one at the start of the log stays (LOG-15).
        """
        for snapshot in self.snapshots.whole():
            parts = self.damage.of_file(self.snapshots.path_of(snapshot))
            if parts and snapshot.offset > self.log.start_offset:
                _logger.warning("%s is damaged, and removed: the log has its records", parts[0].path)
                self.snapshots.remove(snapshot)
                self.damage.discard(parts)

    def repair(self, batches: Sequence[Batch], source: NodeId) -> bool:
        """See `repair_batches`."""
        return repair_batches(self.log, self.damage, batches, source)

    def _compacted_of(self, snapshot: OffsetAndEpoch) -> CompactedRecords | None:
        return self.snapshots.compacted(snapshot) if self._serves_snapshot else None

    def close(self, producers: ProducerStateImage | None = None) -> None:
        """Flush and close the log, and release the lock.

        Args:
            producers: the writers and transactions at the highest offset that is known to be committed, so that the
                next start need not read the log for them; None if they are not known.

        Raises:
            StorageError: the disk returned an error; the lock is released nevertheless.
        """
        try:
            self.snapshots.close()
            last_segment = self.log.segment_bases[-1]
            self.log.close()
            if producers is not None and producers.end_offset <= self.log.end_offset:
                self._committed_offset = max(self._committed_offset, producers.end_offset)
                self._producer_snapshots.write(producers, last_segment=last_segment)
            self._high_watermark.advance(self._committed_offset)
        except DiskFullError as error:
            _logger.warning("%s; the next start reads more of the log", error)
        finally:
            self._recovery_point.close()
            self._lock.release()
