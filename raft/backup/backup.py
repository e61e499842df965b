"""Takes a backup: copies the log of a quorum, as an observer would, to a file.

What was committed when the backup began is in it. If the leader's log begins above offset 0, its snapshot stands for
the part before. The leader may be replaced meanwhile: the committed log is the same everywhere. A snapshot is not, and
a leader may remove what was not copied yet; then the backup begins anew.
"""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from raft import defaults
from raft.backup.archive import ArchiveWriter, refusals
from raft.backup.checks import BackupCheck, segment_name, snapshot_name
from raft.backup.manifest import Manifest
from raft.backup.verification import verify_backup
from raft.client import Client
from raft.client.discovery import LeaderNode, Software
from raft.client.replication import replicate, replicate_snapshot
from raft.client.session import Deadline, Session
from raft.client.steps import Operation
from raft.errors import ConfigError, DecodeError, RaftError, SnapshotNotFoundError
from raft.records.batches import read_batches
from raft.types import LOG_BEGIN, Epoch, NodeId, Offset, OffsetAndEpoch

_logger = logging.getLogger(__name__)

_BEYOND_EVERY_LOG = OffsetAndEpoch(offset=Offset(1 << 60), epoch=Epoch(0))
"""A fetch from here gets no records: the leader names its snapshot if the log begins above offset 0, else the end of
epoch 0."""

_FETCH_BYTES = 4 << 20
_MOST_ATTEMPTS = 10
_FIRST_REPLICA_ID = 1 << 30
"""No node of a quorum has such an id."""


class _BeginAnewError(RaftError):
    """What was copied so far does not fit to what the leader has now."""


def take_backup(client: Client, path: Path, *, segment_bytes: int = defaults.SEGMENT_BYTES) -> Manifest:
    """Copy the log of a quorum to a new file, and return when it is verified and on the disk.

    Args:
        client: of the quorum.
        path: the file, which must not exist. It is written under the same name with `.part` after it.
        segment_bytes: size of the segments in it.

    Raises:
        ConfigError: the file exists, or the quorum is one of Apache Kafka.
        QuorumUnavailableError: no response of a leader in time.
        StorageError: the disk returned an error, or what was written is not what is read back.
        RaftError: the log is changed too often meanwhile.
    """
    if path.exists():
        raise ConfigError(f"{path} exists: expected the name of a new file")
    part = path.with_name(f"{path.name}.part")
    try:
        _copy(client, part, segment_bytes)
        manifest = verify_backup(part)
        with refusals("rename", part):
            part.rename(path)
            descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    return manifest


def _copy(client: Client, part: Path, segment_bytes: int) -> None:
    for attempt in range(1, _MOST_ATTEMPTS + 1):
        try:
            with ArchiveWriter(part) as archive:
                _Copy(client, archive, segment_bytes).run()
        except _BeginAnewError as error:
            if attempt == _MOST_ATTEMPTS:
                raise
            _logger.warning("the backup begins anew: %s", error)
        else:
            return


def _find_leader(session: Session, deadline: Deadline) -> Operation[tuple[LeaderNode, int]]:
    return session.find_leader(deadline, deadline.started_ms)


class _Copy:
    """One attempt.

    Args:
        client: of the quorum.
        archive: gets the files.
        segment_bytes: size of the segments.
    """

    def __init__(self, client: Client, archive: ArchiveWriter, segment_bytes: int) -> None:
        self._client = client
        self._archive = archive
        self._segment_bytes = segment_bytes
        self._replica_id = NodeId(_FIRST_REPLICA_ID + secrets.randbelow(_FIRST_REPLICA_ID))

    def run(self) -> None:
        """Copy the log."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        leader, _ = self._client.call(_find_leader)
        if leader.software is not Software.KRAFT_SPARK:
            raise ConfigError(f"cluster {self._client.cluster_id} is an Apache Kafka cluster, which is not backed up")
        # The leader confirms that it leads. So its high watermark includes all that was acknowledged before.
        self._client.last_stable_offset()
        begin = self._client.call(replicate, replica_id=self._replica_id, start=_BEYOND_EVERY_LOG, max_bytes=1)
        start, cleanup_policy = LOG_BEGIN, None
        if begin.snapshot is not None:
            start = begin.snapshot
            cleanup_policy = "compact" if self._copy_snapshot(start) else None
        end = self._copy_log(start, begin.high_watermark)
        self._archive.finish(
            Manifest(
                cluster_id=self._client.cluster_id or "",
                topic=leader.topic.name,
                topic_id=leader.topic.topic_id,
                cleanup_policy=cleanup_policy,
                first_offset=start.offset,
                end_offset=end.offset,
                end_epoch=end.epoch,
                time=time,
                members=self._archive.members,
            )
        )

    def _copy_snapshot(self, snapshot: OffsetAndEpoch) -> bool:
        """Copy a snapshot; return whether it holds records."""
        name, epoch, position, size_bytes = snapshot_name(snapshot), self._client.epoch, 0, 1
        check = BackupCheck()
        self._archive.begin(name)
        while position < size_bytes:
            try:
                loaded = self._client.call(
                    replicate_snapshot,
                    replica_id=self._replica_id,
                    snapshot=snapshot,
                    position=position,
                    max_bytes=_FETCH_BYTES,
                )
            except SnapshotNotFoundError as error:
                raise _BeginAnewError(f"the leader has snapshot {name} no longer") from error
            if self._client.epoch != epoch:
                # Its snapshot of the same name may have other bytes.
                raise _BeginAnewError(f"another node leads, in epoch {self._client.epoch}")
            if position == 0:
                size_bytes = loaded.size_bytes
                check.begin(name, size_bytes)
            if not loaded.piece:
                raise _BeginAnewError(f"snapshot {name} ends at byte {position}, expected {size_bytes}")
            try:
                check.feed(loaded.piece)
            except DecodeError as error:
                raise _damage(name, check.position, error) from error
            self._archive.write(loaded.piece)
            position += len(loaded.piece)
        self._archive.end()
        try:
            check.finish()
        except DecodeError as error:
            raise _damage(name, check.position, error) from error
        return check.has_compacted_records

    def _copy_log(self, start: OffsetAndEpoch, end_offset: Offset) -> OffsetAndEpoch:
        """Copy the batches from a place up to an offset that is committed; return where they end."""
        self._archive.begin(segment_name(start.offset))
        position = start
        while position.offset < end_offset:
            copied = self._client.call(replicate, replica_id=self._replica_id, start=position, max_bytes=_FETCH_BYTES)
            if copied.snapshot is not None:
                raise _BeginAnewError(f"the leader's log begins behind offset {position.offset} now")
            if copied.is_diverging:
                raise RaftError(
                    f"the leader's log differs from what was copied up to offset {position.offset}, which was "
                    "committed: the log was replaced or has lost records"
                )
            before = position
            try:
                for batch in read_batches(copied.records):
                    header = batch.header
                    if header.end_offset > end_offset:
                        break
                    if self._archive.member_bytes + header.size_bytes > self._segment_bytes:
                        self._begin_segment(header.base_offset)
                    self._archive.write(batch.payload)
                    position = OffsetAndEpoch(offset=header.end_offset, epoch=header.epoch)
            except DecodeError as error:
                raise RaftError(
                    f"the leader sent a damaged batch at offset {position.offset}: {error}; 'kraft dump-log' of its "
                    "log says more"
                ) from error
            if position == before:
                raise _BeginAnewError(f"the leader sent no records from offset {position.offset} on")
        self._archive.end()
        return position

    def _begin_segment(self, base_offset: Offset) -> None:
        # A batch that is larger than a segment is a segment by itself.
        if self._archive.member_bytes:
            self._archive.end()
            self._archive.begin(segment_name(base_offset))


def _damage(name: str, position: int, error: DecodeError) -> RaftError:
    return RaftError(f"the leader's snapshot {name} is damaged at byte {position}: {error}")
