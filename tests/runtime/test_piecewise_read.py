"""Reads for clients are done in pieces, with other jobs between them."""

from __future__ import annotations

from collections.abc import Callable

from raft.core.effects import ReadRange
from raft.errors import CorruptBatchError
from raft.runtime.job_queue import JobQueue
from raft.runtime.piecewise_read import PiecewiseRead
from raft.storage.log import Log
from raft.types import Epoch, Offset, OffsetAndEpoch
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import batches, empty_snapshot, open_log

EVERYTHING = ReadRange(start_offset=Offset(0), end_offset=Offset(3), max_bytes=1 << 30)


def run(jobs: JobQueue, posted: list[Callable[[], None]]) -> None:
    """Do all jobs, and what they post, until nothing is left."""
    while jobs.do_waiting() or posted:
        while posted:
            posted.pop(0)()


def test_read_returns_all_pieces_together_and_other_jobs_come_between() -> None:
    log = open_log(MemoryFiles(), tail_bytes=0, segment_bytes=1 << 30)
    written = batches([1] * 3, value=b"x" * 1_500_000)
    log.append(written)
    between: list[Offset] = []
    found: list[bytes | CorruptBatchError] = []
    posted: list[Callable[[], None]] = []
    jobs = JobQueue(post=posted.append, failed=lambda error: None, wake=lambda: None)

    def evaluate(records: bytes, _log: Log) -> bytes:
        assert between, "a job that was queued after the read is done before the read ends"
        return records

    PiecewiseRead(log, jobs, EVERYTHING, evaluate, found.append).read_next()
    jobs.put_later(lambda: between.append(log.end_offset))
    run(jobs, posted)

    assert found == [b"".join(batch.payload for batch in written)]


def test_read_returns_no_records_when_a_snapshot_has_replaced_them() -> None:
    log = open_log(MemoryFiles())
    log.append(batches([3]))
    found: list[bytes | CorruptBatchError] = []
    posted: list[Callable[[], None]] = []
    jobs = JobQueue(post=posted.append, failed=lambda error: None, wake=lambda: None)
    PiecewiseRead(log, jobs, EVERYTHING, lambda records, _log: records, found.append).read_next()

    log.restart_at(empty_snapshot(OffsetAndEpoch(offset=Offset(3), epoch=Epoch(1))))
    run(jobs, posted)

    assert found == [b""]
