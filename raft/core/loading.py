"""Loading a snapshot, piece by piece: what an observer does when its leader's log begins after ours ends (FETCH-23).

Source: Kafka KafkaRaftClient.handleFetchSnapshotResponse.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.commits import commit
from raft.core.effects import HaltCause, InstallSnapshot, StoreSnapshotPiece
from raft.core.fetching import wake_fetches
from raft.core.messages import FetchSnapshotResponse
from raft.core.roles import Follower, Loading
from raft.core.state import State
from raft.types import NodeId, OffsetAndEpoch


def on_snapshot_offered(state: State, node_id: NodeId, snapshot: OffsetAndEpoch, now_ms: int) -> None:
    """Load the leader's snapshot from now on, instead of fetching: its log no longer has the records that we need."""
    role = state.role
    assert isinstance(role, Follower), "only the leader that a follower fetches from offers a snapshot"
    if state.config.is_voter:
        state.report(f"leader {node_id} offers a snapshot at {snapshot}; only observers can load one")
        state.requests.back_off(node_id, now_ms)
    elif snapshot.epoch > state.epoch:
        state.report(f"leader {node_id} of epoch {state.epoch} offers a snapshot at {snapshot}, a later one")
        state.requests.back_off(node_id, now_ms)
    elif snapshot.offset < state.known_committed:
        reason = f"the leader's snapshot at {snapshot} ends below the high watermark {state.known_committed}"
        state.halt(HaltCause.COMMITTED_RECORDS_LOST, reason)
    elif role.loading is None or role.loading.snapshot != snapshot:
        state.update_role(replace(role, loading=Loading(snapshot=snapshot)))


def on_snapshot_piece(state: State, node_id: NodeId, response: FetchSnapshotResponse, now_ms: int) -> None:
    """Store the next piece of the snapshot; after the last one, replace the log by the snapshot."""
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
    is_last = end_position == response.size_bytes
    rest = None if is_last else replace(loading, position=end_position)
    state.update_role(replace(role, has_fetched=True, loading=rest))
    if is_last:
        _install(state, loading.snapshot, now_ms)


def stop_loading(state: State) -> None:
    """Fetch records again; the leader's response will say what it has."""
    assert isinstance(state.role, Follower), "only a follower loads a snapshot"
    state.update_role(replace(state.role, loading=None))


def _install(state: State, snapshot: OffsetAndEpoch, now_ms: int) -> None:
    state.emit(InstallSnapshot(snapshot=snapshot))
    state.restart_log(snapshot)
    # A snapshot holds committed records only (LOG-16).
    commit(state, snapshot.offset)
    wake_fetches(state, now_ms, high_watermark_moved=True)
