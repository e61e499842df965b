"""Bugs of full disks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import pytest

from raft.core import fetch_responses, responses
from raft.core.disk_room import DiskRoom
from raft.core.messages import FetchResponse
from raft.core.roles import Follower
from raft.core.snapshot_load import on_snapshot_offered
from raft.core.state import State
from raft.errors import DiskFullError, StorageError
from raft.runtime.job_queue import JobQueue, _Job
from raft.runtime.log_append import LogAppend
from raft.runtime.space_keeper import SpaceKeeper
from raft.storage.directory import ReplicaDirectory
from raft.storage.segment import Segment
from raft.types import Batch, BatchHeader, ElectionState, NodeId
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("LOG-24",), caught_by=("ReserveIsKept",))
def full_disk_is_not_noticed(patch: pytest.MonkeyPatch) -> None:
    """Records are appended however little room there is."""
    patch.setattr(DiskRoom, "holds", lambda *_: True)


@mutation(breaks=("LOG-24",), caught_by=("ReserveIsKept",), needs=needs.full_disks)
def appends_since_the_measurement_are_not_counted(patch: pytest.MonkeyPatch) -> None:
    """Between two measurements, each batch is compared with all the room that there was."""
    patch.setattr(DiskRoom, "append", lambda *_: None)


@mutation(breaks=("LOG-24",), caught_by=("ReserveIsKept",), needs=needs.full_disks)
def replica_with_a_full_disk_takes_one_more_response(patch: pytest.MonkeyPatch) -> None:
    """A replica takes all records of a response if there is any room."""
    take = fetch_responses._take_batches

    def take_all(state: State, batches: Iterable[Batch]) -> bool:
        if not state.disk_room.holds(1):
            return take(state, batches)
        with pytest.MonkeyPatch.context() as context:
            context.setattr(DiskRoom, "holds", lambda *_: True)
            return take(state, batches)

    patch.setattr(fetch_responses, "_take_batches", take_all)


@mutation(breaks=("LOG-24",), caught_by=("QuorumRecovers", "ReserveIsKept"))
def disk_is_measured_once_only(patch: pytest.MonkeyPatch) -> None:
    """A node whose disk is full at its start appends no records afterwards, although there is room again."""
    measure = SpaceKeeper._measure

    def once(keeper: SpaceKeeper) -> None:
        if keeper.free_bytes is None:
            measure(keeper)

    patch.setattr(SpaceKeeper, "_measure", once)


@mutation(breaks=("LOG-24", "FETCH-17"), caught_by=("QuorumRecovers",))
def follower_with_a_full_disk_fetches_nothing_more(patch: pytest.MonkeyPatch) -> None:
    """A replica that had no room for a batch does not ask for it again."""
    patch.setattr(fetch_responses, "FULL_DISK_PAUSE_MS", 1 << 40)


@mutation(
    breaks=("LOG-27",),
    caught_by=("RecoveredLogMatchesWrites", "FlushedIsDurable", "NodesRestart", "LogsMatch"),
    needs=needs.full_disks,
)
def torn_append_stays_when_room_is_missing(patch: pytest.MonkeyPatch) -> None:
    """The part of a batch that was written before the disk was full stays before the repeated batch."""

    def append(segment: Segment, data: bytes, headers: Sequence[BatchHeader]) -> None:
        position = segment.size_bytes
        segment._file.append(data)
        for header in headers:
            segment.indexes.note(header, position)
            position += header.size_bytes

    patch.setattr(Segment, "append", append)


@mutation(breaks=("LOG-28",), caught_by=("NoNodeHalts",), needs=needs.full_disks)
def snapshot_offered_to_a_contact_is_loaded(patch: pytest.MonkeyPatch) -> None:
    """A replica whose records wait for room takes the snapshot that its leader offers for what is on its disk."""
    handle = fetch_responses.on_fetch_response

    def take(state: State, node_id: NodeId, response: FetchResponse, now_ms: int) -> None:
        if response.snapshot is not None and isinstance(state.role, Follower):
            on_snapshot_offered(state, node_id, response.snapshot, now_ms)
        else:
            handle(state, node_id, response, now_ms)

    patch.setattr(responses, "on_fetch_response", take)


@mutation(breaks=("LOG-27", "READ-7"), caught_by=("CompactedReadsAreCommitted", "ReadsAreCommitted"))
def read_for_a_client_passes_a_truncation_that_waits_for_room(patch: pytest.MonkeyPatch) -> None:
    """Clients read the log while a truncation waits for room: they get the records that it has to remove."""
    patch.setattr(JobQueue, "_has_to_wait", lambda _queue, _later: False)


@mutation(breaks=("LOG-27",), caught_by=("NoUnexpectedErrors",))
def node_stops_when_room_is_missing(patch: pytest.MonkeyPatch) -> None:
    """A job for which the disk has no room ends the node, like any other error of the disk."""
    do = JobQueue._do

    def do_or_fail(queue: JobQueue, jobs: Sequence[_Job[object]]) -> Sequence[_Job[object]]:
        left = do(queue, jobs)
        if left:
            raise StorageError("the disk has no room")
        return left

    patch.setattr(JobQueue, "_do", do_or_fail)


@mutation(breaks=("LOG-27",), caught_by=("QuorumRecovers",))
def jobs_without_room_are_never_tried_again(patch: pytest.MonkeyPatch) -> None:
    """What waits for room waits for ever."""
    patch.setattr(JobQueue, "retry", lambda _queue: None)


@mutation(breaks=("LOG-27", "STATE-5"), caught_by=("StoredBeforeSent", "RoleIsStored"))
def vote_is_sent_although_there_was_no_room_for_it(patch: pytest.MonkeyPatch) -> None:
    """An election state for which the disk has no room counts as stored."""
    store = ReplicaDirectory.store_election_state

    def store_or_not(directory: ReplicaDirectory, state: ElectionState, *, kraft_version: int = 0) -> None:
        with suppress(DiskFullError):
            store(directory, state, kraft_version=kraft_version)

    patch.setattr(ReplicaDirectory, "store_election_state", store_or_not)


@mutation(breaks=("LOG-27",), caught_by=("FlushedIsDurable", "EpochCheckpointMatchesLog", "ReadsFindRecords"))
def append_without_room_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """A batch for which the disk has no room is dropped, and the flush behind it is done."""
    call = LogAppend.__call__

    def drop(append: LogAppend) -> None:
        with suppress(DiskFullError):
            call(append)

    patch.setattr(LogAppend, "__call__", drop)
