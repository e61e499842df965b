"""Loading a snapshot, piece by piece: what a replica does when its leader's log begins after ours ends (FETCH-23).

Source: Kafka KafkaRaftClient.handleFetchSnapshotResponse.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.commits import commit
from raft.core.effects import CheckSnapshot, HaltCause, InstallSnapshot, StoreSnapshotPiece
from raft.core.events import SnapshotChecked
from raft.core.fetches import wake_fetches
from raft.core.messages import FetchSnapshotResponse
from raft.core.roles import Follower, Loading
from raft.core.state import State
from raft.types import NodeId, OffsetAndEpoch


def on_snapshot_offered(state: State, node_id: NodeId, snapshot: OffsetAndEpoch, now_ms: int) -> None:
    """Load the leader's snapshot from now on, instead of fetching: its log no longer has the records that we need."""
    role = state.role
    assert isinstance(role, Follower), "only the leader that a follower fetches from offers a snapshot"
    if snapshot.epoch > state.epoch:
        state.report(f"leader {node_id} of epoch {state.epoch} offers a snapshot at {snapshot}, a later one")
        state.requests.back_off(node_id, now_ms)
    elif snapshot.offset < state.known_committed:
        reason = f"the leader's snapshot at {snapshot} ends below the high watermark {state.known_committed}"
        state.halt(HaltCause.COMMITTED_RECORDS_LOST, reason)
    elif role.loading is None or role.loading.snapshot != snapshot:
        state.update_role(replace(role, loading=Loading(snapshot=snapshot)))


def on_snapshot_piece(state: State, node_id: NodeId, response: FetchSnapshotResponse, now_ms: int) -> None:
    """Store the next piece of the snapshot; after the last one, have it checked.

    A piece extends the fetch timeout, as records do (TIMER-2).
    """
    role = state.role
    assert isinstance(role, Follower), "only a follower fetches a snapshot"
    loading = role.loading
    if loading is None or response.leader.leader_id != role.leader_id:
        # The leader has moved to other endpoints, or the response does not name it as the leader.
        state.requests.back_off(node_id, now_ms)
        return
    end_position = loading.position + len(response.piece)
    is_next = response.snapshot == loading.snapshot and response.position == loading.position
    if not is_next or not response.piece or end_position > response.size_bytes:
        state.report(
            f"leader {node_id} sent {len(response.piece)} of {response.size_bytes} bytes of the snapshot at "
            f"{response.snapshot} from byte {response.position}; expected byte {loading.position} of the one at "
            f"{loading.snapshot}"
        )
        stop_loading(state)
        state.requests.back_off(node_id, now_ms)
        return
    state.emit(StoreSnapshotPiece(snapshot=loading.snapshot, position=loading.position, piece=response.piece))
    is_complete = end_position == response.size_bytes
    if is_complete:
        state.emit(CheckSnapshot(snapshot=loading.snapshot))
        state.snapshots_in_check += 1
    state.update_role(
        replace(
            role,
            fetch_deadline_ms=None if role.fetch_deadline_ms is None else now_ms + role.fetch_timeout_ms,
            has_fetched=True,
            loading=replace(loading, position=end_position, is_complete=is_complete),
        )
    )


def on_snapshot_checked(state: State, event: SnapshotChecked, now_ms: int) -> None:
    """Replace the log by a snapshot that is whole, unless this node follows another leader by now."""
    state.snapshots_in_check -= 1
    if state.snapshots_in_check:
        return  # A later download, perhaps of the same snapshot, has replaced this one, and is checked next.
    role = state.role
    expected = Loading(snapshot=event.snapshot, position=0, is_complete=True)
    if not isinstance(role, Follower) or role.loading is None or replace(role.loading, position=0) != expected:
        return
    stop_loading(state)
    if event.contents is None:
        state.report(f"leader {role.leader_id} sent a snapshot at {event.snapshot} that is torn or damaged")
        state.requests.back_off(role.leader_id, now_ms)
        return
    difference = state.config.difference_to(event.contents.logged_voters)
    if difference is not None:
        state.halt(HaltCause.OTHER_VOTERS, f"{difference}, in the snapshot at {event.snapshot}")
        return
    state.emit(InstallSnapshot(contents=event.contents))
    state.restart_log(event.contents)
    # A snapshot holds committed records only (LOG-16).
    commit(state, event.contents.end.offset)
    wake_fetches(state, now_ms, high_watermark_moved=True)


def stop_loading(state: State) -> None:
    """Fetch records again; the leader's response will say what it has."""
    assert isinstance(state.role, Follower), "only a follower loads a snapshot"
    state.update_role(replace(state.role, loading=None))
