"""The file `meta.properties`: whose log directory this is. It is written at the first start and never changed.

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
    """Whose a log directory is: the cluster, the node, and the id of the directory itself."""

    cluster_id: str
    node_id: NodeId
    directory_id: Uuid


def claim_directory(files: Files, *, cluster_id: str | None, node_id: NodeId, entropy: bytes) -> MetaProperties:
    """Return whose directory this is, after making sure that it is ours; at the first start it becomes ours.

    Args:
        files: the log directory.
        cluster_id: the configured cluster; None takes what the directory says, at the first start the zero uuid.
        node_id: the configured node.
        entropy: 16 random bytes, for the id of a directory that has none yet.

    Raises:
        ConfigError: the directory belongs to another node or cluster; names both.
        StorageError: the file is not what it should be.
    """
    stored = _read(files)
    found_cluster, found_node = stored.get("cluster.id"), stored.get("node.id")
    path = files.path_of(META_PROPERTIES_NAME)
    if found_node not in (None, str(node_id)):
        raise ConfigError(f"{path} says node.id={found_node}; the configuration says node.id={node_id}")
    if cluster_id is not None and found_cluster not in (None, cluster_id):
        raise ConfigError(f"{path} says cluster.id={found_cluster}; the configuration says cluster.id={cluster_id}")
    owner = MetaProperties(
        cluster_id=found_cluster or cluster_id or ZERO_UUID,
        node_id=node_id,
        directory_id=Uuid(stored["directory.id"]) if "directory.id" in stored else new_uuid(entropy),
    )
    # Before KIP-853 directories had no id; it is added, as Kafka does.
    if "directory.id" not in stored:
        _write(files, owner)
    return owner


def _read(files: Files) -> dict[str, str]:
    if not files.exists(META_PROPERTIES_NAME):
        return {}
    path = files.path_of(META_PROPERTIES_NAME)
    properties = parse_properties(files.read(META_PROPERTIES_NAME).decode(errors="replace"))
    stored = {key: value.strip() for key, value in properties.items()}
    if stored.get("version") != _VERSION:
        raise StorageError(f"{path}: version={stored.get('version')} is not {_VERSION}, the only one known")
    if not stored.get("cluster.id"):
        raise StorageError(f"{path}: cluster.id is missing")
    if not _NODE_ID.fullmatch(stored.get("node.id", "")):
        raise StorageError(f"{path}: node.id={stored.get('node.id')} is no node id")
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
