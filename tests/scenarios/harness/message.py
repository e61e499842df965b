"""What travels between two nodes: a request, or the answer to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from raft.core.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    Request,
    Response,
    VoteRequest,
)
from raft.types import NodeId


class Kind(StrEnum):
    """The requests of the quorum by the names that scenarios use."""

    PRE_VOTE = "pre-vote"
    VOTE = "vote"
    BEGIN_QUORUM_EPOCH = "begin-quorum-epoch"
    END_QUORUM_EPOCH = "end-quorum-epoch"
    FETCH = "fetch"


def kind_of(request: Request) -> Kind:
    """The name of a request."""
    match request:
        case VoteRequest(pre_vote=pre_vote):
            return Kind.PRE_VOTE if pre_vote else Kind.VOTE
        case BeginQuorumEpochRequest():
            return Kind.BEGIN_QUORUM_EPOCH
        case EndQuorumEpochRequest():
            return Kind.END_QUORUM_EPOCH
        case FetchRequest():
            return Kind.FETCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and whom its answer goes to.

    Fields:
        number: the asker's own number for it; None for a request made by hand, whose answer is only printed.
        asker_life: which life of the asker asked: an answer that finds it restarted is nobody's.
    """

    asker: NodeId
    asker_life: int
    asked: NodeId
    number: int | None
    request: Request

    @property
    def kind(self) -> Kind:
        """The name of the request."""
        return kind_of(self.request)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The request of an exchange or, with `response`, its answer."""

    exchange: Exchange
    response: Response | None = None

    @property
    def is_answer(self) -> bool:
        """Whether it is the answer."""
        return self.response is not None

    @property
    def sender(self) -> NodeId:
        """Where it comes from."""
        return self.exchange.asked if self.is_answer else self.exchange.asker

    @property
    def receiver(self) -> NodeId:
        """Where it goes to."""
        return self.exchange.asker if self.is_answer else self.exchange.asked
