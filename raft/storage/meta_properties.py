"""The file `meta.properties`: cluster, node and id of a log directory, written at the first start and never changed.

    version=1
    cluster.id=...
    node.id=...
    directory.id=...      22 characters of base64url

Source: rule STATE-17; Kafka MetaProperties; KIP-853 (directory.id).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from raft.errors import ConfigError, StorageError
from raft.properties import format_properties, parse_properties
from raft.storage.atomic_file import replace_file
from raft.storage.files import Files
from raft.types import ZERO_UUID, NodeId, Uuid
from raft.uuids import new_uuid, parse_uuid

META_PROPERTIES_NAME = "meta.properties"

_VERSION = "1"
_NODE_ID = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The cluster and node that a log directory belongs to, and the id of the directory."""

    cluster_id: str
    node_id: NodeId
    directory_id: Uuid


def claim_directory(files: Files, *, cluster_id: str | None, node_id: NodeId, entropy: bytes) -> MetaProperties:
    """Check that a directory belongs to this node, and return what its file says; the first start writes the file.

    Args:
        files: the log directory.
        cluster_id: the configured cluster; None takes the one in the directory, at the first start the zero uuid.
        node_id: the configured node.
        entropy: 16 random bytes, for the id of a directory that has no id.

    Raises:
        ConfigError: the directory belongs to another node or cluster; names both.
        StorageError: the file is malformed or of another version, or the disk returned an error.
    """
    stored = read_meta_properties(files)
    found_cluster, found_node = stored.get("cluster.id"), stored.get("node.id")
    path = files.path_of(META_PROPERTIES_NAME)
    if found_node not in (None, str(node_id)):
        raise ConfigError(f"{path} has node.id={found_node}, expected node.id={node_id} as configured")
    if cluster_id is not None and found_cluster not in (None, cluster_id):
        raise ConfigError(f"{path} has cluster.id={found_cluster}, expected cluster.id={cluster_id} as configured")
    owner = MetaProperties(
        cluster_id=found_cluster or cluster_id or ZERO_UUID,
        node_id=node_id,
        directory_id=Uuid(stored["directory.id"]) if "directory.id" in stored else new_uuid(entropy),
    )
    # Directories from before KIP-853 have no id. Kafka adds one too.
    if "directory.id" not in stored:
        _write(files, owner)
    return owner


def read_meta_properties(files: Files) -> dict[str, str]:
    """Return what the file of a directory says; empty if there is no file.

    Raises:
        StorageError: the file is malformed or of another version, or the disk returned an error.
    """
    if not files.exists(META_PROPERTIES_NAME):
        return {}
    path = files.path_of(META_PROPERTIES_NAME)
    properties = parse_properties(files.read(META_PROPERTIES_NAME).decode(errors="replace"))
    stored = {key: value.strip() for key, value in properties.items()}
    if stored.get("version") != _VERSION:
        raise StorageError(f"{path}: version={stored.get('version')}, expected {_VERSION}")
    if not stored.get("cluster.id"):
        raise StorageError(f"{path}: cluster.id is missing")
    if not _NODE_ID.fullmatch(stored.get("node.id", "")):
        raise StorageError(f"{path}: node.id={stored.get('node.id')} is not a node id")
    if "directory.id" in stored:
        try:
            parse_uuid(stored["directory.id"])
        except ValueError as error:
            raise StorageError(f"{path}: directory.id={stored['directory.id']} is not a uuid") from error
    return stored


def _write(files: Files, owner: MetaProperties) -> None:
    content = format_properties(
        {
            "version": _VERSION,
            "cluster.id": owner.cluster_id,
            "node.id": str(owner.node_id),
            "directory.id": owner.directory_id,
        }
    )
    replace_file(files, META_PROPERTIES_NAME, content.encode())
