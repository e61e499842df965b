"""Opens the directory of a node as its configuration says; on a full disk, as soon as there is room."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable

from raft.config import NodeConfig
from raft.errors import DiskFullError
from raft.runtime.fault_log import FaultLog
from raft.storage.directory import ReplicaDirectory
from raft.storage.disk import DiskFiles
from raft.storage.log_config import LogConfig
from raft.storage.opened_directory import ReplicaIdentity
from raft.transactions import ProducerState
from raft.types import CleanupPolicy

_logger = logging.getLogger(__name__)

_PAUSE_S = 1.0
"""Time between two attempts on a full disk."""


async def open_when_there_is_room(
    config: NodeConfig, producers: ProducerState, now_ms: Callable[[], int]
) -> ReplicaDirectory:
    """Open the directory of a node; repeat that while the disk has no room for what a start has to write (LOG-27).

    Args:
        config: of the node.
        producers: see `ReplicaDirectory.open`.
        now_ms: returns the time of a monotonic clock, in milliseconds.

    Raises:
        ConfigError, StorageError: see `ReplicaDirectory.open`.
    """
    faults = FaultLog(_logger, now_ms)
    while True:
        try:
            return await asyncio.get_running_loop().run_in_executor(None, _open, config, producers)
        except DiskFullError as error:
            faults.report("node %s does not start yet: %s; this is repeated until there is room", config.node_id, error)
            await asyncio.sleep(_PAUSE_S)


def _open(config: NodeConfig, producers: ProducerState) -> ReplicaDirectory:
    directory = ReplicaDirectory.open(
        DiskFiles(config.log_dir),
        ReplicaIdentity(
            topic=config.topic_name,
            topic_id=config.topic_id,
            node_id=config.node_id,
            cluster_id=config.cluster_id,
            voters=tuple(config.voters),
        ),
        entropy=secrets.token_bytes(16),
        config=LogConfig(
            serves_snapshot=config.cleanup_policy is CleanupPolicy.COMPACT, segment_bytes=config.segment_bytes
        ),
        producers=producers,
    )
    directory.keep_spare()
    return directory
