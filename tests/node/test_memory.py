"""A node's memory while a million records go through it."""

from __future__ import annotations

import statistics
from pathlib import Path

import psutil

from raft.client import Client
from raft.types import Offset
from tests.node.harness.batches import batch_of
from tests.node.harness.processes import NodeProcess, client_of
from tests.node.harness.properties import voters_properties

WARM_UP = 500_000
RECORDS = 1_000_000
ROUND = 100_000
BATCH = batch_of(*[b"x" * 100] * 1000)


def test_memory_stays_flat_over_a_million_records(tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process").start() as node, client_of(node) as client:
        node.wait_until_serving()
        process = psutil.Process(node.pid)
        # Until the caches are full, and the allocator has the spare room that it keeps.
        _usual_bytes(process, client, WARM_UP)
        before_bytes = _usual_bytes(process, client, RECORDS // 2)

        after_bytes = _usual_bytes(process, client, RECORDS // 2)

        assert after_bytes < 1.2 * before_bytes
        assert client.log_end() == WARM_UP + RECORDS + 1
        assert _read(client) > (WARM_UP + RECORDS) * 100


def _usual_bytes(process: psutil.Process, client: Client, records: int) -> float:
    """Append records and read the whole log, round after round; return the memory that there mostly was.

    A single look may come while the allocator still holds what an answer was made of.
    """
    seen_bytes: list[int] = []
    for _ in range(records // ROUND):
        _append(client, ROUND)
        _read(client)
        seen_bytes.append(process.memory_info().rss)
    return statistics.median(seen_bytes)


def _append(client: Client, records: int) -> None:
    for _ in range(records // 1000):
        client.append(BATCH)


def _read(client: Client) -> int:
    """Read all that is committed; return how many bytes that are."""
    offset, end, size_bytes = Offset(0), client.log_end(), 0
    while offset < end:
        records = client.fetch(offset, max_bytes=1 << 20).records
        size_bytes += len(records)
        # The first batch holds one control record, every other one a thousand; batches are equally long.
        batches = len(records) // len(BATCH)
        offset = Offset((1 if offset == 0 else offset) + 1000 * batches)
    return size_bytes
