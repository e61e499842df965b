"""What a node of Kafka or of ours knows of its quorum: leader, epoch and high watermark.

Every response to a Fetch has these, also one with an error. The Fetch here has no replica id and epoch 0, so that no
node keeps any state for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from raft.errors import ErrorCode
from raft.types import Endpoint, Epoch, NodeId, Offset, Uuid
from raft.wire.mapping.partition import node_or_none, offset_or_none, sole_partition
from raft.wire.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
)
from tests.node.harness.wire import Wire

_VERSION = 17

RESPONSE_S = 10.0
"""How long to wait for a node that may be suspended: one that does not respond is asked again with the next look."""


def open_wire_to(node: Endpoint) -> Wire:
    """Open a connection to a node that may be suspended."""
    return Wire(node, within_s=RESPONSE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumView:
    """What a node knows.

    Fields:
        epoch: its epoch.
        leader_id: None if it knows no leader.
        high_watermark: None if the response has none: of Kafka's nodes only the leader sends it.
    """

    epoch: Epoch
    leader_id: NodeId | None
    high_watermark: Offset | None


def quorum_view_of(
    node: Endpoint, topic_id: Uuid, open_wire: Callable[[Endpoint], Wire] = open_wire_to
) -> QuorumView | None:
    """Return what a node knows; None if it sends no response.

    Args:
        node: where it listens.
        topic_id: of its topic.
        open_wire: opens a connection to it.
    """
    try:
        with open_wire(node) as wire:
            response = _fetch(wire, topic_id, Epoch(0))
            if response.error_code == ErrorCode.FENCED_LEADER_EPOCH:
                response = _fetch(wire, topic_id, Epoch(response.current_leader.leader_epoch))
    except OSError:
        return None
    leader = response.current_leader
    return QuorumView(
        epoch=Epoch(leader.leader_epoch),
        leader_id=node_or_none(leader.leader_id),
        high_watermark=offset_or_none(response.high_watermark),
    )


def _fetch(wire: Wire, topic_id: Uuid, epoch: Epoch) -> FetchResponsePartition:
    partition = FetchRequestPartition(
        partition=0, current_leader_epoch=epoch, fetch_offset=0, last_fetched_epoch=0, partition_max_bytes=1
    )
    topic = FetchRequestTopic(topic_id=topic_id, partitions=(partition,))
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=(topic,))
    return sole_partition(wire.ask(request, _VERSION, FetchResponse).responses)
