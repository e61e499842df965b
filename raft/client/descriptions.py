"""The calls that describe the quorum; see `raft.client.calls`."""

from __future__ import annotations

from raft.client.discovery import API_VERSIONS_REQUEST, KAFKA_TOPIC, LeaderNode
from raft.client.failures import NO_RESPONSE
from raft.client.results import NodeDescription, QuorumDescription, ReplicaDescription
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.steps import Ask, Operation
from raft.errors import ErrorCode, QuorumUnavailableError, error_name, refusal
from raft.types import Endpoint, Epoch, NodeId
from raft.wire.mapping.partition import node_or_none, offset_or_none, sole_partition
from raft.wire.messages import describe_quorum as quorum
from raft.wire.messages.api_versions import ApiVersionsResponse


def describe_quorum(session: Session, deadline: Deadline) -> Operation[QuorumDescription]:
    """Describe the quorum as its leader sees it (DESCRIBE-3)."""

    def request_to(leader: LeaderNode) -> quorum.DescribeQuorumRequest:
        return _request(leader.topic.name)

    def status_of(response: quorum.DescribeQuorumResponse) -> ResponseStatus:
        if response.error_code:
            return ResponseStatus(error=response.error_code, message=response.error_message)
        partition = sole_partition(response.topics)
        return ResponseStatus(error=partition.error_code, epoch=Epoch(max(partition.leader_epoch, 0)))

    response = yield from session.ask_leader(request_to, status_of, deadline)
    return _quorum(response, session.cluster_id)


def describe_node(
    session: Session, deadline: Deadline, server: Endpoint
) -> Operation[QuorumDescription | NodeDescription]:
    """Ask one node of this project, once, what it knows; it need not lead.

    Args:
        session: sends the requests. With the client id `raft.wire.headers.RELAY_CLIENT_ID`, the node describes itself.
            Otherwise it forwards the request to the leader, if it reaches the leader.
        deadline: when to give up.
        server: the node.

    Returns:
        The description of the quorum by its leader, if the node leads or has forwarded the request.

    Raises:
        QuorumUnavailableError: the node does not respond.
        RequestError: the node does not describe itself, as those of Apache Kafka.
        ConfigError: the node belongs to another cluster, or hosts another topic.
    """
    timeout_ms = min(session.settings.request_timeout_ms, deadline.timeout_ms)
    lookup = yield from session.look_up_leader(server, timeout_ms)
    if lookup.cluster_id is None:
        raise QuorumUnavailableError(f"{server}: {lookup.failure}")
    outcome = yield Ask(endpoint=server, request=_request(KAFKA_TOPIC), timeout_ms=timeout_ms, may_be_unsupported=True)
    response = outcome.response
    if not isinstance(response, quorum.DescribeQuorumResponse):
        raise QuorumUnavailableError(f"{server}: {outcome.failure or NO_RESPONSE}")
    if response.error_code:
        raise refusal(response.error_code, f"{server}: {error_name(response.error_code)}")
    partition = sole_partition(response.topics)
    if partition.error_code == ErrorCode.NONE:
        return _quorum(response, lookup.cluster_id)
    own, message = [*partition.current_voters, *partition.observers], partition.error_message or ""
    if not message.startswith(quorum.OWN_VIEW_PREFIX) or len(own) != 1:
        raise refusal(
            partition.error_code, f"{server}: {error_name(partition.error_code)}, and it does not describe itself"
        )
    return NodeDescription(
        cluster_id=lookup.cluster_id,
        node_id=NodeId(own[0].replica_id),
        role=message.removeprefix(quorum.OWN_VIEW_PREFIX),
        is_voter=bool(partition.current_voters),
        leader_id=node_or_none(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        log_end_offset=offset_or_none(own[0].log_end_offset),
        high_watermark=offset_or_none(partition.high_watermark),
    )


def features(session: Session, deadline: Deadline, server: Endpoint) -> Operation[dict[str, int]]:
    """Ask one node for its features.

    Args:
        session: sends the request.
        deadline: when to give up.
        server: the node.

    Returns:
        The highest supported level of each feature, by name.

    Raises:
        QuorumUnavailableError: the node does not respond.
    """
    timeout_ms = min(session.settings.request_timeout_ms, deadline.timeout_ms)
    outcome = yield Ask(endpoint=server, request=API_VERSIONS_REQUEST, timeout_ms=timeout_ms)
    if not isinstance(outcome.response, ApiVersionsResponse):
        raise QuorumUnavailableError(f"{server}: {outcome.failure or NO_RESPONSE}")
    return {feature.name: feature.max_version for feature in outcome.response.supported_features}


def _request(topic: str) -> quorum.DescribeQuorumRequest:
    partition = quorum.DescribeQuorumRequestPartition(partition_index=0)
    return quorum.DescribeQuorumRequest(
        topics=(quorum.DescribeQuorumRequestTopic(topic_name=topic, partitions=(partition,)),)
    )


def _quorum(response: quorum.DescribeQuorumResponse, cluster_id: str | None) -> QuorumDescription:
    partition = sole_partition(response.topics)
    return QuorumDescription(
        cluster_id=cluster_id or "",
        leader_id=NodeId(partition.leader_id),
        leader_epoch=Epoch(partition.leader_epoch),
        high_watermark=offset_or_none(partition.high_watermark),
        voters=tuple(_replica(state) for state in partition.current_voters),
        observers=tuple(_replica(state) for state in partition.observers),
        endpoints={
            NodeId(node.node_id): tuple(
                Endpoint(listener.host, listener.port, listener.name) for listener in node.listeners
            )
            for node in response.nodes
        },
    )


def _replica(state: quorum.ReplicaState) -> ReplicaDescription:
    return ReplicaDescription(
        node_id=NodeId(state.replica_id),
        directory_id=state.replica_directory_id,
        log_end_offset=offset_or_none(state.log_end_offset),
        last_fetch_ms=state.last_fetch_timestamp if state.last_fetch_timestamp >= 0 else None,
        last_caught_up_ms=state.last_caught_up_timestamp if state.last_caught_up_timestamp >= 0 else None,
    )
