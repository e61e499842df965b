"""What a node of either kind believes: who leads, in which epoch, and how much is committed.

Every answer to a Fetch says so, also one that refuses: so a Fetch of nobody in particular, at epoch 0, asks for it.
Neither Kafka's nodes nor ours keep anything of it in mind.
"""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a node believes.

    Fields:
        leader_id: None while it knows none.
        high_watermark: None while it knows none, or does not tell: of Kafka's nodes only the leader does.
    """

    epoch: Epoch
    leader_id: NodeId | None
    high_watermark: Offset | None


def standing_of(node: Endpoint, topic_id: Uuid) -> Standing | None:
    """Ask a node; None if it does not answer."""
    try:
        with Wire(node) as wire:
            answer = _ask(wire, topic_id, Epoch(0))
            if answer.error_code == ErrorCode.FENCED_LEADER_EPOCH:
                answer = _ask(wire, topic_id, Epoch(answer.current_leader.leader_epoch))
    except OSError:
        return None
    leader = answer.current_leader
    return Standing(
        epoch=Epoch(leader.leader_epoch),
        leader_id=node_or_none(leader.leader_id),
        high_watermark=offset_or_none(answer.high_watermark),
    )


def _ask(wire: Wire, topic_id: Uuid, epoch: Epoch) -> FetchResponsePartition:
    partition = FetchRequestPartition(
        partition=0, current_leader_epoch=epoch, fetch_offset=0, last_fetched_epoch=0, partition_max_bytes=1
    )
    topic = FetchRequestTopic(topic_id=topic_id, partitions=(partition,))
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=(topic,))
    return sole_partition(wire.ask(request, _VERSION, FetchResponse).responses)
