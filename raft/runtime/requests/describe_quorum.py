"""DescribeQuorum: how far each replica of the quorum has copied the log (rules DESCRIBE-*)."""

from __future__ import annotations

from dataclasses import replace

from raft.codec import Message
from raft.core.progress import ReplicaProgress
from raft.core.roles import Leader
from raft.errors import ErrorCode
from raft.runtime.caller import Caller
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.types import ReplicaKey
from raft.wire.headers import RELAY_CLIENT_ID
from raft.wire.mapping.partition import INDEX, directory_uuid, or_minus_one
from raft.wire.messages.describe_quorum import (
    OWN_VIEW_PREFIX,
    DescribeQuorumNode,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartition,
    DescribeQuorumResponseTopic,
    ReplicaState,
)
from raft.wire.messages.nodes import Listener

METADATA_TOPIC = "__cluster_metadata"
"""The topic that kafka-metadata-quorum names, even if the topic of this quorum has another name."""

_FIRST_WITH_DIRECTORY = 2
"""Older versions have no fields for directory ids and endpoints."""


def describe_quorum(context: Context, request: Request[DescribeQuorumRequest]) -> DescribeQuorumResponse | None:
    """Handle DescribeQuorum: by the leader, or with what this node knows if the leader does not respond.

    A request that another node has forwarded is not forwarded again, because that could go on for ever.
    """
    leader = context.known_leader
    if leader is None or request.client_id == RELAY_CLIENT_ID:
        return _view(context, request)
    context.relay.ask(
        leader,
        request.message,
        request.version,
        on_response=lambda response: request.respond(_relayed(context, request, response)),
        otherwise=lambda: request.respond(_view(context, request)),
    )
    return None


def _view(context: Context, request: Request[DescribeQuorumRequest]) -> DescribeQuorumResponse:
    """Return what this node knows. Only the leader knows the progress of the other replicas (DESCRIBE-1).

    Any other node responds with NOT_LEADER_OR_FOLLOWER and, beside that error, with what it knows itself: the leader,
    its own high watermark, and its own log end as the only replica. Kafka's tools look at the error only.
    """
    version = request.version
    topics = tuple(
        DescribeQuorumResponseTopic(
            topic_name=topic.topic_name,
            partitions=tuple(
                _describe(context, topic.topic_name, partition.partition_index, version)
                for partition in topic.partitions
            ),
        )
        for topic in request.message.topics
    )
    return DescribeQuorumResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        topics=topics,
        nodes=_nodes(context, request.caller) if version >= _FIRST_WITH_DIRECTORY else (),
    )


def _relayed(context: Context, request: Request[DescribeQuorumRequest], response: Message) -> Message:
    """Return the response to a client whose request the leader has responded to.

    It has the endpoints that this client can reach. If the leader's rules refuse this node, that is no refusal of the
    client: it gets what this node knows.
    """
    assert isinstance(response, DescribeQuorumResponse), "the response to a DescribeQuorum request"
    if response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return _view(context, request)
    return replace(response, nodes=_nodes(context, request.caller)) if response.nodes else response


def _nodes(context: Context, caller: Caller) -> tuple[DescribeQuorumNode, ...]:
    name = caller.listener.name
    voters = context.config.voters if caller.for_clients is None else caller.for_clients.voters
    return tuple(
        DescribeQuorumNode(node_id=node_id, listeners=(Listener(name=name, host=endpoint.host, port=endpoint.port),))
        for node_id, endpoint in sorted(voters.items())
    )


def _describe(context: Context, topic: str, partition: int, version: int) -> DescribeQuorumResponsePartition:
    role = context.engine.core.role
    if topic not in (METADATA_TOPIC, context.ours.topic_name) or partition != INDEX:
        return DescribeQuorumResponsePartition(
            partition_index=partition,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            error_message=None,
            leader_id=or_minus_one(context.serving_leader),
            leader_epoch=context.epoch,
            high_watermark=-1,
            current_voters=(),
            observers=(),
        )
    if not isinstance(role, Leader):
        return _own_view(context, partition)
    return DescribeQuorumResponsePartition(
        partition_index=partition,
        error_code=ErrorCode.NONE,
        error_message=None,
        leader_id=context.node_id,
        leader_epoch=context.epoch,
        high_watermark=or_minus_one(context.high_watermark),
        current_voters=_voters(context, role),
        observers=_observers(context, role, version),
    )


def _own_view(context: Context, partition: int) -> DescribeQuorumResponsePartition:
    """Return what a node that does not lead knows."""
    itself = (ReplicaState(replica_id=context.node_id, log_end_offset=context.engine.core.log.end_offset),)
    is_voter = context.node_id in context.config.voters
    return DescribeQuorumResponsePartition(
        partition_index=partition,
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        error_message=f"{OWN_VIEW_PREFIX}{type(context.engine.core.role).__name__}",
        leader_id=or_minus_one(context.serving_leader),
        leader_epoch=context.epoch,
        high_watermark=or_minus_one(context.high_watermark),
        current_voters=itself if is_voter else (),
        observers=() if is_voter else itself,
    )


def _voters(context: Context, role: Leader) -> tuple[ReplicaState, ...]:
    now_ms = context.scheduler.wall_clock_ms()
    leader = ReplicaState(
        replica_id=context.node_id,
        log_end_offset=context.engine.core.log.end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    others = [_state(context, ReplicaKey(voter), progress, now_ms) for voter, progress in role.progress.voters.items()]
    return tuple(sorted((leader, *others), key=lambda state: state.replica_id))


def _observers(context: Context, role: Leader, version: int) -> tuple[ReplicaState, ...]:
    now_ms = context.scheduler.wall_clock_ms()
    has_directory = version >= _FIRST_WITH_DIRECTORY
    return tuple(
        _state(context, key if has_directory else ReplicaKey(key.node_id), progress, now_ms)
        for key, progress in role.progress.active_observers(context.scheduler.now_ms())
    )


def _state(context: Context, key: ReplicaKey, progress: ReplicaProgress, now_ms: int) -> ReplicaState:
    """Return the state of one replica, with the core's monotonic times converted to wall clock times."""
    to_wall_clock_ms = now_ms - context.scheduler.now_ms()

    def wall_clock(time_ms: int | None) -> int:
        return -1 if time_ms is None else time_ms + to_wall_clock_ms

    return ReplicaState(
        replica_id=key.node_id,
        replica_directory_id=directory_uuid(key),
        log_end_offset=or_minus_one(progress.fetch_offset),
        last_fetch_timestamp=wall_clock(progress.last_fetch_ms),
        last_caught_up_timestamp=wall_clock(progress.last_caught_up_ms),
    )
