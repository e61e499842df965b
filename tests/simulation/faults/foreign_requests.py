"""Requests that no node of this quorum sends: from another cluster, or with an epoch that no election has reached."""

from __future__ import annotations

from raft.core.epochs import HIGHEST_ADOPTED_EPOCH, LARGEST_STEP, LAST_EPOCH
from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    OutgoingRequest,
    RepairFetchRequest,
    Request,
    VoteRequest,
)
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from raft.wire.frames import encode_request
from raft.wire.mapping.replica_messages import api_of, request_to_wire
from tests.simulation.faults.kinds import Fault
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.machine import Machine
from tests.simulation.starting import CLUSTER_ID, OURS, endpoint_of

FOREIGN_EPOCH = Epoch(1_000_000)
"""The epoch of the other cluster, so high that a node that adopts it is noticed."""

_FOREIGN_CLUSTER_ID = "another cluster"
_FOREIGN_ADDRESS = -1_000
_NO_WAIT_MS = 0
_CORRELATION_ID = 0


class ForeignRequests(Nemesis):
    """Sends requests of another cluster with a high epoch."""

    kind = Fault.STRANGER

    def _strike(self) -> bool:
        targets = self._targets
        receiver = self._dice.pick(targets.machines)
        _post(targets, receiver, self._draw_request())
        return True

    def _draw_request(self) -> OutgoingRequest:
        sender = self._dice.pick([machine.node_id for machine in self._targets.machines])
        match self._dice.draw(4):
            case 0:
                return FetchRequest(
                    cluster_id=_FOREIGN_CLUSTER_ID,
                    replica=ReplicaKey(sender),
                    epoch=FOREIGN_EPOCH,
                    fetch_offset=Offset(1_000_000),
                    last_fetched_epoch=FOREIGN_EPOCH,
                    max_wait_ms=_NO_WAIT_MS,
                    max_bytes=1,
                )
            case 1:
                return BeginQuorumEpochRequest(
                    cluster_id=_FOREIGN_CLUSTER_ID,
                    leader=LeaderAndEpoch(epoch=FOREIGN_EPOCH, leader_id=NodeId(sender)),
                )
            case 2:
                return EndQuorumEpochRequest(
                    cluster_id=_FOREIGN_CLUSTER_ID,
                    leader=LeaderAndEpoch(epoch=FOREIGN_EPOCH, leader_id=NodeId(sender)),
                )
            case _:
                return VoteRequest(
                    cluster_id=_FOREIGN_CLUSTER_ID,
                    epoch=FOREIGN_EPOCH,
                    candidate=ReplicaKey(sender),
                    candidate_log_end=OffsetAndEpoch(epoch=Epoch(FOREIGN_EPOCH - 1), offset=Offset(1_000_000)),
                    pre_vote=self._dice.draw(2) == 0,
                )


class ForgedRequests(Nemesis):
    """Sends requests in the names of voters, with epochs so high that few or none would be left for elections."""

    kind = Fault.FORGERY

    def _strike(self) -> bool:
        targets = self._targets
        receiver, request = self._dice.pick(targets.machines), self._draw_request()
        # A new node may be far behind its quorum, and adopts higher epochs (EPOCH-1). An observer may get an empty disk
        # before the request arrives, and is a new node then.
        if receiver.is_voter and receiver.stored.epoch:
            _post(targets, receiver, request)
        return True

    def _draw_request(self) -> OutgoingRequest:
        sender = self._dice.pick([machine.node_id for machine in self._targets.machines])
        epoch = Epoch(self._dice.pick((2 * LARGEST_STEP, HIGHEST_ADOPTED_EPOCH + 1, LAST_EPOCH)))
        match self._dice.draw(3):
            case 0:
                return BeginQuorumEpochRequest(
                    cluster_id=CLUSTER_ID, leader=LeaderAndEpoch(epoch=epoch, leader_id=NodeId(sender))
                )
            case 1:
                return EndQuorumEpochRequest(
                    cluster_id=CLUSTER_ID, leader=LeaderAndEpoch(epoch=epoch, leader_id=NodeId(sender))
                )
            case _:
                return VoteRequest(
                    cluster_id=CLUSTER_ID,
                    epoch=epoch,
                    candidate=ReplicaKey(sender),
                    candidate_log_end=OffsetAndEpoch(epoch=Epoch(epoch - 1), offset=Offset(1_000_000)),
                    pre_vote=self._dice.draw(2) == 0,
                )


def is_forged(request: Request) -> bool:
    """Return whether a request is one of `ForgedRequests`: no election of a run reaches such an epoch."""
    return request.cluster_id == CLUSTER_ID and request.epoch > LARGEST_STEP


def _post(targets: Targets, receiver: Machine, request: OutgoingRequest) -> None:
    """Send a request; on a secured quorum as the user of the node that it names, so that only the core refuses it."""
    version = api_of(request).versions.highest
    frame = encode_request(
        request_to_wire(request, OURS, version), version, correlation_id=_CORRELATION_ID, client_id="foreign"
    )
    sender = _sender_of(request)
    targets.post_office.send_frame(
        _FOREIGN_ADDRESS - sender,
        endpoint_of(receiver.node_id),
        frame,
        on_response=lambda _: None,
        identity=None if targets.access is None else targets.access.node(sender),
    )


def _sender_of(request: OutgoingRequest) -> NodeId:
    match request:
        case VoteRequest():
            return request.candidate.node_id
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            assert request.leader.leader_id is not None, "it names a leader"
            return request.leader.leader_id
        case RepairFetchRequest():
            raise AssertionError("no node of another cluster repairs its log with ours")
        case _:
            return request.replica.node_id
