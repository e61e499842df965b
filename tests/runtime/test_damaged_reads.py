"""What a disk does when a read meets damage of its log: it notes it, and goes on (rules LOG-29, LOG-30)."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from raft.core.effects import ReadRange, TruncateLog
from raft.errors import CorruptBatchError
from raft.runtime.piecewise_read import PIECE_BYTES
from raft.storage.damage import DamageReport
from raft.storage.log import Log
from raft.types import Damaged, DamagedRange, Offset
from tests.runtime.test_disk import Replica, appended
from tests.storage.logs import batch

BATCHES = [batch(at, value=b"v" * 400) for at in range(6)]
SIZE_BYTES = BATCHES[0].header.size_bytes
SEGMENT = "log-0/00000000000000000000.log"
EVERYTHING = ReadRange(start_offset=Offset(0), end_offset=Offset(6), max_bytes=1 << 20)
FROM_DAMAGE = ReadRange(start_offset=Offset(3), end_offset=Offset(6), max_bytes=1 << 20)
BEHIND = ReadRange(start_offset=Offset(4), end_offset=Offset(6), max_bytes=1 << 20)
RANGE = DamagedRange(start_offset=Offset(3), end_offset=Offset(4))


def damaged(*, piece_bytes: int = PIECE_BYTES) -> Replica:
    """A replica whose fourth batch is damaged on its disk, and none is in memory."""
    replica = Replica(tail_bytes=0, piece_bytes=piece_bytes)
    replica.disk.do(appended(BATCHES))
    run(replica)
    replica.files.flip_bit(SEGMENT, 3 * SIZE_BYTES + 100)
    return replica


def run(replica: Replica) -> None:
    """Do all jobs, also those that are put when one is done."""
    for _ in range(40):
        replica.workers.run()


def payloads(start: int, end: int) -> bytes:
    return b"".join(each.payload for each in BATCHES[start:end])


def ranges(report: DamageReport) -> list[DamagedRange]:
    return [part.range for part in report.parts]


@pytest.mark.parametrize("piece_bytes", [100, 1000, PIECE_BYTES])
@pytest.mark.rule("LOG-29", "LOG-30")
def test_reads_end_before_the_damage_and_fail_within_it(piece_bytes: int) -> None:
    replica = damaged(piece_bytes=piece_bytes)
    found: list[bytes | CorruptBatchError] = []

    for read in (EVERYTHING, FROM_DAMAGE, BEHIND):
        replica.disk.read(read, found.append)
        run(replica)
        replica.disk.read_in_pieces(read, lambda records, _log: records, found.append)
        run(replica)

    assert found[:2] == [payloads(0, 3)] * 2
    assert [type(each) for each in found[2:4]] == [CorruptBatchError] * 2
    assert found[4:] == [payloads(4, 6)] * 2
    assert [ranges(report) for report in replica.reports.damage] == [[RANGE]], "reported once"
    assert replica.reports.failures == []


@pytest.mark.rule("LOG-29")
def test_damage_is_reported_before_the_result_of_the_read() -> None:
    replica = damaged()
    reported: list[int] = []

    replica.disk.read(FROM_DAMAGE, lambda _: reported.append(len(replica.reports.damage)))
    run(replica)

    assert reported == [1]


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.rule("LOG-29")
def test_search_that_meets_damage_gets_an_error_and_the_disk_goes_on(in_pieces: bool) -> None:
    replica = damaged()
    found: list[int | CorruptBatchError] = []

    def search(log: Log) -> int:
        return log.header_of(Offset(3)).record_count

    def search_in_pieces(log: Log) -> Generator[None, None, int]:
        yield
        return search(log)

    if in_pieces:
        replica.disk.search_in_pieces(search_in_pieces, found.append)
    else:
        replica.disk.search(search, found.append)
    run(replica)

    assert [type(each) for each in found] == [CorruptBatchError]
    assert [ranges(report) for report in replica.reports.damage] == [[RANGE]]
    assert replica.reports.failures == []


@pytest.mark.rule("LOG-29")
def test_damage_that_is_truncated_is_reported_as_gone() -> None:
    replica = damaged()
    replica.disk.read(FROM_DAMAGE, lambda _: None)
    run(replica)

    replica.disk.do(TruncateLog(end_offset=Offset(0)))
    run(replica)

    assert [ranges(report) for report in replica.reports.damage] == [[RANGE], []]


@pytest.mark.rule("LOG-29")
def test_damaged_index_makes_its_segment_unreadable_and_the_node_goes_on() -> None:
    replica = Replica(tail_bytes=0, segment_bytes=30 * SIZE_BYTES)
    replica.disk.do(appended([batch(at, value=b"v" * 400) for at in range(60)]))
    run(replica)
    first = replica.directory.log.segments_from(Offset(0))[0]
    first.indexes.release()
    replica.files.flip_bit(first.indexes.names[0], 3)
    found: list[bytes | CorruptBatchError] = []

    for _ in range(2):
        replica.disk.read(ReadRange(start_offset=Offset(20), end_offset=Offset(25), max_bytes=1), found.append)
        run(replica)

    assert [type(each) for each in found] == [CorruptBatchError] * 2
    (report,) = replica.reports.damage
    (part,) = report.parts
    assert (part.kind, part.start_offset) == (Damaged.INDEX, 0)
    assert replica.reports.failures == []
