"""Short names for messages, with plain numbers, so that a row of a table is easy to read.

The defaults are the most frequent values: our cluster, our partition, no receiver; a leader is named
with its one endpoint.
"""

from __future__ import annotations

from collections.abc import Iterable

from raft.core.events import AppendRequested
from raft.core.messages import (
    AppendResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    ClientFetchRequest,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from raft.errors import ErrorCode
from raft.transactions import TransactionalProducer
from raft.types import Batch, BatchHeader, Endpoint, Epoch, LeaderAndEpoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey

US = 1
"""The node under test."""

CLUSTER_ID = "our-cluster"

REQUEST_ID = 77
"""Number of the request that a test makes."""

LOG_END = (3, 10)
"""End of the log of every node by default: epoch of the last record, and offset."""


def endpoint(node_id: int) -> Endpoint:
    """Where a node listens."""
    return Endpoint(f"node-{node_id}", 9000 + node_id)


def key(replica: int | ReplicaKey) -> ReplicaKey:
    """The key of a replica, without a directory id where only a number is given."""
    return replica if isinstance(replica, ReplicaKey) else ReplicaKey(NodeId(replica))


def maybe_key(replica: int | ReplicaKey | None) -> ReplicaKey | None:
    """The key of a replica, if any."""
    return None if replica is None else key(replica)


def maybe_node(node_id: int | None) -> NodeId | None:
    """A node id, if any."""
    return None if node_id is None else NodeId(node_id)


def maybe_offset(offset: int | None) -> Offset | None:
    """An offset, if any."""
    return None if offset is None else Offset(offset)


def maybe_epoch(epoch: int | None) -> Epoch | None:
    """An epoch, if any."""
    return None if epoch is None else Epoch(epoch)


def point(epoch: int, offset: int) -> OffsetAndEpoch:
    """A point in a log, epoch first as the rules write it."""
    return OffsetAndEpoch(epoch=Epoch(epoch), offset=Offset(offset))


def maybe_point(epoch_and_offset: tuple[int, int] | None) -> OffsetAndEpoch | None:
    """A point in a log, if any."""
    return None if epoch_and_offset is None else point(*epoch_and_offset)


def led_by(
    leader: int | None, *, epoch: int, at: tuple[Endpoint, ...] | None = None, address_known: bool = True
) -> LeaderAndEpoch:
    """The leader of an epoch, at its own address by default."""
    own = () if leader is None or not address_known else (endpoint(leader),)
    return LeaderAndEpoch(epoch=Epoch(epoch), leader_id=maybe_node(leader), endpoints=own if at is None else at)


# Requests


def vote_request(
    *,
    epoch: int,
    by: int | ReplicaKey = 2,
    log_end: tuple[int, int] = LOG_END,
    to: int | ReplicaKey | None = None,
    pre_vote: bool = False,
    cluster: str | None = CLUSTER_ID,
) -> VoteRequest:
    """A request for a standard vote."""
    return VoteRequest(
        cluster_id=cluster,
        epoch=Epoch(epoch),
        candidate=key(by),
        candidate_log_end=point(*log_end),
        pre_vote=pre_vote,
        voter=maybe_key(to),
    )


def pre_vote_request(
    *,
    epoch: int,
    by: int | ReplicaKey = 2,
    log_end: tuple[int, int] = LOG_END,
    to: int | ReplicaKey | None = None,
) -> VoteRequest:
    """A request for a pre-vote."""
    return vote_request(epoch=epoch, by=by, log_end=log_end, to=to, pre_vote=True)


def begin_request(
    *,
    epoch: int,
    leader: int | None = 2,
    endpoints: tuple[Endpoint, ...] = (),
    to: int | ReplicaKey | None = None,
    cluster: str | None = CLUSTER_ID,
) -> BeginQuorumEpochRequest:
    """A leader announces itself."""
    return BeginQuorumEpochRequest(
        cluster_id=cluster,
        leader=led_by(leader, epoch=epoch, at=endpoints),
        voter=maybe_key(to),
    )


def end_request(
    *,
    epoch: int,
    leader: int | None = 2,
    successors: Iterable[int | ReplicaKey] = (),
    endpoints: tuple[Endpoint, ...] = (),
    cluster: str | None = CLUSTER_ID,
) -> EndQuorumEpochRequest:
    """A leader resigns."""
    return EndQuorumEpochRequest(
        cluster_id=cluster,
        leader=led_by(leader, epoch=epoch, at=endpoints),
        preferred_successors=tuple(key(successor) for successor in successors),
    )


def fetch_request(
    *,
    by: int | ReplicaKey,
    epoch: int,
    offset: int,
    last_epoch: int,
    max_wait_ms: int = 500,
    max_bytes: int = 1 << 20,
    high_watermark: int | None = None,
    wants_high_watermark: bool = False,
    cluster: str | None = CLUSTER_ID,
) -> FetchRequest:
    """A replica fetches."""
    return FetchRequest(
        cluster_id=cluster,
        replica=key(by),
        epoch=Epoch(epoch),
        fetch_offset=Offset(offset),
        last_fetched_epoch=Epoch(last_epoch),
        max_wait_ms=max_wait_ms,
        max_bytes=max_bytes,
        high_watermark=maybe_offset(high_watermark),
        wants_high_watermark=wants_high_watermark,
    )


def voter_2_at(
    offset: int,
    *,
    last_epoch: int = 5,
    epoch: int = 5,
    max_wait_ms: int = 500,
    high_watermark: int | None = None,
    wants_high_watermark: bool = False,
) -> FetchRequest:
    """Voter 2 fetches from the leader of epoch 5, whose log ends at 11 with the first record of that epoch."""
    return fetch_request(
        by=2,
        epoch=epoch,
        offset=offset,
        last_epoch=last_epoch,
        max_wait_ms=max_wait_ms,
        high_watermark=high_watermark,
        wants_high_watermark=wants_high_watermark,
    )


def our_fetch(
    *,
    epoch: int,
    log_end: tuple[int, int] = LOG_END,
    high_watermark: int | None = None,
    by: int | ReplicaKey = US,
    max_bytes: int = 1 << 20,
) -> FetchRequest:
    """The fetch that the node under test sends."""
    last_epoch, offset = log_end
    return fetch_request(
        by=by,
        epoch=epoch,
        offset=offset,
        last_epoch=last_epoch,
        max_bytes=max_bytes,
        high_watermark=high_watermark,
        wants_high_watermark=True,
    )


def our_end_request(*, epoch: int, successors: Iterable[int] = ()) -> EndQuorumEpochRequest:
    """The EndQuorumEpoch request that the node under test sends."""
    return end_request(epoch=epoch, leader=US, successors=successors, endpoints=(endpoint(US),))


def client_fetch(
    offset: int,
    *,
    epoch: int | None = None,
    last_epoch: int | None = None,
    max_wait_ms: int = 500,
    wait_until_bytes: int = 0,
    read_committed: bool = False,
) -> ClientFetchRequest:
    """A client fetches."""
    return ClientFetchRequest(
        fetch_offset=Offset(offset),
        max_wait_ms=max_wait_ms,
        max_bytes=1 << 20,
        epoch=maybe_epoch(epoch),
        last_fetched_epoch=maybe_epoch(last_epoch),
        read_committed=read_committed,
        wait_until_bytes=wait_until_bytes,
    )


# Responses, ours and those of others. A leader of unknown address is named by its id alone.


def vote_response(
    *,
    epoch: int,
    granted: bool = False,
    leader: int | None = None,
    error: int = ErrorCode.NONE,
    address_known: bool = True,
) -> VoteResponse:
    """The response to a Vote."""
    return VoteResponse(
        error=error,
        leader=led_by(leader, epoch=epoch, address_known=address_known),
        vote_granted=granted,
    )


def begin_response(
    *, epoch: int, leader: int | None, error: int = ErrorCode.NONE, address_known: bool = True
) -> BeginQuorumEpochResponse:
    """The response to a new leader."""
    return BeginQuorumEpochResponse(
        error=error,
        leader=led_by(leader, epoch=epoch, address_known=address_known),
    )


def end_response(
    *, epoch: int, leader: int | None, error: int = ErrorCode.NONE, address_known: bool = True
) -> EndQuorumEpochResponse:
    """The response to a leader that resigns."""
    return EndQuorumEpochResponse(
        error=error,
        leader=led_by(leader, epoch=epoch, address_known=address_known),
    )


def fetch_response(
    *,
    epoch: int,
    leader: int | None,
    error: int = ErrorCode.NONE,
    high_watermark: int | None = None,
    diverging: tuple[int, int] | None = None,
    snapshot: tuple[int, int] | None = None,
    batches: Iterable[Batch] = (),
    damage: str | None = None,
    log_start: int = 0,
    address_known: bool = True,
    last_stable_offset: int | None = None,
) -> FetchResponse:
    """The response to a fetch; without transactions the last stable offset is the high watermark."""
    return FetchResponse(
        error=error,
        leader=led_by(leader, epoch=epoch, address_known=address_known),
        high_watermark=maybe_offset(high_watermark),
        last_stable_offset=maybe_offset(high_watermark if last_stable_offset is None else last_stable_offset),
        log_start_offset=Offset(log_start),
        diverging=maybe_point(diverging),
        snapshot=maybe_point(snapshot),
        batches=tuple(batches),
        damage=damage,
    )


def append_response(
    *,
    epoch: int,
    leader: int | None = US,
    base_offset: int | None = None,
    error: int = ErrorCode.NONE,
    message: str | None = None,
    producer: TransactionalProducer | None = None,
) -> AppendResponse:
    """The response to an append."""
    return AppendResponse(
        error=error,
        message=message,
        base_offset=maybe_offset(base_offset),
        producer=producer,
        leader=led_by(leader, epoch=epoch),
    )


# Records


def batch(
    base_offset: int,
    *,
    epoch: int,
    records: int = 1,
    control_types: tuple[int, ...] = (),
    producer: tuple[int, int, int] | None = None,
) -> Batch:
    """One record batch; `producer` is (id, epoch, first sequence)."""
    producer_id, producer_epoch, sequence = producer or (None, -1, -1)
    header = BatchHeader(
        base_offset=Offset(base_offset),
        last_offset=Offset(base_offset + records - 1),
        epoch=Epoch(epoch),
        size_bytes=100,
        record_count=records,
        control_types=control_types,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
    )
    return Batch(header=header, payload=b"records")


def append_of(
    *,
    records: int = 1,
    producer: tuple[int, int, int] | None = None,
    timeout_ms: int = 5000,
    request_id: int = REQUEST_ID,
) -> AppendRequested:
    """A client appends records; the client cannot know their offset or epoch."""
    return AppendRequested(
        request_id=request_id, batch=batch(0, epoch=0, records=records, producer=producer), timeout_ms=timeout_ms
    )
