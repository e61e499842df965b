"""Everything a node keeps, opened in the right order.

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
from dataclasses import dataclass
from typing import Self

from raft.errors import ConfigError
from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.files import DirectoryLock, Files, join
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.log import Log, LogConfig
from raft.storage.meta_properties import MetaProperties, claim_directory
from raft.storage.partition_metadata import PARTITION_METADATA_NAME, claim_partition
from raft.storage.producer_snapshots import ProducerSnapshots
from raft.storage.recovery import remove_log
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.storage.snapshots import PART_SUFFIX, SnapshotFolder
from raft.types import LOG_BEGIN, Batch, BatchHeader, ElectionState, NodeId, Offset, OffsetAndEpoch, Uuid
from raft.writers import TableImage, WriterTable

_PARTITION_FOLDER = re.compile(r".+-[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaIdentity:
    """What a directory must be of.

    Fields:
        topic, partition, topic_id: whose log it holds.
        node_id: the node it belongs to.
        cluster_id: the cluster it belongs to; None takes what the directory says, at the first start the zero uuid.
        voters: ids of the static voters.
    """

    topic: str
    topic_id: Uuid
    node_id: NodeId
    partition: int = 0
    cluster_id: str | None = None
    voters: tuple[NodeId, ...] = ()


class ReplicaDirectory:
    """A node's directory, locked and open; `open` makes one.

    Attributes:
        log: the log.
        election_state: what was on the disk when the directory was opened, or what was stored last.
    """

    def __init__(
        self,
        *,
        lock: DirectoryLock,
        owner: MetaProperties,
        election_state_file: ElectionStateFile,
        recovery_point: RecoveryPoint,
        high_watermark: HighWatermarkCheckpoint,
        snapshots: SnapshotFolder,
        producer_snapshots: ProducerSnapshots,
        log: Log,
    ) -> None:
        self._lock = lock
        self._owner = owner
        self._election_state_file = election_state_file
        self._recovery_point = recovery_point
        self._high_watermark = high_watermark
        self._committed_offset = high_watermark.offset
        self._snapshots = snapshots
        self._producer_snapshots = producer_snapshots
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
        writers: WriterTable | None = None,
    ) -> Self:
        """Lock the directory, make sure that it is ours, and open what is in it; a new one is made ours.

        Args:
            files: the log directory; it is made where it is missing.
            identity: what it must be of.
            entropy: 16 random bytes, for the id of a directory that has none yet.
            config: sizes of the log; None takes the usual ones.
            writers: empty; made the table of this log, from the newest producer snapshot and the batches behind it.

        Raises:
            ConfigError: the directory is in use, or belongs to another node, cluster or topic.
            StorageError: a file is unreadable or damaged, or the disk refused; a CorruptBatchError names the batch.
        """
        files.make_directory("")
        lock = files.lock(LOCK_FILE_NAME)
        try:
            owner = claim_directory(files, cluster_id=identity.cluster_id, node_id=identity.node_id, entropy=entropy)
            partition = f"{identity.topic}-{identity.partition}"
            _check_no_other_log(files, partition)
            files.make_directory(partition)
            _remove_leftovers(files, ("", partition))
            claim_partition(files, join(partition, PARTITION_METADATA_NAME), identity.topic_id)
            election_state_file = ElectionStateFile(files, join(partition, ELECTION_STATE_NAME), voters=identity.voters)
            # Before the log, whose walk may be long: a node that must not vote should say so at once.
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
            start = snapshots.latest() or LOG_BEGIN

            def open_log() -> Log:
                on_batch = None
                if writers is not None:
                    # A batch above may be cut off, and a snapshot that counts it in cannot undo it.
                    on_batch = _filled(writers, producer_snapshots.newest(at_most=high_watermark.offset))
                    writers.committed(high_watermark.offset)
                return Log.open(files, partition, config or LogConfig(), recovery_point, on_batch, start=start)

            log = open_log()
            producer_snapshots.remove_after(log.end_offset)
            if log.end_offset < high_watermark.offset:
                # An operator may have cut the log's end off, as a refused start says; nothing else brings it below. The
                # snapshot may have counted in what was cut.
                high_watermark.retreat(log.end_offset)
                if writers is not None:
                    log.close()
                    log = open_log()
            snapshots.remove_before(start.offset)
            return cls(
                lock=lock,
                owner=owner,
                election_state_file=election_state_file,
                recovery_point=recovery_point,
                high_watermark=high_watermark,
                snapshots=snapshots,
                producer_snapshots=producer_snapshots,
                log=log,
            )
        except BaseException:
            lock.release()
            raise

    @property
    def cluster_id(self) -> str:
        """The cluster that the directory belongs to."""
        return self._owner.cluster_id

    @property
    def directory_id(self) -> Uuid:
        """Id of this directory; a new disk gets a new one."""
        return self._owner.directory_id

    @property
    def committed_offset(self) -> Offset:
        """Everything below is committed and on this disk, as far as is known: the core's word, or the last start's."""
        return self._committed_offset

    def note_committed(self, offset: Offset) -> None:
        """Take note of what is committed and on this disk; the next checkpoint says so.

        Args:
            offset: `RaftCore.durable_high_watermark`. It cannot go down, except where a snapshot replaces the log.
        """
        self._committed_offset = max(self._committed_offset, offset)

    def store_election_state(self, state: ElectionState, *, kraft_version: int = 0) -> None:
        """Return when the state is on the disk; see `ElectionStateFile.write`."""
        self._election_state_file.write(state, kraft_version=kraft_version)
        self.election_state = state

    def flush(self) -> Offset:
        """See `Log.flush`."""
        return self.log.flush()

    def write_checkpoints(self) -> bool:
        """Return when the disk says what of the log is known to be flushed and to be committed.

        Like a flush it may run on another thread, but not while the log is truncated or closed.

        Returns:
            Whether all that is flushed is committed too; if not, there will be more to say soon.
        """
        durable_offset = self.log.durable_end_offset
        self._recovery_point.advance(durable_offset)
        self._high_watermark.advance(self._committed_offset)
        return self._committed_offset >= durable_offset

    def append(self, batches: Sequence[Batch]) -> bool:
        """Append to the log; return whether a segment was begun, so that a producer snapshot is due."""
        segment_count = self.log.segment_count
        self.log.append(batches)
        return self.log.segment_count > segment_count

    def truncate(self, end_offset: Offset) -> None:
        """See `Log.truncate`. Producer snapshots that count what is cut go first: the offsets will be written again."""
        self._producer_snapshots.remove_after(end_offset)
        self.log.truncate(end_offset)

    def write_producer_snapshot(self, image: TableImage) -> None:
        """Return when the table of writers, as it is at one end of the log, is on the disk.

        Args:
            image: of the log as it is or will be once the appends that were ordered are done.
        """
        self._producer_snapshots.write(image)

    def store_snapshot_piece(self, snapshot: OffsetAndEpoch, position: int, piece: bytes) -> None:
        """See `SnapshotFolder.store_piece`."""
        self._snapshots.store_piece(snapshot, position, piece)

    def install_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Return when a snapshot, all of which was stored, stands on the disk in the place of the log."""
        self._snapshots.begin_install(snapshot)
        self._producer_snapshots.remove_all()
        self.log.restart_at(snapshot)
        self._snapshots.finish_install(snapshot)
        self._snapshots.remove_before(snapshot.offset)

    def close(self) -> None:
        """Flush and close the log, and give the lock back.

        Raises:
            StorageError: the disk refused; the lock is given back all the same.
        """
        try:
            self._snapshots.close()
            self.log.close()
            self._high_watermark.advance(self._committed_offset)
        finally:
            self._lock.release()


def _filled(writers: WriterTable, image: TableImage | None) -> Callable[[BatchHeader], None]:
    """Begin a table anew, with a snapshot if there is one; return what counts in the batches behind it."""
    if image is None:
        writers.forget_everything()
        return writers.appended
    writers.restore(image)

    def count_in(header: BatchHeader) -> None:
        if header.base_offset >= image.end_offset:
            writers.appended(header)

    return count_in


def _check_no_other_log(files: Files, partition: str) -> None:
    """Refuse to begin an empty log beside the log of another topic: its records would silently be out of sight.

    A directory that holds both logs already is opened as configured.

    Raises:
        ConfigError: names both folders.
    """
    if _is_used(files, partition):
        return
    for name in files.names_in(""):
        if _PARTITION_FOLDER.fullmatch(name) and _is_used(files, name):
            topic = name.rpartition("-")[0]
            raise ConfigError(
                f"{files.path_of('')} holds the log {name}; the configuration says {partition}, for which an empty log "
                f"would be started beside it: set raft.topic.name={topic}, or give the node another directory"
            )


def _is_used(files: Files, folder: str) -> bool:
    return any(files.exists(join(folder, name)) for name in (PARTITION_METADATA_NAME, ELECTION_STATE_NAME))


def _remove_leftovers(files: Files, directories: Sequence[str]) -> None:
    """Take away what a crash left of files that were being replaced."""
    for directory in directories:
        for name in files.names_in(directory):
            if name.endswith((".tmp", PART_SUFFIX)):
                files.remove(join(directory, name))
