"""Opens the files of a node's directory in the right order, and completes what a crash interrupted.

Source: rules STATE-17, LOG-15, LOG-20 to LOG-22.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from raft.errors import ConfigError
from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.files import DirectoryLock, Files, join
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.log import Log
from raft.storage.log_config import LogConfig
from raft.storage.meta_properties import MetaProperties, claim_directory
from raft.storage.opened_log import Replay
from raft.storage.partition_metadata import PARTITION_METADATA_NAME, claim_partition
from raft.storage.producer_snapshots import ProducerSnapshots
from raft.storage.recovery import log_start, remove_log
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.storage.restore_mark import check_no_restore
from raft.storage.snapshots import MAKING_SUFFIX, PART_SUFFIX, SnapshotFolder
from raft.transactions import ProducerState, ProducerStateImage, SnapshotSummary
from raft.types import LOG_BEGIN, BatchHeader, LoggedVoters, NodeId, Offset, OffsetAndEpoch, Uuid

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

    @property
    def folder(self) -> str:
        """Name of the partition's folder."""
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDirectory:
    """The open files of a directory.

    Fields:
        lock: of the directory.
        owner: the node and the cluster that it belongs to.
        election_state_file, recovery_point, high_watermark, snapshots, producer_snapshots, log: its files.
        serves_snapshot: see `LogConfig`.
    """

    lock: DirectoryLock
    owner: MetaProperties
    election_state_file: ElectionStateFile
    recovery_point: RecoveryPoint
    high_watermark: HighWatermarkCheckpoint
    snapshots: SnapshotFolder
    producer_snapshots: ProducerSnapshots
    log: Log
    serves_snapshot: bool


def open_files(
    files: Files, identity: ReplicaIdentity, *, entropy: bytes, config: LogConfig, producers: ProducerState | None
) -> OpenedDirectory:
    """Lock a directory, check whose it is, and open its files; see `ReplicaDirectory.open`.

    Args:
        files: the log directory.
        identity: see `ReplicaDirectory.open`.
        entropy: see `ReplicaDirectory.open`.
        config: sizes of the log.
        producers: see `ReplicaDirectory.open`.

    Raises:
        ConfigError: see `ReplicaDirectory.open`.
        StorageError: see `ReplicaDirectory.open`.
    """
    files.make_directory("")
    lock = files.lock(LOCK_FILE_NAME)
    try:
        opening = _Opening(files, identity, config)
        try:
            return opening.run(lock, entropy, producers)
        except BaseException:
            opening.close()
            raise
    except BaseException:
        lock.release()
        raise


class _Opening:
    """The opening of one directory, which is locked."""

    def __init__(self, files: Files, identity: ReplicaIdentity, config: LogConfig) -> None:
        folder = identity.folder
        self._files = files
        self._identity = identity
        self._config = config
        self._folder = folder
        self._recovery_point = RecoveryPoint(
            files, join(folder, RECOVERY_POINT_NAME), topic=identity.topic, partition=identity.partition
        )
        self._high_watermark = HighWatermarkCheckpoint(
            files,
            join(folder, HIGH_WATERMARK_NAME),
            topic=identity.topic,
            partition=identity.partition,
            marked=self._recovery_point.committed,
        )
        self._snapshots = SnapshotFolder(files, folder)
        self._producer_snapshots = ProducerSnapshots(files, folder)
        self._was_voter = False

    def close(self) -> None:
        """Close what a failed `run` has left open."""
        self._recovery_point.close()

    def run(self, lock: DirectoryLock, entropy: bytes, producers: ProducerState | None) -> OpenedDirectory:
        files, identity, folder = self._files, self._identity, self._folder
        check_no_restore(files)
        owner = claim_directory(files, cluster_id=identity.cluster_id, node_id=identity.node_id, entropy=entropy)
        _check_no_other_log(files, folder)
        files.make_directory(folder)
        _remove_leftovers(files, ("", folder))
        claim_partition(files, join(folder, PARTITION_METADATA_NAME), identity.topic_id)
        election_state_file = ElectionStateFile(files, join(folder, ELECTION_STATE_NAME), voters=identity.voters)
        # This is read before the log, which may take long: a node that must not vote exits at once.
        election_state_file.read()
        self._was_voter = election_state_file.names_voter(identity.node_id)
        self._finish_install()
        return OpenedDirectory(
            lock=lock,
            owner=owner,
            election_state_file=election_state_file,
            recovery_point=self._recovery_point,
            high_watermark=self._high_watermark,
            snapshots=self._snapshots,
            producer_snapshots=self._producer_snapshots,
            log=self._open_log(producers),
            serves_snapshot=self._config.serves_snapshot,
        )

    def _finish_install(self) -> None:
        """Complete the installation of a snapshot that a crash interrupted (LOG-20)."""
        interrupted = self._snapshots.interrupted_install()
        if interrupted is not None:
            self._producer_snapshots.remove_all()
            self._high_watermark.retreat(Offset(0))
            remove_log(self._files, self._folder, self._recovery_point)
            self._snapshots.finish_install(interrupted)

    def _open_log(self, producers: ProducerState | None) -> Log:
        start = log_start(self._files, self._folder, self._snapshots.whole())
        summary = self._snapshots.summary(start) if start != LOG_BEGIN else None
        if summary is not None:
            self._check_voters(summary.logged_voters, f"in the snapshot at {summary.end}")
        log = self._read_log(summary, producers)
        self._producer_snapshots.remove_after(log.end_offset)
        if log.end_offset < self._high_watermark.offset:
            # The operator truncated the log, as the error of a refused start proposes: nothing else makes it end below
            # this offset. The producer snapshot may contain writes that are gone, so the log is read again.
            self._high_watermark.retreat(log.end_offset)
            if producers is not None:
                log.close()
                log = self._read_log(summary, producers)
        self._snapshots.remove_before(start.offset)
        newest = self._snapshots.newest()
        if newest is not None and newest.offset > log.end_offset:
            # The end of the log is gone, and the snapshot has what was there (LOG-15).
            self._restart(log, newest, producers)
        return log

    def _read_log(self, summary: SnapshotSummary | None, producers: ProducerState | None) -> Log:
        compacted = None
        if summary is not None and self._config.serves_snapshot:
            compacted = self._snapshots.compacted(summary.end)
        return Log.open(
            self._files,
            self._folder,
            self._config,
            self._recovery_point,
            self._replay(summary, producers),
            snapshot=summary,
            compacted=compacted,
        )

    def _replay(self, summary: SnapshotSummary | None, producers: ProducerState | None) -> Replay:
        """Return what fills the tables: a producer snapshot, or the snapshot of the log, and the batches after it."""
        start_offset = Offset(0) if summary is None else summary.end.offset

        def restore(at_most: Offset) -> ProducerStateImage | None:
            # A batch above the high watermark may be truncated, and tables restored from a snapshot cannot undo it.
            committed = max(self._high_watermark.offset, start_offset)
            image = self._producer_snapshots.newest(at_most=min(committed, at_most))
            if summary is not None and (image is None or image.end_offset < start_offset):
                image = summary.producers
            if producers is not None:
                if image is None:
                    producers.forget_everything()
                else:
                    producers.restore(image)
                producers.committed(self._high_watermark.offset)
            return image

        def add(header: BatchHeader) -> None:
            if producers is not None:
                producers.appended(header)

        def check_voters(header: BatchHeader) -> None:
            self._check_voters(header.logged_voters, f"at offset {header.base_offset}")

        # The log of an observer may name other voters, in segments that it has listed as trusted.
        reads_all = self._is_voter and not self._was_voter
        return Replay(restore=restore, on_batch=add, on_control=check_voters, reads_all=reads_all)

    @property
    def _is_voter(self) -> bool:
        return self._identity.node_id in self._identity.voters

    def _check_voters(self, logged: LoggedVoters | None, where: str) -> None:
        """Refuse to start a voter with a log that names other voters than its configuration (CONTROL-10).

        Raises:
            ConfigError: says which voters both name.
        """
        difference = logged.difference(self._identity.voters) if logged and self._is_voter else None
        if difference is not None:
            raise ConfigError(
                f"{self._files.path_of(self._folder)}: {difference}, {where}. A voter counts majorities by its "
                "configuration: set controller.quorum.voters of all voters to those of the log, or give this node "
                "an empty directory"
            )

    def _restart(self, log: Log, snapshot: OffsetAndEpoch, producers: ProducerState | None) -> None:
        """Let a log that ends before a snapshot begin there."""
        summary = self._snapshots.summary(snapshot)
        self._check_voters(summary.logged_voters, f"in the snapshot at {summary.end}")
        self._producer_snapshots.remove_all()
        log.restart_at(summary, self._snapshots.compacted(snapshot) if self._config.serves_snapshot else None)
        self._snapshots.remove_before(snapshot.offset)
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
