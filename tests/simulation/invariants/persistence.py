"""Invariants of persistence: what must be durable before a message says it."""

from __future__ import annotations

from raft.core.effects import SendRequest, SendResponse
from raft.core.events import Started
from raft.core.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    ReadIndexResponse,
    RequestRefused,
    VoteRequest,
    VoteResponse,
)
from raft.core.roles import election_state
from raft.types import Epoch, NodeId
from tests.simulation.invariants.elections import stored_vote
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.machine import Machine
from tests.simulation.step import Step


class StoredBeforeSent(Invariant):
    """The epoch, the vote and the leadership that a message states are durable at its sender before it is sent."""

    rules = ("STATE-5", "ROLE-10", "VOTE-1", "VOTE-11")

    def request_sent(self, machine: Machine, order: SendRequest) -> None:
        request = order.request
        self._check_epoch(machine, request.epoch)
        match request:
            case VoteRequest(pre_vote=False):
                self._check_vote(machine, request.epoch, machine.node_id)
            case BeginQuorumEpochRequest():
                stored = machine.stored
                is_stored = (stored.epoch, stored.leader_id) == (request.epoch, machine.node_id)
                self.require(is_stored, "%s announces epoch %s, stored is %s", machine, request.epoch, stored)
            case _:
                pass

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        response = order.response
        if isinstance(response, RequestRefused | ReadIndexResponse):
            return
        self._check_epoch(machine, response.leader.epoch)
        if isinstance(response, VoteResponse) and response.vote_granted:
            assert isinstance(request, VoteRequest), "only a vote is granted"
            if not request.pre_vote:
                self._check_vote(machine, request.epoch, request.candidate.node_id)

    def _check_epoch(self, machine: Machine, epoch: Epoch) -> None:
        stored = machine.stored.epoch
        self.require(epoch <= stored, "%s sends its epoch %s, stored is %s", machine, epoch, stored)

    def _check_vote(self, machine: Machine, epoch: Epoch, candidate: NodeId) -> None:
        stored = machine.stored
        is_stored = (stored.epoch, stored_vote(stored)) == (epoch, candidate)
        self.require(is_stored, "%s votes for %s in epoch %s, stored is %s", machine, candidate, epoch, stored)


class RoleIsStored(Invariant):
    """Between two events the election state of a node's role is durable."""

    rules = ("TEST-3", "ROLE-11", "STATE-16")

    def role_changed(self, step: Step) -> None:
        machine = step.machine
        if isinstance(step.event, Started):
            return
        known, found = election_state(step.role_before), machine.stored
        is_same = (known.epoch, known.leader_id, stored_vote(known)) == (
            found.epoch,
            found.leader_id,
            stored_vote(found),
        )
        self.require(is_same, "%s: the role is %s, stored is %s", machine, step.role_before, found)


class FetchOffsetIsDurable(Invariant):
    """Everything below the offset of a replica's fetch is durable at that replica."""

    rules = ("FETCH-8", "FETCH-25")

    def request_sent(self, machine: Machine, order: SendRequest) -> None:
        if isinstance(order.request, FetchRequest):
            fetch_offset, durable_end = order.request.fetch_offset, machine.written.durable_end
            self.require(
                fetch_offset <= durable_end, "%s fetches from %s, durable is %s", machine, fetch_offset, durable_end
            )
