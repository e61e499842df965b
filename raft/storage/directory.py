"""The directory of a node: its files, opened in the right order.

    <log dir>/.lock
              meta.properties
              <topic>-<partition>/partition.metadata
                                  quorum-state
                                  recovery-point-offset-checkpoint
                                  replication-offset-checkpoint
                                  leader-epoch-checkpoint
                                  00000000000000000000.log .index .timeindex ...
                                  <end offset>.snapshot
                                  <end offset>-<epoch>.checkpoint

Source: rule STATE-17; Kafka KafkaRaftManager.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from raft.errors import ConfigError
from raft.storage.compacted_records import CompactedRecords
from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.files import DirectoryLock, Files, join
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.log import Log, LogConfig
from raft.storage.meta_properties import MetaProperties, claim_directory
from raft.storage.partition_metadata import PARTITION_METADATA_NAME, claim_partition
from raft.storage.producer_snapshots import ProducerSnapshots
from raft.storage.recovery import log_start, remove_log
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.storage.restore_mark import check_no_restore
from raft.storage.snapshots import MAKING_SUFFIX, PART_SUFFIX, SnapshotFolder
from raft.transactions import AbortedTransaction, ProducerState, ProducerStateImage, SnapshotSummary
from raft.types import LOG_BEGIN, Batch, BatchHeader, ElectionState, NodeId, Offset, OffsetAndEpoch, Uuid

_PARTITION_FOLDER = re.compile(r".+-[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaIdentity:
    """The node, cluster and topic that a directory must belong to.

    Fields:
        topic, partition, topic_id: of the log in it.
        node_id: the node.
        cluster_id: the cluster; None takes the one in the directory, at the first start the zero uuid.
        voters: ids of the static voters.
    """

    topic: str
    topic_id: Uuid
    node_id: NodeId
    partition: int = 0
    cluster_id: str | None = None
    voters: tuple[NodeId, ...] = ()


class ReplicaDirectory:
    """The directory of a node, locked and open; `open` opens one.

    Attributes:
        log: the log.
        snapshots: the snapshots.
        election_state: the state on the disk: as it was when the directory was opened, or as it was stored last.
    """

    def __init__(
        self,
        *,
        files: Files,
        lock: DirectoryLock,
        owner: MetaProperties,
        election_state_file: ElectionStateFile,
        recovery_point: RecoveryPoint,
        high_watermark: HighWatermarkCheckpoint,
        snapshots: SnapshotFolder,
        producer_snapshots: ProducerSnapshots,
        log: Log,
        serves_snapshot: bool,
    ) -> None:
        self._files = files
        self._lock = lock
        self._owner = owner
        self._election_state_file = election_state_file
        self._recovery_point = recovery_point
        self._high_watermark = high_watermark
        self._committed_offset = high_watermark.offset
        self.snapshots = snapshots
        self._producer_snapshots = producer_snapshots
        self._serves_snapshot = serves_snapshot
        self.log = log
        self.election_state = election_state_file.read()

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
            producers: empty tables; they are filled from the newest producer snapshot and the batches behind that.

        Raises:
            ConfigError: the directory is in use, or belongs to another node, cluster or topic.
            StorageError: a file is unreadable or damaged, or the disk returned an error; a CorruptBatchError names the
                batch.
        """
        files.make_directory("")
        lock = files.lock(LOCK_FILE_NAME)
        try:
            check_no_restore(files)
            owner = claim_directory(files, cluster_id=identity.cluster_id, node_id=identity.node_id, entropy=entropy)
            partition = f"{identity.topic}-{identity.partition}"
            _check_no_other_log(files, partition)
            files.make_directory(partition)
            _remove_leftovers(files, ("", partition))
            claim_partition(files, join(partition, PARTITION_METADATA_NAME), identity.topic_id)
            election_state_file = ElectionStateFile(files, join(partition, ELECTION_STATE_NAME), voters=identity.voters)
            # This is read before the log, which may take long: a node that must not vote exits at once.
            election_state_file.read()
            recovery_point = RecoveryPoint(
                files, join(partition, RECOVERY_POINT_NAME), topic=identity.topic, partition=identity.partition
            )
            high_watermark = HighWatermarkCheckpoint(
                files, join(partition, HIGH_WATERMARK_NAME), topic=identity.topic, partition=identity.partition
            )
            snapshots = SnapshotFolder(files, partition)
            producer_snapshots = ProducerSnapshots(files, partition)
            interrupted = snapshots.interrupted_install()
            if interrupted is not None:
                producer_snapshots.remove_all()
                high_watermark.retreat(Offset(0))
                remove_log(files, partition, recovery_point)
                snapshots.finish_install(interrupted)
            log_config = config or LogConfig()
            start = log_start(files, partition, snapshots.whole())
            summary = snapshots.summary(start) if start != LOG_BEGIN else None
            compacted = snapshots.compacted(start) if start != LOG_BEGIN and log_config.serves_snapshot else None

            def open_log() -> Log:
                on_batch = None
                if producers is not None:
                    # A batch above may be truncated, and tables restored from a snapshot cannot undo that batch.
                    image = producer_snapshots.newest(at_most=max(high_watermark.offset, start.offset))
                    if summary is not None and (image is None or image.end_offset < start.offset):
                        image = summary.producers
                    on_batch = _filled(producers, image)
                    producers.committed(high_watermark.offset)
                return Log.open(
                    files, partition, log_config, recovery_point, on_batch, snapshot=summary, compacted=compacted
                )

            log = open_log()
            producer_snapshots.remove_after(log.end_offset)
            if log.end_offset < high_watermark.offset:
                # The operator truncated the log, as the error of a refused start proposes: nothing else makes it end
                # below this offset. The snapshot may contain writes that are gone, so the log is read again.
                high_watermark.retreat(log.end_offset)
                if producers is not None:
                    log.close()
                    log = open_log()
            snapshots.remove_before(start.offset)
            newest = snapshots.newest()
            if newest is not None and newest.offset > log.end_offset:
                # The end of the log is gone, and the snapshot has what was there (LOG-15).
                _restart(log, newest, snapshots, producers, producer_snapshots, serves=log_config.serves_snapshot)
            return cls(
                files=files,
                lock=lock,
                owner=owner,
                election_state_file=election_state_file,
                recovery_point=recovery_point,
                high_watermark=high_watermark,
                snapshots=snapshots,
                producer_snapshots=producer_snapshots,
                log=log,
                serves_snapshot=log_config.serves_snapshot,
            )
        except BaseException:
            lock.release()
            raise

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

    def keep_in_page_cache(self, is_kept: bool) -> None:
        """See `Files.keep_in_page_cache`."""
        self._files.keep_in_page_cache(is_kept)

    def free_bytes(self) -> int:
        """See `Files.free_bytes`."""
        return self._files.free_bytes()

    def flush(self) -> Offset:
        """See `Log.flush`."""
        return self.log.flush()

    def write_checkpoints(self) -> bool:
        """Write the recovery point and the high watermark to their checkpoints, and return when they are on the disk.

        It may run on the thread that flushes, but not while the log is truncated or closed.

        Returns:
            Whether all flushed records are committed; if not, another call is due soon.
        """
        durable_offset = self.log.durable_end_offset
        self._recovery_point.advance(durable_offset)
        self._high_watermark.advance(self._committed_offset)
        return self._committed_offset >= durable_offset

    def append(self, batches: Sequence[Batch], aborted: Sequence[AbortedTransaction] = ()) -> bool:
        """Append batches to the log; return whether a new segment was begun: then a producer snapshot is due.

        Args:
            batches: see `Log.append`.
            aborted: see `Log.append`.
        """
        segment_count = self.log.segment_count
        self.log.append(batches, aborted)
        return self.log.segment_count > segment_count

    def truncate(self, end_offset: Offset) -> None:
        """Truncate the log; see `Log.truncate`. Producer snapshots of the removed offsets are removed before."""
        self._producer_snapshots.remove_after(end_offset)
        self.log.truncate(end_offset)

    def write_producer_snapshot(self, image: ProducerStateImage) -> None:
        """Store the writers and transactions, and return when they are on the disk.

        Args:
            image: the tables at an end of the log that is reached now, or when the ordered appends are done.
        """
        self._producer_snapshots.write(image)

    def store_snapshot_piece(self, snapshot: OffsetAndEpoch, position: int, piece: bytes) -> None:
        """See `SnapshotFolder.store_piece`."""
        self.snapshots.store_piece(snapshot, position, piece)

    def check_snapshot(self, snapshot: OffsetAndEpoch) -> SnapshotSummary | None:
        """See `SnapshotFolder.check_part`."""
        contents = self.snapshots.check_part(snapshot)
        if contents is None or self._serves_snapshot:
            return contents
        return replace(contents, first_offset=None)

    def install_snapshot(self, contents: SnapshotSummary) -> None:
        """Replace the log by a snapshot that was checked, and return when that is on the disk."""
        snapshot = contents.end
        self.snapshots.begin_install(snapshot)
        self._producer_snapshots.remove_all()
        self.log.restart_at(contents)
        self.snapshots.finish_install(snapshot)
        self.snapshots.remove_before(snapshot.offset)
        self.log.compacted = self._compacted_of(snapshot)

    def roll(self, image: ProducerStateImage) -> None:
        """Begin a new segment, so that a snapshot can end there; return when that is on the disk.

        Args:
            image: the writers and transactions at the present end of the log.
        """
        assert image.end_offset == self.log.end_offset, f"tables at {image.end_offset}, log end {self.log.end_offset}"
        self.log.roll()
        self._producer_snapshots.pinned = image.end_offset
        self._producer_snapshots.write(image)

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

    def cut(self, start: OffsetAndEpoch) -> None:
        """Remove the log before the end of a whole snapshot, and older snapshots; return when that is on the disk."""
        self.log.cut(start, self._compacted_of(start))
        self.snapshots.remove_before(start.offset)

    def _compacted_of(self, snapshot: OffsetAndEpoch) -> CompactedRecords | None:
        return self.snapshots.compacted(snapshot) if self._serves_snapshot else None

    def close(self) -> None:
        """Flush and close the log, and release the lock.

        Raises:
            StorageError: the disk returned an error; the lock is released nevertheless.
        """
        try:
            self.snapshots.close()
            self.log.close()
            self._high_watermark.advance(self._committed_offset)
        finally:
            self._lock.release()


def _filled(producers: ProducerState, image: ProducerStateImage | None) -> Callable[[BatchHeader], None]:
    """Reset the tables to a snapshot, or to empty; return the function that adds the batches behind it."""
    end_offset = Offset(0)
    if image is None:
        producers.forget_everything()
    else:
        producers.restore(image)
        end_offset = image.end_offset

    def add(header: BatchHeader) -> None:
        if header.base_offset >= end_offset:
            producers.appended(header)

    return add


def _restart(
    log: Log,
    snapshot: OffsetAndEpoch,
    snapshots: SnapshotFolder,
    producers: ProducerState | None,
    producer_snapshots: ProducerSnapshots,
    *,
    serves: bool,
) -> None:
    """Let a log that ends before a snapshot begin there."""
    summary = snapshots.summary(snapshot)
    producer_snapshots.remove_all()
    log.restart_at(summary, snapshots.compacted(snapshot) if serves else None)
    snapshots.remove_before(snapshot.offset)
    if producers is not None:
        producers.restore(summary.producers)


def _check_no_other_log(files: Files, partition: str) -> None:
    """Refuse to create an empty log beside the log of another topic, whose records would be ignored silently.

    A directory that has both logs already is opened as configured.

    Raises:
        ConfigError: names both folders.
    """
    if _is_used(files, partition):
        return
    for name in files.names_in(""):
        if _PARTITION_FOLDER.fullmatch(name) and _is_used(files, name):
            topic = name.rpartition("-")[0]
            raise ConfigError(
                f"{files.path_of('')} has the log {name}, expected {partition} as configured: set "
                f"raft.topic.name={topic}, or give the node another directory for an empty log"
            )


def _is_used(files: Files, folder: str) -> bool:
    return any(files.exists(join(folder, name)) for name in (PARTITION_METADATA_NAME, ELECTION_STATE_NAME))


def _remove_leftovers(files: Files, directories: Sequence[str]) -> None:
    """Remove the temporary files that a crash left."""
    for directory in directories:
        for name in files.names_in(directory):
            if name.endswith((".tmp", PART_SUFFIX, MAKING_SUFFIX)):
                files.remove(join(directory, name))
