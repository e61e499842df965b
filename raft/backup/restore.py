"""Makes the directory of a node from a backup.

The quorum that the nodes form has a new cluster id. So what was remembered about the old one, such as the checkpoint of
a streaming query, is not taken for it: the offsets after the end of the backup have other records now.

While the files are written, `restore-unfinished` is in the directory. A node refuses to start there, and another
restore begins anew.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from raft.backup.archive import ArchiveReader
from raft.backup.manifest import Manifest
from raft.backup.verification import verify_backup
from raft.config import NodeConfig
from raft.errors import ConfigError, StorageError
from raft.storage.atomic_file import replace_file
from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.disk import DiskFiles
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.files import File, join
from raft.storage.meta_properties import META_PROPERTIES_NAME, claim_directory
from raft.storage.partition_metadata import PARTITION_METADATA_NAME, claim_partition
from raft.storage.restore_mark import RESTORE_MARK_NAME
from raft.types import CleanupPolicy, ElectionState, Epoch
from raft.uuids import UUID_BYTES, new_uuid

_NO_DATA = frozenset([LOCK_FILE_NAME, "lost+found", f"{RESTORE_MARK_NAME}.tmp"])
"""Names that an empty directory may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A node that was restored: the cluster id that it has now, and the backup."""

    cluster_id: str
    manifest: Manifest


def restore_backup(path: Path, config: NodeConfig, *, cluster_id: str | None = None) -> Restored:
    """Make the log directory of a node, and return when it is on the disk.

    Args:
        path: the backup.
        config: of the node, whose directory must be empty.
        cluster_id: of the restored quorum, for its second and each further node; None takes that of the configuration,
            or a new one.

    Raises:
        ConfigError: the directory is not empty or in use; the cluster id is that of the backup, or contradicts the
            configuration; the configuration has another topic, or a cleanup policy that does not fit.
        StorageError: the backup is damaged, or the disk returned an error.
    """
    manifest = verify_backup(path)
    _check_fits(manifest, config)
    new_id = _cluster_id(manifest, config, cluster_id)
    files = DiskFiles(config.log_dir)
    files.make_directory("")
    lock = files.lock(LOCK_FILE_NAME)
    try:
        partition = f"{config.topic_name}-0"
        _empty(files, partition)
        replace_file(files, RESTORE_MARK_NAME, b"")
        files.make_directory(partition)
        _write_members(path, manifest, files, partition)
        claim_partition(files, join(partition, PARTITION_METADATA_NAME), config.topic_id)
        # A log without this file is refused, because its votes are forgotten. In the new cluster there were none yet.
        voters = tuple(config.voters)
        election_state = ElectionStateFile(files, join(partition, ELECTION_STATE_NAME), voters=voters)
        election_state.write(ElectionState(epoch=Epoch(0)))
        claim_directory(files, cluster_id=new_id, node_id=config.node_id, entropy=secrets.token_bytes(UUID_BYTES))
        files.sync_directory(partition)
        files.sync_directory("")
        files.remove(RESTORE_MARK_NAME)
        files.sync_directory("")
    finally:
        lock.release()
    return Restored(cluster_id=new_id, manifest=manifest)


def _check_fits(manifest: Manifest, config: NodeConfig) -> None:
    if (manifest.topic, manifest.topic_id) != (config.topic_name, config.topic_id):
        raise ConfigError(
            f"raft.topic.name={config.topic_name} and raft.topic.id={config.topic_id}: expected {manifest.topic} and "
            f"{manifest.topic_id}, as in the backup"
        )
    if manifest.cleanup_policy is not None and manifest.cleanup_policy != config.cleanup_policy.value:
        raise ConfigError(
            f"cleanup.policy={config.cleanup_policy.value}: expected {manifest.cleanup_policy}, because the "
            "snapshot in the backup holds records, which no reader would see otherwise"
        )
    has_snapshot = manifest.members[0].name.endswith(".checkpoint")
    if has_snapshot and manifest.cleanup_policy is None and config.cleanup_policy is CleanupPolicy.NONE:
        raise ConfigError(
            "cleanup.policy=none: expected delete or compact, because the backup has a snapshot in place of old records"
        )


def _cluster_id(manifest: Manifest, config: NodeConfig, given: str | None) -> str:
    if given is not None and config.cluster_id not in (None, given):
        raise ConfigError(f"--cluster-id {given}: expected cluster.id={config.cluster_id} as configured")
    chosen = given or config.cluster_id or new_uuid(secrets.token_bytes(UUID_BYTES))
    if chosen == manifest.cluster_id:
        where = "--cluster-id" if given is not None else "cluster.id"
        raise ConfigError(
            f"{where}={chosen}: expected another cluster id than that of the backup, so that old checkpoints of "
            "readers are refused; without the key, a new one is made"
        )
    return chosen


def _empty(files: DiskFiles, partition: str) -> None:
    """Check that a directory is empty, and remove what an interrupted restore left there.

    Raises:
        ConfigError: it has other files; names the first one.
    """
    names = files.names_in("")
    own = {RESTORE_MARK_NAME, META_PROPERTIES_NAME, f"{META_PROPERTIES_NAME}.tmp", partition}
    allowed = _NO_DATA | own if RESTORE_MARK_NAME in names else _NO_DATA
    others = [name for name in names if name not in allowed]
    if others:
        raise ConfigError(f"log.dirs={files.path_of('')} is not empty, it has {others[0]}: expected an empty directory")
    if RESTORE_MARK_NAME in names:
        for name in names:
            if name in (META_PROPERTIES_NAME, f"{META_PROPERTIES_NAME}.tmp"):
                files.remove(name)
        if partition in names:
            for name in files.names_in(partition):
                files.remove(join(partition, name))


def _write_members(path: Path, manifest: Manifest, files: DiskFiles, partition: str) -> None:
    """Write the files of the log. Their SHA-256 is compared again, because the backup is read a second time."""
    expected = {member.name: member.sha256 for member in manifest.members}
    with ArchiveReader(path) as archive:
        for name, _size, pieces in archive.members():
            if name not in expected:
                raise StorageError(f"{path} was changed while it was restored: it has member {name}")
            digest = sha256()
            file: File = files.create(join(partition, name))
            try:
                for piece in pieces:
                    digest.update(piece)
                    file.append(piece)
                file.flush()
            finally:
                file.close()
            if digest.hexdigest() != expected.pop(name):
                raise StorageError(f"{path} was changed while it was restored: member {name} has other bytes")
    if expected:
        raise StorageError(f"{path} was changed while it was restored: member {next(iter(expected))} is missing")
