"""Bugs of the mapping between the core's messages and those of the wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from raft.core import moves
from raft.core.messages import FetchResponse, RequestRefused, VoteRequest
from raft.core.state import State
from raft.types import LeaderAndEpoch, Offset
from raft.wire.mapping.elections import VoteMapping
from raft.wire.mapping.fetches import FetchMapping
from raft.wire.messages import fetch as wire
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("PREVOTE-1", "TEST-16"), caught_by=("RequestsSurviveEncoding",))
def pre_vote_decoded_as_a_standard_vote(patch: pytest.MonkeyPatch) -> None:
    """A request for a pre-vote is decoded as one for a standard vote."""
    read = VoteMapping.request_from_wire

    def read_as_vote(*arguments: object) -> object:
        request = read(*arguments)  # type: ignore[arg-type]
        return replace(request, pre_vote=False) if isinstance(request, VoteRequest) else request

    patch.setattr(VoteMapping, "request_from_wire", read_as_vote)


@mutation(breaks=("FETCH-10", "HW-6"), caught_by=("QuorumRecovers",))
def high_watermark_not_decoded(patch: pytest.MonkeyPatch) -> None:
    """The high watermark of a fetch response is dropped when it is decoded."""
    _change_fetch_responses(patch, lambda response: replace(response, high_watermark=None))


@mutation(breaks=("HW-6", "FETCH-10"), caught_by=("CommittedNeverChanges", "ReadsAreCommitted", "NoUnexpectedErrors"))
def high_watermark_decoded_one_too_high(patch: pytest.MonkeyPatch) -> None:
    """The high watermark of a fetch response is decoded one too high."""
    _change_fetch_responses(
        patch,
        lambda response: (
            response
            if response.high_watermark is None
            else replace(response, high_watermark=Offset(response.high_watermark + 1))
        ),
    )


@mutation(breaks=("DIVERGE-5",), caught_by=("QuorumRecovers", "CommittedNeverChanges"))
def diverging_epoch_not_decoded(patch: pytest.MonkeyPatch) -> None:
    """The diverging epoch of a fetch response is dropped when it is decoded."""
    _change_fetch_responses(patch, lambda response: replace(response, diverging=None))


@mutation(breaks=("GEN-10",), caught_by=("QuorumRecovers", "HighWatermarkIsSentInTime"))
def endpoints_of_the_previous_leader_kept(patch: pytest.MonkeyPatch) -> None:
    """A node that follows a new leader keeps the endpoints of the previous one."""
    become_follower = moves.become_follower

    def follow_at_old_endpoints(state: State, leader: LeaderAndEpoch, *, now_ms: int, reason: str) -> None:
        endpoints = state.leader_endpoints or leader.endpoints
        become_follower(state, replace(leader, endpoints=endpoints), now_ms=now_ms, reason=reason)

    patch.setattr(moves, "become_follower", follow_at_old_endpoints)


def _change_fetch_responses(patch: pytest.MonkeyPatch, change: Callable[[FetchResponse], FetchResponse]) -> None:
    read = FetchMapping.response_from_wire

    def read_and_change(mapping: FetchMapping, message: wire.FetchResponse) -> FetchResponse | RequestRefused:
        response = read(mapping, message)
        return change(response) if isinstance(response, FetchResponse) else response

    patch.setattr(FetchMapping, "response_from_wire", read_and_change)
