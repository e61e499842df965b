"""The start of a node: it opens its directory, and has a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from raft.config import NodeConfig
from raft.security.quotas import QuotaKind, Quotas
from raft.storage.directory import ReplicaDirectory
from raft.storage.files import Files
from raft.storage.log_config import LogConfig
from raft.storage.opened_directory import ReplicaIdentity
from raft.transactions import ProducerState
from raft.types import CleanupPolicy, Endpoint, NodeId, Uuid
from raft.wire.mapping.partition import TopicPartition
from raft.writers import WriterExpiry, WriterTable
from tests.simulation.plan import Plan

AnyDirectory = TypeVar("AnyDirectory", bound=ReplicaDirectory)

DEAD_ADDRESS = Endpoint("no-node", 9000)
"""A bootstrap server at which no node listens."""

TOPIC = "__cluster_metadata"
TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
OURS = TopicPartition(topic_name=TOPIC, topic_id=TOPIC_ID)
"""The partition of the quorum."""

_ADDRESSES_OF_VOTERS = 2
_SCRUB_BYTES_PER_SECOND = 64_000
_SCRUB_INTERVAL_MS = 3_000
_ANY_TIMESTAMP_MS = 1 << 60

RESERVE_BYTES = 4_000
"""raft.reserve.bytes of the nodes."""

DIRECTORY = f"{TOPIC}-0"
"""The directory of the log on a disk."""

CLUSTER_ID = "simulated"

FLOODING = "flood"
"""The client id of the clients that flood nodes."""


def endpoint_of(node_id: NodeId) -> Endpoint:
    """Return the endpoint of a node."""
    return Endpoint(f"node-{node_id}", 9000 + node_id)


def open_directory(
    kind: type[AnyDirectory], files: Files, node_id: NodeId, plan: Plan, *, entropy: bytes, producers: ProducerState
) -> AnyDirectory:
    """Open and recover a node's directory; see `ReplicaDirectory.open`."""
    identity = ReplicaIdentity(
        topic=TOPIC, topic_id=TOPIC_ID, node_id=node_id, cluster_id=CLUSTER_ID, voters=plan.voters
    )
    config = LogConfig(
        serves_snapshot=plan.snapshots.policy is CleanupPolicy.COMPACT,
        segment_bytes=plan.disk.segment_bytes,
        tail_bytes=plan.disk.tail_bytes,
    )
    return kind.open(files, identity, entropy=entropy, config=config, producers=producers)


def empty_producer_state(plan: Plan) -> ProducerState:
    """Return the tables of writers and transactions with which a node starts."""
    return ProducerState(WriterTable(expiry=WriterExpiry(newest_kept=plan.clients.newest_kept)))


def quotas_of(plan: Plan) -> Quotas | None:
    """Return the quotas of the clients at each node; None without quotas."""
    if plan.flood_percentage is None:
        return None
    return Quotas(limits={(None, FLOODING): {QuotaKind.REQUEST_PERCENTAGE: plan.flood_percentage}})


def node_config(node_id: NodeId, plan: Plan) -> NodeConfig:
    """Return the configuration of a node. It allows any timestamp, because clients' clocks jump."""
    timeouts, snapshots = plan.timeouts, plan.snapshots
    return NodeConfig(
        listener=endpoint_of(node_id),
        advertised=endpoint_of(node_id),
        log_dir=Path("/"),
        node_id=node_id,
        cluster_id=CLUSTER_ID,
        voters={voter: endpoint_of(voter) for voter in plan.voters},
        bootstrap_servers=_bootstrap_servers(plan),
        election_timeout_ms=timeouts.election_ms,
        fetch_timeout_ms=timeouts.fetch_ms,
        request_timeout_ms=timeouts.request_ms,
        election_backoff_max_ms=timeouts.backoff_max_ms,
        fetch_max_bytes=plan.fetch_max_bytes,
        fetch_snapshot_max_bytes=snapshots.fetch_bytes,
        transaction_max_timeout_ms=plan.clients.transaction_timeout_ms,
        message_timestamp_after_max_ms=_ANY_TIMESTAMP_MS,
        queued_max_request_bytes=plan.queued_bytes,
        reserve_bytes=RESERVE_BYTES,
        scrub_bytes_per_second=_SCRUB_BYTES_PER_SECOND,
        scrub_interval_ms=_SCRUB_INTERVAL_MS,
        cleanup_policy=snapshots.policy,
        bytes_between_snapshots=snapshots.bytes_between,
        snapshot_interval_ms=snapshots.interval_ms,
        min_cleanable_dirty_ratio=0,
        retention_bytes=snapshots.retention_bytes,
        retention_ms=-1,
    )


def _bootstrap_servers(plan: Plan) -> tuple[Endpoint, ...]:
    """Return the bootstrap servers, one of them a dead address; or none, so that nodes use the voters' endpoints."""
    if not plan.wire.has_dead_address:
        return ()
    return DEAD_ADDRESS, *(endpoint_of(node_id) for node_id in (*plan.observers, *plan.voters[-_ADDRESSES_OF_VOTERS:]))
