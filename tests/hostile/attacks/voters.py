"""Requests in a voter's name on the listener for clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from raft.codec import Message
from raft.wire.messages import begin_quorum_epoch as begin
from raft.wire.messages import end_quorum_epoch as end
from raft.wire.messages import fetch_snapshot as snapshot
from raft.wire.messages import vote
from tests.hostile.attacks.attack import Attack
from tests.hostile.connection import Connection
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.requests import fetch_request

_EPOCHS = (0, 1, 2, 99, (1 << 31) - 2, (1 << 31) - 1)
_FAR_OFFSET = 1 << 40


class ForgedVoters(Attack):
    """Vote, BeginQuorumEpoch, EndQuorumEpoch and FetchSnapshot, and Fetch with an offset past the end of the log."""

    width = 6

    async def round(self, connection: Connection) -> None:
        voter_id = self.dice.choice((0, *self.scene.client_ports))
        for request, version in forged(voter_id, self.dice.choice(_EPOCHS)):
            await connection.ask(request, version)


def forged(voter_id: int, epoch: int) -> Iterator[tuple[Message, int]]:
    """Yield requests in a voter's name, with their versions; a Vote comes first.

    Args:
        voter_id: the voter.
        epoch: of the requests.
    """
    candidate = vote.VoteRequestPartition(
        partition_index=0,
        replica_epoch=epoch,
        replica_id=voter_id,
        last_offset_epoch=max(epoch - 1, 0),
        last_offset=_FAR_OFFSET,
    )
    vote_topic = vote.VoteRequestTopic(topic_name=TOPIC, partitions=(candidate,))
    yield vote.VoteRequest(cluster_id=CLUSTER_ID, topics=(vote_topic,)), 1
    beginning = begin.BeginQuorumEpochRequestPartition(partition_index=0, leader_id=voter_id, leader_epoch=epoch)
    begin_topic = begin.BeginQuorumEpochRequestTopic(topic_name=TOPIC, partitions=(beginning,))
    yield begin.BeginQuorumEpochRequest(cluster_id=CLUSTER_ID, topics=(begin_topic,)), 0
    ending = end.EndQuorumEpochRequestPartition(partition_index=0, leader_id=voter_id, leader_epoch=epoch)
    end_topic = end.EndQuorumEpochRequestTopic(topic_name=TOPIC, partitions=(ending,))
    yield end.EndQuorumEpochRequest(cluster_id=CLUSTER_ID, topics=(end_topic,)), 0
    yield snapshot.FetchSnapshotRequest(cluster_id=CLUSTER_ID, replica_id=voter_id, topics=()), 0
    yield replace(fetch_request(_FAR_OFFSET, epoch=epoch, last_fetched_epoch=epoch), replica_id=voter_id), 12
