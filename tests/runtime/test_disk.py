"""The order of what the engine does to a replica's directory, and what the disk reports."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from raft.core.effects import AppendBatches, FlushLog, ReadRange, StoreElectionState, TruncateLog
from raft.errors import CorruptBatchError, StorageError
from raft.runtime.disk import Disk, DiskListener
from raft.runtime.piecewise_read import PIECE_BYTES
from raft.storage.damage import DamageReport
from raft.storage.directory import ReplicaDirectory
from raft.storage.log_config import LogConfig
from raft.storage.opened_directory import ReplicaIdentity
from raft.transactions import ProducerState
from raft.types import Batch, ElectionState, Epoch, NodeId, Offset, Uuid
from tests.memory_files.files import Call, MemoryFiles
from tests.runtime.inline_workers import InlineWorkers
from tests.storage.logs import batches

IDENTITY = ReplicaIdentity(topic="log", topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAQ"), node_id=NodeId(1), voters=(NodeId(1),))
TWO = batches([1, 1])
FLUSH = FlushLog(number=1, end_offset=Offset(2))


@dataclass(eq=False)
class Reports:
    """What the disk reported to its listener, in order."""

    flushed: list[FlushLog] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    room: list[tuple[bool, Offset]] = field(default_factory=list)
    damage: list[DamageReport] = field(default_factory=list)
    rolls: int = 0

    def rolled(self) -> None:
        self.rolls += 1


def appended(batches: Iterable[Batch]) -> AppendBatches:
    """The effect that appends batches."""
    return AppendBatches(batches=tuple(batches))


def truncated(end_offset: int) -> TruncateLog:
    """The effect that truncates the log."""
    return TruncateLog(end_offset=Offset(end_offset))


class Replica:
    """A replica's disk on files in memory."""

    def __init__(
        self, *, segment_bytes: int = 1 << 20, tail_bytes: int = 4 << 20, piece_bytes: int = PIECE_BYTES
    ) -> None:
        self.files = MemoryFiles()
        config = LogConfig(segment_bytes=segment_bytes, tail_bytes=tail_bytes)
        self.directory = ReplicaDirectory.open(self.files, IDENTITY, entropy=bytes(16), config=config)
        self.workers = InlineWorkers()
        self.disk = Disk(self.directory, self.workers, piece_bytes=piece_bytes)
        self.reports = Reports()
        self.disk.start(
            DiskListener(
                flushed=self.reports.flushed.append,
                rolled=self.reports.rolled,
                room=lambda error, end: self.reports.room.append((error is None, end)),
                damaged=self.reports.damage.append,
                failed=self.reports.failures.append,
            )
        )

    def payloads_read(
        self, read: Callable[[ReadRange, Callable[[bytes | CorruptBatchError], None]], None]
    ) -> list[bytes | CorruptBatchError]:
        """Return what `read` finds of the first two records."""
        found: list[bytes | CorruptBatchError] = []
        read(ReadRange(start_offset=Offset(0), end_offset=Offset(2), max_bytes=1 << 20), found.append)
        self.workers.run()
        return found


@pytest.mark.parametrize(
    ("order", "end_offset", "records"),
    [
        pytest.param(lambda disk: disk.do(appended(TWO)), 2, TWO, id="append, read"),
        pytest.param(
            lambda disk: (disk.do(appended(TWO)), disk.do(TruncateLog(end_offset=Offset(1)))),
            1,
            TWO[:1],
            id="append, truncate, read",
        ),
        pytest.param(
            lambda disk: (
                disk.do(appended(TWO)),
                disk.do(TruncateLog(end_offset=Offset(0))),
                disk.do(appended(TWO[:1])),
            ),
            1,
            TWO[:1],
            id="append, truncate, append, read",
        ),
    ],
)
def test_read_finds_the_log_as_it_is_after_everything_ordered_before(
    order: Callable[[Disk], object], end_offset: int, records: list[Batch]
) -> None:
    replica = Replica()
    order(replica.disk)

    found = replica.payloads_read(replica.disk.read)

    assert found == [b"".join(batch.payload for batch in records)]
    assert replica.directory.log.end_offset == end_offset


def test_search_and_client_read_come_after_appends_that_are_ordered_later() -> None:
    replica = Replica()
    ends: list[Offset | CorruptBatchError] = []

    replica.disk.search(lambda log: log.end_offset, ends.append)
    replica.disk.do(appended(TWO))
    found = replica.payloads_read(lambda read, done: replica.disk.read_in_pieces(read, lambda data, _log: data, done))

    assert ends == [2]
    assert found == [b"".join(batch.payload for batch in TWO)]


def test_election_state_is_on_disk_when_it_is_reported() -> None:
    replica = Replica()
    state = ElectionState(epoch=Epoch(3), leader_id=NodeId(1))
    stored: list[ElectionState] = []

    replica.disk.do(StoreElectionState(state=state), lambda _: stored.append(replica.directory.election_state))
    before = list(stored)
    replica.workers.run()

    assert before == []
    assert stored == [state]


def test_flush_covers_the_appends_that_are_ordered_before_it() -> None:
    replica = Replica()
    replica.disk.do(appended(TWO))
    replica.disk.do(FLUSH)

    replica.workers.run()

    assert replica.reports.flushed == [FLUSH]
    assert replica.directory.log.durable_end_offset == 2


def test_listener_is_called_once_when_an_append_begins_a_segment() -> None:
    replica = Replica(segment_bytes=len(TWO[0].payload))
    replica.disk.do(appended(TWO[:1]))
    replica.workers.run()
    rolls_before = replica.reports.rolls

    replica.disk.do(appended(TWO[1:]))
    replica.workers.run()

    assert (rolls_before, replica.reports.rolls) == (0, 1)


@pytest.mark.rule("LOG-17")
def test_disk_does_nothing_more_when_an_append_fails() -> None:
    replica = Replica()
    replica.files.fail(Call.WRITE)

    replica.disk.do(appended(TWO))
    replica.disk.do(FLUSH)
    found = replica.payloads_read(replica.disk.read)

    assert [type(error) for error in replica.reports.failures] == [StorageError]
    assert replica.reports.flushed == []
    assert found == []


def test_listener_gets_the_error_when_a_callback_raises() -> None:
    replica = Replica()
    error = ZeroDivisionError("a bug")

    def fail(_records: bytes | CorruptBatchError) -> None:
        raise error

    replica.disk.do(appended(TWO))
    replica.disk.read(ReadRange(start_offset=Offset(0), end_offset=Offset(2), max_bytes=1), fail)
    replica.workers.run()

    assert replica.reports.failures == [error]


def test_stop_does_the_jobs_that_are_ordered() -> None:
    replica = Replica()
    replica.disk.do(appended(TWO))

    replica.disk.stop()

    assert replica.directory.log.end_offset == 2


@pytest.mark.rule("LOG-27")
def test_append_without_room_is_done_later_and_not_flushed_before() -> None:
    replica = Replica()
    replica.files.fail(Call.WRITE, reason=errno.ENOSPC, written_bytes=20)
    replica.disk.do(appended(TWO))
    replica.disk.do(FLUSH)
    replica.workers.run()
    found = replica.payloads_read(replica.disk.read)
    flushed_before, waited = list(replica.reports.flushed), replica.disk.waits_for_room

    replica.disk.retry()
    replica.workers.run()

    assert (flushed_before, waited, found) == ([], True, [b""])
    assert replica.reports.flushed == [FLUSH]
    assert replica.reports.room == [(False, 0), (True, 2)]
    assert replica.payloads_read(replica.disk.read) == [b"".join(each.payload for each in TWO)]


@pytest.mark.rule("LOG-27", "STATE-5")
def test_election_state_is_stored_while_an_append_waits_for_room() -> None:
    replica = Replica()
    replica.files.fail(Call.WRITE, reason=errno.ENOSPC)
    stored: list[None] = []
    replica.disk.do(appended(TWO))
    replica.disk.do(StoreElectionState(state=ElectionState(epoch=Epoch(7))), stored.append)

    replica.workers.run()

    assert (stored, replica.directory.election_state.epoch) == ([None], 7)
    assert replica.disk.waits_for_room


@pytest.mark.rule("LOG-27", "LOG-22")
def test_producer_snapshot_without_room_is_asked_for_again() -> None:
    replica = Replica(segment_bytes=len(TWO[0].payload))
    replica.disk.do(appended(TWO[:1]))
    replica.disk.do(appended(TWO[1:]))
    replica.workers.run()
    rolls_before = replica.reports.rolls
    replica.files.fail(Call.WRITE, reason=errno.ENOSPC)
    replica.disk.write_producer_snapshot(ProducerState().image(Offset(2)))
    replica.workers.run()

    replica.disk.retry()
    replica.workers.run()

    assert (rolls_before, replica.reports.rolls) == (1, 2)
    assert not replica.disk.waits_for_room
