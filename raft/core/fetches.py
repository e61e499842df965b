"""Fetch requests, of replicas and of clients (rules FETCH, leader side; DIVERGE; CLIENT-1..4)."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from raft.core.checks import cluster_refusal, partition_error
from raft.core.commits import maybe_advance_high_watermark
from raft.core.disk_room import NO_ROOM_MAX_BYTES
from raft.core.effects import ReadRange
from raft.core.log_view import Agreement
from raft.core.messages import ClientFetchRequest, FetchRequest
from raft.core.roles import Follower, Leader
from raft.core.state import State
from raft.core.waiting_requests import ParkedFetch
from raft.errors import ErrorCode
from raft.types import Offset, OffsetAndEpoch


def on_fetch(state: State, request_id: int, request: FetchRequest, now_ms: int) -> None:
    """Serve a replica: records up to the log end, committed or not, or the point at which its log diverges."""
    refusal = cluster_refusal(state, request.cluster_id)
    if refusal:
        state.respond(request_id, refusal)
        return
    fetch = ParkedFetch(request_id=request_id, request=request, deadline_ms=now_ms + request.max_wait_ms)
    if _refuse_replica(state, request_id, request):
        return
    _record_progress(state, request, now_ms)
    _respond_or_park(state, fetch, request, now_ms, high_watermark_moved=False)


def on_client_fetch(state: State, request_id: int, request: ClientFetchRequest, now_ms: int) -> None:
    """Serve a client: committed records only, from the leader or a follower (CLIENT-2)."""
    fetch = ParkedFetch(request_id=request_id, request=request, deadline_ms=now_ms + request.max_wait_ms)
    _serve_client(state, fetch, request, now_ms)


def wake_fetches(state: State, now_ms: int, *, high_watermark_moved: bool) -> None:
    """Check the parked fetches again for which there may be a response now.

    A new high watermark is a reason to respond to replicas, at once or after the linger time (FETCH-12, LINGER-1). A
    woken fetch does not count as contact from its replica; only its arrival did.

    Args:
        state: the log has more records, or a new high watermark.
        now_ms: the present time.
        high_watermark_moved: whether it has a new high watermark.
    """
    for fetch in _concerned(state, high_watermark_moved=high_watermark_moved):
        state.parked.take(fetch.request_id)
        match fetch.request:
            case FetchRequest() as request:
                # It is as valid as when it was parked: this node still leads, and a leader's log only grows.
                _respond_or_park(state, fetch, request, now_ms, high_watermark_moved=high_watermark_moved)
            case ClientFetchRequest() as request:
                _serve_client(state, fetch, request, now_ms)
            case _:
                assert_never(fetch.request)


def _concerned(state: State, *, high_watermark_moved: bool) -> list[ParkedFetch]:
    """Return the fetches of replicas, and those of clients for which enough is committed, or whose offset is gone.

    Clients may park a fetch on each of their connections, for more bytes than will come. An append should cost little
    more for each of them, so this only compares a few numbers per fetch.
    """
    if not high_watermark_moved:  # Clients are given committed records only.
        return [fetch for fetch in state.parked if isinstance(fetch.request, FetchRequest)]
    log_start = state.log.readable_from
    # Where a client's records end, and how many bytes have come; by whether it reads committed transactions only.
    ends = {True: state.last_stable_offset or Offset(0), False: state.high_watermark or Offset(0)}
    readable_bytes = {True: state.stable_bytes.total, False: state.committed_bytes.total}
    return [
        fetch
        for fetch in state.parked
        if isinstance(request := fetch.request, FetchRequest)
        or request.fetch_offset < log_start
        or (
            request.fetch_offset < ends[request.read_committed]
            and request.wait_until_bytes <= readable_bytes[request.read_committed]
        )
    ]


def end_overdue_fetches(state: State, now_ms: int) -> None:
    """Respond to the fetches whose wait is over: without records, or to a client with fewer than it asked for."""
    for fetch in state.parked.take_overdue(now_ms):
        match fetch.request:
            case FetchRequest():
                state.respond(fetch.request_id, state.fetch_response())
            case ClientFetchRequest() as request:
                _serve_client(state, fetch, request, now_ms)
            case _:
                assert_never(fetch.request)


def _refuse_replica(state: State, request_id: int, request: FetchRequest) -> bool:
    """Respond to a replica that gets no records, because of an error or a diverging log: no progress (FETCH-7)."""
    error = _replica_error(state, request)
    if error != ErrorCode.NONE:
        state.respond(request_id, state.fetch_response(error=error))
        return True
    if _is_behind(state, request):
        state.respond(request_id, state.fetch_response(snapshot=state.newest_snapshot))
        return True
    if state.log.agreement(request.fetch_offset, request.last_fetched_epoch) is Agreement.DIVERGING:
        diverging = state.log.end_of_epoch(request.last_fetched_epoch)
        state.respond(request_id, state.fetch_response(diverging=diverging))
        return True
    return False


def _is_behind(state: State, request: FetchRequest) -> bool:
    """Whether a replica has to load a snapshot: the log does not reach back to its end, or it has nothing (DIVERGE-10).

    A replica without records takes the newest snapshot, although this log may have its first records still (FETCH-13).
    """
    if state.newest_snapshot is None:
        return False
    start = state.log.start
    is_at_start = request.fetch_offset == start.offset and request.last_fetched_epoch == start.epoch
    return request.fetch_offset == 0 or not (
        is_at_start or (request.fetch_offset > start.offset and request.last_fetched_epoch >= start.epoch)
    )


def _replica_error(state: State, request: FetchRequest) -> ErrorCode:
    """Return why a replica cannot be served. A leader that shuts down has resigned before, and does not lead."""
    error = partition_error(state, request)
    if error != ErrorCode.NONE:
        return error
    if not isinstance(state.role, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if request.replica.node_id == state.config.node_id:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.NONE


def _record_progress(state: State, request: FetchRequest, now_ms: int) -> None:
    role = state.role
    assert isinstance(role, Leader), "only a leader records the progress of replicas"
    leader_end = state.log.end_offset
    if state.config.voters.is_voter(request.replica):
        voter = request.replica.node_id
        before = role.progress.voters[voter].fetch_offset
        if before is not None and request.fetch_offset < before:
            state.report(f"voter {voter} fetches from {request.fetch_offset}, after {before}: it has lost records")
        role.progress.voter_fetched(
            voter,
            request.fetch_offset,
            leader_end=leader_end,
            now_ms=now_ms,
            has_room=request.max_bytes > NO_ROOM_MAX_BYTES,
            is_sound=not request.is_damaged,
        )
        if maybe_advance_high_watermark(state):
            wake_fetches(state, now_ms, high_watermark_moved=True)
    elif request.replica.node_id >= 0:
        role.progress.observer_fetched(request.replica, request.fetch_offset, leader_end=leader_end, now_ms=now_ms)


def _respond_or_park(
    state: State, fetch: ParkedFetch, request: FetchRequest, now_ms: int, *, high_watermark_moved: bool
) -> None:
    end_offset = state.log.end_offset
    if state.disk_room.written_end is not None:
        # The rest waits for room on the disk. The replica stays in contact, as if there were no more records.
        end_offset = min(end_offset, state.disk_room.written_end)
    log_start, damage = state.log.start_offset, state.damage
    if damage.holds(request.fetch_offset, log_start=log_start):
        # Its fetch has counted as contact. This leader hands over, if another voter can lead (LOG-30).
        state.respond(fetch.request_id, state.fetch_response(error=ErrorCode.STORAGE_ERROR))
        return
    if request.fetch_offset < end_offset:
        end_offset = damage.readable_until(request.fetch_offset, end_offset, log_start=log_start)
        read = ReadRange(start_offset=request.fetch_offset, end_offset=end_offset, max_bytes=request.max_bytes)
        state.respond(fetch.request_id, state.fetch_response(), read)
        return
    if high_watermark_moved or _has_lower_high_watermark(state, request):
        # The next append may come soon, and the response with its records also has the high watermark (LINGER-1).
        linger_end_ms = now_ms + state.config.high_watermark_linger_ms
        fetch = replace(fetch, deadline_ms=min(fetch.deadline_ms, linger_end_ms))
    if fetch.deadline_ms <= now_ms:
        state.respond(fetch.request_id, state.fetch_response())
    else:
        state.parked.add(fetch)


def _has_lower_high_watermark(state: State, request: FetchRequest) -> bool:
    """Whether the follower asks to be told of a high watermark that it does not know yet (KIP-1166)."""
    ours, theirs = state.high_watermark, request.high_watermark
    return request.wants_high_watermark and ours is not None and (theirs is None or theirs < ours)


def _serve_client(state: State, fetch: ParkedFetch, request: ClientFetchRequest, now_ms: int) -> None:
    error = _client_error(state, request)
    if error != ErrorCode.NONE:
        state.respond(fetch.request_id, state.fetch_response(error=error, is_for_client=True))
        return
    diverging = _client_divergence(state, request)
    if diverging:
        state.respond(fetch.request_id, state.fetch_response(diverging=diverging, is_for_client=True))
        return
    end = (state.last_stable_offset if request.read_committed else state.high_watermark) or Offset(0)
    readable_end = state.damage.readable_until(request.fetch_offset, end, log_start=state.log.start_offset)
    readable_bytes = (state.stable_bytes if request.read_committed else state.committed_bytes).total
    is_over = fetch.deadline_ms <= now_ms
    is_enough = is_over or readable_end < end or readable_bytes >= request.wait_until_bytes
    if end > request.fetch_offset and is_enough:
        read = ReadRange(start_offset=request.fetch_offset, end_offset=readable_end, max_bytes=request.max_bytes)
        state.respond(fetch.request_id, state.fetch_response(is_for_client=True), read)
    elif is_over:
        state.respond(fetch.request_id, state.fetch_response(is_for_client=True))
    else:
        state.parked.add(fetch)


def _client_error(state: State, request: ClientFetchRequest) -> ErrorCode:
    if request.epoch is not None and request.epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if request.epoch is not None and request.epoch > state.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(state.role, Leader | Follower):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if request.fetch_offset < state.log.readable_from:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    if state.damage.holds(request.fetch_offset, log_start=state.log.start_offset):
        return ErrorCode.STORAGE_ERROR
    if isinstance(state.role, Leader):
        # A client waits at an offset between the high watermark and the log end: it may be committed soon (CLIENT-3).
        return ErrorCode.OFFSET_OUT_OF_RANGE if request.fetch_offset > state.log.end_offset else ErrorCode.NONE
    # A follower may not know the offset yet. OFFSET_OUT_OF_RANGE would make a client reset its position.
    behind = request.fetch_offset > (state.high_watermark or Offset(0))
    return ErrorCode.OFFSET_NOT_AVAILABLE if behind else ErrorCode.NONE


def _client_divergence(state: State, request: ClientFetchRequest) -> OffsetAndEpoch | None:
    if request.last_fetched_epoch is None or state.high_watermark is None:
        return None
    if state.log.agreement(request.fetch_offset, request.last_fetched_epoch) is Agreement.VALID:
        return None
    end = state.log.end_of_epoch(request.last_fetched_epoch)
    return OffsetAndEpoch(epoch=end.epoch, offset=min(end.offset, state.high_watermark))
