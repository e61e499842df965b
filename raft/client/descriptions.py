"""The call that describes the quorum; see `raft.client.calls`."""

from __future__ import annotations

from raft.client.discovery import Leader
from raft.client.results import QuorumDescription, ReplicaDescription
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.steps import Operation
from raft.types import Endpoint, Epoch, NodeId
from raft.wire.mapping.partition import offset_or_none, sole_partition
from raft.wire.messages import describe_quorum as quorum


def describe_quorum(session: Session, deadline: Deadline) -> Operation[QuorumDescription]:
    """Describe the quorum as its leader sees it (DESCRIBE-3)."""

    def request_to(leader: Leader) -> quorum.DescribeQuorumRequest:
        partition = quorum.DescribeQuorumRequestPartition(partition_index=0)
        topic = quorum.DescribeQuorumRequestTopic(topic_name=leader.topic.name, partitions=(partition,))
        return quorum.DescribeQuorumRequest(topics=(topic,))

    def status_of(response: quorum.DescribeQuorumResponse) -> ResponseStatus:
        if response.error_code:
            return ResponseStatus(error=response.error_code, message=response.error_message)
        partition = sole_partition(response.topics)
        return ResponseStatus(error=partition.error_code, epoch=Epoch(max(partition.leader_epoch, 0)))

    response = yield from session.ask_leader(request_to, status_of, deadline)
    partition = sole_partition(response.topics)
    return QuorumDescription(
        cluster_id=session.cluster_id or "",
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
