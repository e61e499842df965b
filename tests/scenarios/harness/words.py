"""How requests, responses, roles and logs are printed. Unknown values are left out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from raft.core.log_view import LogView
from raft.core.messages import (
    AppendResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RepairFetchRequest,
    Request,
    RequestRefused,
    Response,
    VoteRequest,
    VoteResponse,
)
from raft.core.roles import Role, election_state
from raft.errors import ErrorCode, error_name
from raft.types import ElectionState, NodeId, OffsetAndEpoch
from tests.scenarios.harness.kinds import kind_of
from tests.simulation.message import Message


def _pairs(**values: object) -> str:
    return "".join(f" {key.replace('_', '-')}={value}" for key, value in values.items() if value is not None)


def of_message(message: Message) -> str:
    """Return the text of a request or a response, with the name of its kind."""
    request, response = message.request, message.response
    assert request is not None and not isinstance(request, FetchSnapshotRequest | RepairFetchRequest), "of a sound log"  # noqa: PT018
    if response is None:
        return of_request(request)
    return f"{kind_of(request)} {of_response(response)}"


def of_request(request: Request) -> str:
    """Return the text of a request, without its sender."""
    return f"{kind_of(request)}{_fields(request)}"


def _fields(request: Request) -> str:
    match request:
        case VoteRequest():
            end = request.candidate_log_end
            return _pairs(epoch=request.epoch, last_epoch=end.epoch, log_end=end.offset)
        case BeginQuorumEpochRequest():
            return _pairs(epoch=request.epoch)
        case EndQuorumEpochRequest():
            successors = of_ids(successor.node_id for successor in request.preferred_successors)
            return _pairs(epoch=request.epoch, successors=successors or "none")
        case FetchRequest():
            return _pairs(
                epoch=request.epoch,
                offset=request.fetch_offset,
                last_epoch=request.last_fetched_epoch,
                high_watermark=request.high_watermark,
            )
        case _:
            assert_never(request)


def of_response(response: Response) -> str:
    """Return the text of a response, without the name of its kind."""
    if isinstance(response, RequestRefused):
        return f"refused as a whole: {error_name(response.error)}"
    state = _pairs(epoch=response.leader.epoch, leader=response.leader.leader_id)
    if response.error != ErrorCode.NONE:
        return f"{error_name(response.error)}{state}"
    match response:
        case VoteResponse():
            return ("granted" if response.vote_granted else "refused") + state
        case BeginQuorumEpochResponse() | EndQuorumEpochResponse():
            return f"ok{state}"
        case FetchResponse():
            return f"ok{state}{_fetched(response)}"
        case FetchSnapshotResponse():
            raise AssertionError("no node here has snapshots to give")
        case _:
            assert_never(response)


def _fetched(response: FetchResponse) -> str:
    batches = response.batches
    records = f"{batches[0].header.base_offset}..{batches[-1].header.end_offset}" if batches else None
    diverging = of_point(response.diverging) if response.diverging else ""
    return _pairs(high_watermark=response.high_watermark, records=records) + (diverging and f", diverging:{diverging}")


def of_ids(node_ids: Iterable[NodeId]) -> str:
    """Return node ids as in the command `quorum`."""
    return ",".join(str(node_id) for node_id in node_ids)


def of_point(point: OffsetAndEpoch) -> str:
    """Return the text of an epoch and its end offset."""
    return _pairs(epoch=point.epoch, end=point.offset)


def of_append_response(response: AppendResponse) -> str:
    """Return the text of the response to an append."""
    if response.error == ErrorCode.NONE:
        return f"committed at offset {response.base_offset}"
    return f"{error_name(response.error)}{_pairs(epoch=response.leader.epoch, leader=response.leader.leader_id)}"


def of_role(role: Role) -> str:
    """Return the text of a role with its epoch, leader and vote."""
    state = election_state(role)
    vote = None if state.voted_key is None else state.voted_key.node_id
    return f"{type(role).__name__}({role.epoch}){_pairs(leader=state.leader_id, vote=vote)}"


def of_election_state(state: ElectionState) -> str:
    """Return the text of a stored election state."""
    vote = state.voted_key.node_id if state.voted_key else "none"
    leader = "none" if state.leader_id is None else state.leader_id
    return _pairs(epoch=state.epoch, leader=leader, vote=vote).lstrip()


def of_log(log: LogView) -> str:
    """Return a log as in the command `node`: the start of each epoch, and the end."""
    epochs = ",".join(f"{entry.epoch}@{entry.start_offset}" for entry in log.epochs)
    return f"{epochs}..{log.end_offset}" if epochs else "empty"
