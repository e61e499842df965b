"""The file `partition.metadata`: the id of the topic that a partition's directory belongs to.

    version: 0
    topic_id: AAAAAAAAAAAAAAAAAAAAAQ

Source: rule STATE-17; Kafka PartitionMetadataFile.
"""

from __future__ import annotations

import re

from raft.errors import ConfigError, StorageError
from raft.storage.atomic_file import replace_file
from raft.storage.files import Files
from raft.types import Uuid
from raft.uuids import parse_uuid

PARTITION_METADATA_NAME = "partition.metadata"

_CONTENT = re.compile(rb"version: 0\r?\ntopic_id: (\S+)\s*")


def claim_partition(files: Files, name: str, topic_id: Uuid) -> None:
    """Check that a directory belongs to a topic; the first start writes the file.

    Args:
        files: where the file is.
        name: the file.
        topic_id: of the topic.

    Raises:
        ConfigError: the directory belongs to another topic; names both.
        StorageError: the file is malformed, or the disk returned an error.
    """
    if not files.exists(name):
        replace_file(files, name, f"version: 0\ntopic_id: {topic_id}\n".encode())
        return
    content = _CONTENT.fullmatch(files.read(name))
    try:
        found = parse_uuid(content[1].decode() if content is not None else "")
    except ValueError as error:
        raise StorageError(f"{files.path_of(name)} is malformed, expected version 0 and a topic id") from error
    if found != topic_id:
        raise ConfigError(f"{files.path_of(name)} has topic id {found}, expected {topic_id} as configured")
