"""Bugs of linearizable reads: a leader that was replaced says where its log ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from raft.core import fetches, read_index, responses
from raft.core.messages import FetchRequest
from raft.core.progress import QuorumProgress
from raft.core.read_index import voter_confirmed, wait_for_commit
from raft.core.request_manager import InflightRequest
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.runtime.requests import offsets
from raft.runtime.requests.served import SERVED
from raft.wire.messages import list_offsets
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation

_CAUGHT_BY = ("LatestIsLinearizable", "HistoryIsLinearizable", "FoundOffsetsAreCorrect", "AppendResponsesAreCorrect")


@mutation(breaks=("READ-1",), caught_by=_CAUGHT_BY)
def read_needs_no_confirmation(patch: pytest.MonkeyPatch) -> None:
    """A leader responds to a read at once."""

    def respond_to_all(state: State, _role: object) -> None:
        for read in state.reads.take_all():
            if read.then is None:
                state.respond_to_read(read, ErrorCode.NONE)
            else:
                wait_for_commit(state, read.then)

    patch.setattr(read_index, "_respond_to_confirmed", respond_to_all)


@mutation(breaks=("READ-1",), caught_by=_CAUGHT_BY, needs=needs.successors)
def one_voter_less_confirms(patch: pytest.MonkeyPatch) -> None:
    """A read waits for one voter less than a majority: in a quorum of three the leader confirms itself."""

    def is_confirmed(progress: QuorumProgress, first_request: int) -> bool:
        confirmed = len(progress.voters) - len(progress.voters_to_confirm(first_request))
        return confirmed >= progress._majority_without_leader - 1

    patch.setattr(QuorumProgress, "is_confirmed", is_confirmed)


@mutation(breaks=("READ-2",), caught_by=_CAUGHT_BY)
def confirmation_lasts(patch: pytest.MonkeyPatch) -> None:
    """A voter that has confirmed the leader once confirms all later reads of its epoch."""

    def is_confirmed(progress: QuorumProgress, _first_request: int) -> bool:
        return len(progress._confirmed) >= progress._majority_without_leader

    patch.setattr(QuorumProgress, "is_confirmed", is_confirmed)


@mutation(breaks=("READ-2",), caught_by=_CAUGHT_BY, needs=needs.successors)
def fetch_confirms_reads(patch: pytest.MonkeyPatch) -> None:
    """A fetch of a voter confirms the leader, though it may have been sent long before the read was requested."""
    record_progress = fetches._record_progress

    def confirm(state: State, request: FetchRequest, now_ms: int) -> None:
        record_progress(state, request, now_ms)
        if isinstance(state.role, Leader) and state.config.voters.is_voter(request.replica):
            voter_confirmed(state, request.replica.node_id, state.requests.next_number)

    patch.setattr(fetches, "_record_progress", confirm)


@mutation(breaks=("READ-2",), caught_by=_CAUGHT_BY, needs=needs.successors)
def announcement_confirms_later_reads(patch: pytest.MonkeyPatch) -> None:
    """The response to a BeginQuorumEpoch also confirms the leader for reads that were requested after it was sent."""

    def confirm(state: State, inflight: InflightRequest) -> None:
        voter_confirmed(state, inflight.node_id, state.requests.next_number)

    patch.setattr(responses, "_on_endorsement", confirm)


@mutation(breaks=("READ-1",), caught_by=_CAUGHT_BY, needs=needs.successors)
def handler_does_not_wait_for_the_confirmation(patch: pytest.MonkeyPatch) -> None:
    """The handler of ListOffsets serves a linearizable request like any other."""
    served = SERVED[list_offsets.ListOffsetsRequest]
    patch.setitem(SERVED, list_offsets.ListOffsetsRequest, replace(served, handle=offsets._list_offsets))


@mutation(breaks=("READ-1",), caught_by=_CAUGHT_BY, needs=needs.successors)
def client_asks_for_any_end(patch: pytest.MonkeyPatch) -> None:
    """The client does not request a linearizable offset."""
    request_class = list_offsets.ListOffsetsRequest

    def make(*, is_linearizable: bool, **fields: Any) -> list_offsets.ListOffsetsRequest:
        return request_class(**fields)

    patch.setattr("raft.client.calls.offsets.ListOffsetsRequest", make)
