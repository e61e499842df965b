"""The messages between replicas on the wire, with the one topic and partition of the quorum.

The samples of `tests.codec.samples` have two topics and partitions, so a node would refuse them before it reads the
other fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from raft.codec import Message
from raft.core import messages as core
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Endpoint, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey, Uuid
from raft.wire import apis
from raft.wire.apis import Api
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.replica_messages import request_to_wire, response_to_wire
from raft.wire.messages.fetch_snapshot import (
    FetchSnapshotResponse,
    FetchSnapshotResponsePartition,
    FetchSnapshotResponseTopic,
    SnapshotId,
)
from raft.wire.messages.nodes import LeaderIdAndEpoch

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
LEADER = LeaderAndEpoch(epoch=Epoch(5), leader_id=NodeId(1))
ASKER = ReplicaKey(NodeId(2), Uuid("AAECAwQFBgcICQoLDA0ODw"))
ENDPOINTS = (Endpoint("localhost", 9093, "CONTROLLER"), Endpoint("::1", 9094, "OTHER"))
LOG_END = OffsetAndEpoch(epoch=Epoch(4), offset=Offset(99))
RECORDS = b"".join(
    build_batch([Record(value=b"x")] * 3, base_offset=Offset(base_offset), epoch=Epoch(4)) for base_offset in (90, 93)
)

_REQUESTS: dict[Api[Any, Any], tuple[core.OutgoingRequest, ...]] = {
    apis.VOTE: tuple(
        core.VoteRequest(
            cluster_id=CLUSTER,
            epoch=Epoch(5),
            candidate=ASKER,
            candidate_log_end=LOG_END,
            pre_vote=is_pre_vote,
            voter=ReplicaKey(NodeId(1)),
        )
        for is_pre_vote in (False, True)
    ),
    apis.BEGIN_QUORUM_EPOCH: (
        core.BeginQuorumEpochRequest(
            cluster_id=CLUSTER,
            leader=replace(LEADER, endpoints=ENDPOINTS),
            voter=ASKER,
        ),
    ),
    apis.END_QUORUM_EPOCH: (
        core.EndQuorumEpochRequest(
            cluster_id=CLUSTER,
            leader=replace(LEADER, endpoints=ENDPOINTS),
            preferred_successors=(ASKER, ReplicaKey(NodeId(3))),
        ),
    ),
    apis.FETCH: (
        core.FetchRequest(
            cluster_id=CLUSTER,
            replica=ASKER,
            epoch=Epoch(5),
            fetch_offset=Offset(99),
            last_fetched_epoch=Epoch(4),
            max_wait_ms=500,
            max_bytes=1 << 20,
            high_watermark=Offset(90),
        ),
    ),
}

_RESPONSES: dict[Api[Any, Any], tuple[core.Response, ...]] = {
    apis.VOTE: (core.VoteResponse(leader=replace(LEADER, endpoints=ENDPOINTS[:1]), vote_granted=True),),
    apis.BEGIN_QUORUM_EPOCH: (core.BeginQuorumEpochResponse(leader=LEADER),),
    apis.END_QUORUM_EPOCH: (core.EndQuorumEpochResponse(error=74, leader=LeaderAndEpoch(epoch=Epoch(6))),),
    apis.FETCH: (
        core.FetchResponse(leader=replace(LEADER, endpoints=ENDPOINTS[:1]), high_watermark=Offset(93)),
        core.FetchResponse(leader=LEADER, high_watermark=None, diverging=LOG_END),
    ),
}


_SNAPSHOT_PIECE = FetchSnapshotResponse(
    error_code=0,
    topics=(
        FetchSnapshotResponseTopic(
            name="__raft_performance_test",
            partitions=(
                FetchSnapshotResponsePartition(
                    index=0,
                    error_code=0,
                    snapshot_id=SnapshotId(end_offset=90, epoch=3),
                    current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=5),
                    size=1000,
                    position=0,
                    unaligned_records=RECORDS,
                ),
            ),
        ),
    ),
)


def peer_requests(api: Api[Any, Any], version: int, ours: TopicPartition) -> Iterator[Message]:
    """Yield requests between replicas of this API, if there are any."""
    for request in _REQUESTS.get(api, ()):
        yield request_to_wire(request, ours, version)


def peer_responses(api: Api[Any, Any], version: int, ours: TopicPartition) -> Iterator[Message]:
    """Yield responses between replicas of this API, if there are any; a fetch brings two batches."""
    if api is apis.FETCH_SNAPSHOT:
        yield _SNAPSHOT_PIECE
    for response in _RESPONSES.get(api, ()):
        records = b"" if isinstance(response, core.FetchResponse) and response.diverging else RECORDS
        request = request_to_wire(_REQUESTS[api][0], ours, version)
        yield response_to_wire(request, response, ours, version, records)
