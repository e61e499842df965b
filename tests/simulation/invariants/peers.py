"""Invariants between nodes: responses that a node must not send, and requests that it must refuse."""

from __future__ import annotations

from raft.core.effects import SendResponse
from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    Request,
    RequestRefused,
    VoteRequest,
    VoteResponse,
)
from raft.errors import ErrorCode, error_name
from raft.types import Epoch, NodeId
from tests.simulation.faults.foreign_requests import FOREIGN_EPOCH, is_forged
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.machine import Machine
from tests.simulation.starting import CLUSTER_ID
from tests.simulation.step import Step

_FATAL_TO_JAVA_NODES = (ErrorCode.INVALID_REQUEST, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


class NoResponseHaltsPeers(Invariant):
    """No response makes a Java node stop: neither INVALID_REQUEST, nor a vote granted after it was refused."""

    rules = ("ERROR-7",)

    def __init__(self) -> None:
        self._refused: set[tuple[NodeId, int, Epoch, NodeId]] = set()

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        response = order.response
        if isinstance(request, Request) and is_forged(request):
            return
        if isinstance(request, VoteRequest) and request.candidate.node_id == machine.node_id:
            return  # Its own request has come back from a wrong address.
        self.require(
            response.error not in _FATAL_TO_JAVA_NODES,
            "%s responds %s to %s",
            machine,
            error_name(response.error),
            request,
        )
        if isinstance(response, VoteResponse) and response.error == ErrorCode.NONE:
            assert isinstance(request, VoteRequest), "the response to a vote"
            if not request.pre_vote:
                self._check_vote(machine, request, response)

    def _check_vote(self, machine: Machine, request: VoteRequest, response: VoteResponse) -> None:
        # A restart may lose unflushed records that a voter has compared, and a candidate requests all votes again.
        vote = (machine.node_id, machine.incarnation, request.epoch, request.candidate.node_id)
        if response.vote_granted:
            self.require(vote not in self._refused, "%s grants %s after it refused it", machine, request)
        else:
            self._refused.add(vote)


class ForeignRequestsAreRefused(Invariant):
    """Requests of another cluster and of epochs out of reach are refused, and their epochs are not adopted."""

    rules = ("CLUSTERID-2", "CLUSTERID-3", "SCENARIO-39", "EPOCH-1")

    def role_changed(self, step: Step) -> None:
        epoch = step.role_after.epoch
        self.require(epoch < FOREIGN_EPOCH, "%s adopted epoch %s of a foreign request", step.machine, epoch)

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if not isinstance(request, VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest):
            return
        if is_forged(request):
            is_refused = order.response.error == ErrorCode.INVALID_REQUEST
            self.require(is_refused, "%s responds %s to a forged request", machine, order.response)
        if request.cluster_id == CLUSTER_ID:
            return
        is_refused = order.response == RequestRefused(error=ErrorCode.INCONSISTENT_CLUSTER_ID)
        self.require(is_refused, "%s responds %s to a request of another cluster", machine, order.response)
