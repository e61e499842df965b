"""How a life of a node begins: its directory is opened, and its core told what it has to know."""

from __future__ import annotations

from collections.abc import Callable

from raft.core import CoreConfig
from raft.core.log_view import LogView
from raft.core.quorum import VoterSet
from raft.storage.directory import ReplicaDirectory, ReplicaIdentity
from raft.storage.files import Files
from raft.storage.log import Log, LogConfig
from raft.types import ZERO_UUID, BatchHeader, Endpoint, NodeId, ReplicaKey
from tests.simulation.plan import Plan

TOPIC = "__cluster_metadata"
DIRECTORY = f"{TOPIC}-0"
"""Where on a disk the log lies, and everything beside it."""

_CLUSTER_ID = "simulated"


def endpoint_of(node_id: NodeId) -> Endpoint:
    """Where a node listens."""
    return Endpoint(f"node-{node_id}", 9000 + node_id)


def open_directory(
    files: Files, node_id: NodeId, plan: Plan, *, entropy: bytes, on_batch: Callable[[BatchHeader], None]
) -> ReplicaDirectory:
    """Open a node's directory, with all that recovery does; see `ReplicaDirectory.open`."""
    identity = ReplicaIdentity(
        topic=TOPIC, topic_id=ZERO_UUID, node_id=node_id, cluster_id=_CLUSTER_ID, voters=plan.voters
    )
    config = LogConfig(segment_bytes=plan.disk.segment_bytes, tail_bytes=plan.disk.tail_bytes)
    return ReplicaDirectory.open(files, identity, entropy=entropy, config=config, on_batch=on_batch)


def core_config(directory: ReplicaDirectory, node_id: NodeId, plan: Plan) -> CoreConfig:
    """Return what a node's core is told of itself and the quorum."""
    timeouts = plan.timeouts
    return CoreConfig(
        replica=ReplicaKey(node_id, directory.directory_id),
        cluster_id=directory.cluster_id,
        voters=VoterSet.static({voter: endpoint_of(voter) for voter in plan.voters}),
        election_timeout_ms=timeouts.election_ms,
        fetch_timeout_ms=timeouts.fetch_ms,
        request_timeout_ms=timeouts.request_ms,
        election_backoff_max_ms=timeouts.backoff_max_ms,
        fetch_max_bytes=plan.fetch_max_bytes,
    )


def view_of(log: Log) -> LogView:
    """Return a recovered log as the core sees it."""
    return LogView(start=log.start, end_offset=log.end_offset, epochs=log.epochs)
