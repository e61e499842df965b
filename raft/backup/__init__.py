"""Backups of a quorum's log: one file that is taken from the leader, verified, and restored to new nodes.

The file is a tar archive:

    00000000000000002865-0000000003.checkpoint    the snapshot that has replaced the begin of the log, if there is one
    00000000000000002865.log                      the committed log after it, in segments, byte for byte
    backup.json                                   what the backup is: cluster, topic, offsets, SHA-256 of each file

    manifest     backup.json
    archive      the tar archive, written and read in pieces
    checks       whether the files of a backup are whole and follow each other
    taking       copies the log of a quorum to a file
    verifying    checks a file
    restoring    makes the directory of a node from a file
"""

from raft.backup.backup import take_backup
from raft.backup.manifest import Manifest
from raft.backup.restore import Restored, restore_backup
from raft.backup.verification import verify_backup

__all__ = ["Manifest", "Restored", "restore_backup", "take_backup", "verify_backup"]
