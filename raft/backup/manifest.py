"""The member `backup.json` of a backup.

{"version": 1, "clusterId": "...", "topic": "__cluster_metadata", "topicId": "...", "cleanupPolicy": "compact",
 "firstOffset": 0, "endOffset": 4711, "endEpoch": 3, "time": "2026-01-31T12:00:00+00:00",
 "members": [{"name": "00000000000000000000.log", "size": 1234, "sha256": "..."}], "sha256": "..."}

The last field is the SHA-256 of the others, in the form in which `to_bytes` writes them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from raft.errors import DecodeError
from raft.types import Epoch, Offset, Uuid

MANIFEST_NAME = "backup.json"
LARGEST_MANIFEST_BYTES = 16 << 20

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file of a backup: its name, size in bytes, and SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup is.

    Fields:
        cluster_id: of the quorum that it was taken from.
        topic, topic_id: of the log.
        cleanup_policy: "compact" if the snapshot holds records, which only that policy keeps; None if it is unknown.
        first_offset: where the segments begin; a snapshot stands for all before.
        end_offset: after the last record: the high watermark when the backup was begun.
        end_epoch: of the last record.
        time: when the backup was begun, in ISO 8601.
        members: the files, in order.
    """

    cluster_id: str
    topic: str
    topic_id: Uuid
    cleanup_policy: str | None
    first_offset: Offset
    end_offset: Offset
    end_epoch: Epoch
    time: str
    members: tuple[Member, ...]

    @property
    def size_bytes(self) -> int:
        """Size of all files."""
        return sum(member.size for member in self.members)

    def to_bytes(self) -> bytes:
        """Return the content of the member."""
        fields: dict[str, Any] = {
            "version": _VERSION,
            "clusterId": self.cluster_id,
            "topic": self.topic,
            "topicId": self.topic_id,
            "cleanupPolicy": self.cleanup_policy,
            "firstOffset": self.first_offset,
            "endOffset": self.end_offset,
            "endEpoch": self.end_epoch,
            "time": self.time,
            "members": [asdict(member) for member in self.members],
        }
        return _encoded(fields | {"sha256": sha256(_encoded(fields)).hexdigest()})

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """Return what a member says.

        Raises:
            DecodeError: it is damaged, or of another version.
        """
        try:
            fields = json.loads(content)
            if fields["version"] != _VERSION:
                raise DecodeError(f"backup of version {fields['version']}, expected {_VERSION}")
            found = fields.pop("sha256")
            if found != sha256(_encoded(fields)).hexdigest():
                raise DecodeError("its content does not match its SHA-256")
            return cls(
                cluster_id=fields["clusterId"],
                topic=fields["topic"],
                topic_id=Uuid(fields["topicId"]),
                cleanup_policy=fields["cleanupPolicy"],
                first_offset=Offset(fields["firstOffset"]),
                end_offset=Offset(fields["endOffset"]),
                end_epoch=Epoch(fields["endEpoch"]),
                time=fields["time"],
                members=tuple(Member(**member) for member in fields["members"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DecodeError(f"it does not describe a backup: {error!r}") from error


def _encoded(fields: dict[str, Any]) -> bytes:
    return (json.dumps(fields, indent=1) + "\n").encode()
