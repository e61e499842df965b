"""Large writes that overlap each other: the time from the commit of a write until readers see it.

python -m benchmarks.overlap [--writers 1,2,4] [--seconds 20]

Each writer commits one write after the other, each of two parts with pauses, as tasks of a query take time to make
their rows. A reader asks for the end of the log without a pause. To compare with another checkout, run this file with
its packages: `PYTHONPATH=../before python benchmarks/overlap.py`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median, quantiles

from raft.client import Client, WriteKey
from raft.local import LocalQuorum
from raft.records.batch import build_batch
from raft.records.control import write_commit_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Offset, WriteCommit, WritePart

_PARTS = 2
_ROWS = 20
_ROW = b"x" * 1_000
_PART_S = (0.02, 0.2)
"""How long a task takes to make the rows of a part."""

_CALL_MS = 60_000
"""The default of the connector."""

_MS = 1_000


@dataclass(slots=True)
class _Run:
    """What a run has seen.

    Fields:
        committed: where each write ends, and when its commit was acknowledged.
        seen: each end of the log that the reader got, and when.
    """

    committed: list[tuple[Offset, float]] = field(default_factory=list)
    seen: list[tuple[Offset, float]] = field(default_factory=list)

    @property
    def delays_s(self) -> list[float]:
        """How long each write was hidden that was seen before the run ended."""
        delays, at = [], 0
        for end, committed_s in sorted(self.committed):
            while at < len(self.seen) and self.seen[at][0] < end:
                at += 1
            if at == len(self.seen):
                break
            delays.append(max(self.seen[at][1] - committed_s, 0.0))
        return delays


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure with each number of writers; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overlap", description="Large writes that overlap.")
    parser.add_argument("--writers", default="1,2,4", help="numbers of writers")
    parser.add_argument("--seconds", type=float, default=20, help="duration of each run")
    given = parser.parse_args(arguments)
    print(f"{'writers':>7} {'writes/s':>9}  {'hidden ms: median':>17} {'95 %':>7} {'longest':>8} {'never seen':>11}")
    for writers in map(int, given.writers.split(",")):
        run = _measure(writers, given.seconds)
        delays_ms = [delay_s * _MS for delay_s in run.delays_s]
        print(
            f"{writers:7} {len(run.committed) / given.seconds:9.1f}  {median(delays_ms):17.1f} "
            f"{quantiles(delays_ms, n=20)[-1]:7.0f} {max(delays_ms):8.0f} {len(run.committed) - len(delays_ms):11}",
            flush=True,
        )
    return 0


def _measure(writers: int, seconds: float) -> _Run:
    run, is_over = _Run(), threading.Event()
    with tempfile.TemporaryDirectory() as folder, LocalQuorum.start(Path(folder), voters=3) as quorum:
        threads = [threading.Thread(target=_write, args=(quorum, run, number, is_over)) for number in range(writers)]
        threads.append(threading.Thread(target=_read, args=(quorum, run, is_over)))
        for thread in threads:
            thread.start()
        is_over.wait(seconds)
        is_over.set()
        for thread in threads:
            thread.join()
    return run


def _write(quorum: LocalQuorum, run: _Run, number: int, is_over: threading.Event) -> None:
    dice, version = Random(number), 0
    with quorum.client(api_timeout_ms=_CALL_MS) as client:
        while not is_over.is_set():
            version += 1
            key = WriteKey(f"writer {number}", version)
            parts = []
            for part in range(_PARTS):
                parts.append(_append_part(client, key, part))
                is_over.wait(dice.uniform(*_PART_S))
            commit = write_commit_batch(
                WriteCommit(parts=tuple(parts)),
                producer_id=key.producer_id,
                producer_epoch=key.producer_epoch,
                base_sequence=key.base_sequence,
                timestamp_ms=_now_ms(),
            )
            end = Offset(client.append(commit).base_offset + 1 + _PARTS)
            run.committed.append((end, time.monotonic()))


def _append_part(client: Client, key: WriteKey, number: int) -> WritePart:
    producer_id = key.write_id.part_producer_id(number)
    batch = build_batch(
        [Record(value=_ROW, timestamp_ms=_now_ms())] * _ROWS,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    client.append(batch, transactional_id=key.write_id.transactional_id)
    checksum = read_header(batch).content_checksum or 0
    return WritePart(producer_id=producer_id, record_count=_ROWS, content_checksum=checksum)


def _read(quorum: LocalQuorum, run: _Run, is_over: threading.Event) -> None:
    with quorum.client(api_timeout_ms=_CALL_MS) as client:
        while not is_over.is_set():
            end = client.last_stable_offset()
            run.seen.append((end, time.monotonic()))


def _now_ms() -> int:
    return int(time.time() * _MS)


if __name__ == "__main__":
    sys.exit(main())
