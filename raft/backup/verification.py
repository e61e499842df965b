"""Checks a backup by itself: sizes, SHA-256, checksums of batches, and offsets without gaps."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from raft.backup.archive import ArchiveReader
from raft.backup.checks import BackupCheck
from raft.backup.manifest import Manifest, Member
from raft.errors import DecodeError, StorageError


def verify_backup(path: Path) -> Manifest:
    """Read a backup from its begin to its end; return what it is.

    Raises:
        StorageError: it is damaged or incomplete; names the member, and the byte in it where that is known.
    """
    with ArchiveReader(path) as archive:
        check, found = BackupCheck(), []
        for name, size, pieces in archive.members():
            digest = sha256()
            try:
                check.begin(name, size)
                for piece in pieces:
                    digest.update(piece)
                    check.feed(piece)
                check.finish()
            except DecodeError as error:
                raise StorageError(f"{path}: member {name} is damaged at byte {check.position}: {error}") from error
            found.append(Member(name=name, size=size, sha256=digest.hexdigest()))
        manifest = archive.manifest()
    for member, expected in zip(found, manifest.members, strict=False):
        if member != expected:
            raise StorageError(
                f"{path}: member {member.name} has {member.size} bytes with SHA-256 {member.sha256}, expected "
                f"{expected.name} with {expected.size} bytes and SHA-256 {expected.sha256}"
            )
    if len(found) != len(manifest.members):
        raise StorageError(f"{path} has {len(found)} files of the log, expected {len(manifest.members)}")
    if (check.end.offset, check.end.epoch) != (manifest.end_offset, manifest.end_epoch):
        raise StorageError(
            f"{path} ends at offset {check.end.offset} of epoch {check.end.epoch}, expected offset "
            f"{manifest.end_offset} of epoch {manifest.end_epoch}"
        )
    return manifest
