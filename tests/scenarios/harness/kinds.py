"""The requests of the quorum by the names that scenarios use."""

from __future__ import annotations

from enum import StrEnum

from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    OutgoingRequest,
    RepairFetchRequest,
    VoteRequest,
)


class Kind(StrEnum):
    """A kind of request."""

    PRE_VOTE = "pre-vote"
    VOTE = "vote"
    BEGIN_QUORUM_EPOCH = "begin-quorum-epoch"
    END_QUORUM_EPOCH = "end-quorum-epoch"
    FETCH = "fetch"


def kind_of(request: OutgoingRequest) -> Kind:
    """The name of a request."""
    match request:
        case VoteRequest(pre_vote=pre_vote):
            return Kind.PRE_VOTE if pre_vote else Kind.VOTE
        case BeginQuorumEpochRequest():
            return Kind.BEGIN_QUORUM_EPOCH
        case EndQuorumEpochRequest():
            return Kind.END_QUORUM_EPOCH
        case FetchRequest() | RepairFetchRequest():
            return Kind.FETCH
        case FetchSnapshotRequest():
            raise AssertionError("no node here has snapshots to give")
