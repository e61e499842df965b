"""Nodes of another cluster that were given our addresses."""

from __future__ import annotations

from raft.core.messages import BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest, Request, VoteRequest
from raft.types import Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis

STRANGERS_EPOCH = Epoch(1_000_000)
"""Where the other cluster is: whoever believes a stranger gives himself away."""

_STRANGERS_CLUSTER_ID = "another cluster"
_STRANGERS_ADDRESS = -1_000
_NEVER_WAIT_MS = 0


class Strangers(Nemesis):
    """Sends requests of another cluster, where the epochs are high."""

    kind = Fault.STRANGER

    def _strike(self) -> bool:
        prey = self._prey
        receiver, request = self._dice.pick(prey.machines), self._draw_request()

        def deliver() -> None:
            if receiver.process is not None:
                receiver.process.receive(request, lambda _response, _records: None)

        prey.network.carry(_STRANGERS_ADDRESS, receiver.node_id, deliver)
        return True

    def _draw_request(self) -> Request:
        sender = self._dice.pick([machine.node_id for machine in self._prey.machines])
        match self._dice.draw(4):
            case 0:
                return FetchRequest(
                    cluster_id=_STRANGERS_CLUSTER_ID,
                    replica=ReplicaKey(sender),
                    epoch=STRANGERS_EPOCH,
                    fetch_offset=Offset(1_000_000),
                    last_fetched_epoch=STRANGERS_EPOCH,
                    max_wait_ms=_NEVER_WAIT_MS,
                    max_bytes=1,
                )
            case 1:
                return BeginQuorumEpochRequest(
                    cluster_id=_STRANGERS_CLUSTER_ID, epoch=STRANGERS_EPOCH, leader_id=NodeId(sender)
                )
            case 2:
                return EndQuorumEpochRequest(
                    cluster_id=_STRANGERS_CLUSTER_ID, epoch=STRANGERS_EPOCH, leader_id=NodeId(sender)
                )
            case _:
                return VoteRequest(
                    cluster_id=_STRANGERS_CLUSTER_ID,
                    epoch=STRANGERS_EPOCH,
                    candidate=ReplicaKey(sender),
                    candidate_log_end=OffsetAndEpoch(epoch=Epoch(STRANGERS_EPOCH - 1), offset=Offset(1_000_000)),
                    pre_vote=self._dice.draw(2) == 0,
                )
