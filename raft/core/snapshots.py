"""Snapshots of this node's log: serving them, and removing what they replace (rules SNAPSHOT, FETCH-18).

Source: Kafka KafkaRaftClient.handleFetchSnapshotRequest, maybeClean.
"""

from __future__ import annotations

from raft.core.checks import cluster_refusal
from raft.core.effects import DeleteBeforeSnapshot, RollLog
from raft.core.events import DeleteBeforeSnapshotRequested
from raft.core.messages import FetchSnapshotRequest, FetchSnapshotResponse
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.transactions import ProducerStateImage
from raft.types import OffsetAndEpoch


def on_fetch_snapshot(state: State, request_id: int, request: FetchSnapshotRequest, now_ms: int) -> None:
    """Check the request of a replica for a piece of a snapshot; without an error, the runtime adds the piece.

    It counts for check quorum, because a voter that loads a snapshot fetches no records (FETCH-17).
    """
    refusal = cluster_refusal(state, request.cluster_id)
    if refusal:
        state.respond(request_id, refusal)
        return
    error = _error(state, request)
    if error == ErrorCode.NONE and isinstance(state.role, Leader) and state.config.voters.is_voter(request.replica):
        state.role.progress.voter_reached(request.replica.node_id, now_ms)
    response = FetchSnapshotResponse(
        error=error, leader=state.leader, snapshot=request.snapshot, position=request.position
    )
    state.respond(request_id, response)


def _error(state: State, request: FetchSnapshotRequest) -> ErrorCode:
    if request.epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if request.epoch > state.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(state.role, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    is_damaged = state.damage.has_snapshot(request.snapshot.offset)
    return ErrorCode.STORAGE_ERROR if is_damaged else ErrorCode.NONE


def on_snapshot_due(state: State, producers: ProducerStateImage) -> None:
    """Let the log go on in a new segment, at whose begin a snapshot can end.

    A snapshot keeps of a multipart write only the parts without a marker. If it ended between the markers, the last
    stable offset of a node that loads it could be within the write (TXN-2). So it is ordered again later.
    """
    if not producers.transactions.is_between_markers:
        state.emit(RollLog(producers=producers))


def on_snapshot_made(state: State, snapshot: OffsetAndEpoch) -> None:
    """Offer a new snapshot to the replicas that are too far behind."""
    newest = state.newest_snapshot
    if newest is None or newest.offset < snapshot.offset:
        state.newest_snapshot = snapshot


def on_deletion_requested(state: State, event: DeleteBeforeSnapshotRequested) -> None:
    """Let the log begin at the end of a snapshot. A log that begins there already, or later, stays as it is."""
    start = event.start
    if start.offset <= state.log.start_offset:
        return
    committed = min(state.known_committed, state.flushes.durable_end)
    assert start.offset <= committed, f"a log start at {start}, committed and durable up to {committed}"
    stable = state.transactions.last_stable_offset(state.known_committed)
    assert start.offset <= stable, f"a log start at {start}, the last stable offset is {stable}"
    state.log.delete_before(start, shows_snapshot=event.shows_records)
    state.emit(DeleteBeforeSnapshot(start=start))
