"""Bugs of linearizable reads: a leader that was replaced says where its log ends."""

from __future__ import annotations

from typing import Any

import pytest

from raft.core import read_index
from raft.core.progress import QuorumProgress
from raft.core.read_index import wait_for_commit
from raft.core.state import State
from raft.errors import ErrorCode
from raft.runtime.requests import handlers, offsets
from raft.types import ReplicaKey
from raft.wire.messages import list_offsets
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("READ-1",), caught_by=("LatestIsLinearizable", "FoundOffsetsAreCorrect", "AppendResponsesAreCorrect"))
def read_needs_no_confirmation(patch: pytest.MonkeyPatch) -> None:
    """A leader responds to a read at once."""

    def respond_to_all(state: State, _role: object) -> None:
        for read in state.reads.take_all():
            if read.then is None:
                state.respond_to_append(read.request_id, ErrorCode.NONE)
            else:
                wait_for_commit(state, read.then)

    patch.setattr(read_index, "_respond_to_confirmed", respond_to_all)


@mutation(breaks=("READ-1",), caught_by=("LatestIsLinearizable", "FoundOffsetsAreCorrect", "AppendResponsesAreCorrect"))
def one_voter_less_confirms(patch: pytest.MonkeyPatch) -> None:
    """A read waits for one voter less than a majority."""

    def confirmed_round(progress: QuorumProgress, *, otherwise: int) -> int:
        needed = progress._majority_without_leader - 1
        rounds = sorted(progress._confirmed.values(), reverse=True)
        return otherwise if needed <= 0 else rounds[needed - 1] if len(rounds) >= needed else 0

    patch.setattr(QuorumProgress, "confirmed_round", confirmed_round)


@mutation(breaks=("READ-1",), caught_by=("LatestIsLinearizable", "FoundOffsetsAreCorrect", "AppendResponsesAreCorrect"))
def observers_confirm(patch: pytest.MonkeyPatch) -> None:
    """The fetch of an observer counts like that of a voter."""
    observer_fetched = QuorumProgress.observer_fetched

    def fetched(progress: QuorumProgress, observer: ReplicaKey, *args: Any, **named: Any) -> None:
        observer_fetched(progress, observer, *args, **named)
        progress.voter_confirmed(observer.node_id, 1 << 60)

    patch.setattr(QuorumProgress, "observer_fetched", fetched)


@mutation(breaks=("READ-1",), caught_by=("LatestIsLinearizable", "FoundOffsetsAreCorrect"))
def handler_does_not_wait_for_the_confirmation(patch: pytest.MonkeyPatch) -> None:
    """The handler of ListOffsets serves a linearizable request like any other."""
    patch.setattr(handlers, "list_offsets", offsets._list_offsets)


@mutation(breaks=("READ-1",), caught_by=("LatestIsLinearizable", "FoundOffsetsAreCorrect"))
def client_asks_for_any_end(patch: pytest.MonkeyPatch) -> None:
    """The client does not request a linearizable offset."""
    request_class = list_offsets.ListOffsetsRequest

    def make(*, is_linearizable: bool, **fields: Any) -> list_offsets.ListOffsetsRequest:
        return request_class(**fields)

    patch.setattr("raft.client.calls.offsets.ListOffsetsRequest", make)
