"""A node's memory while a million records are appended and fetched."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import psutil

from raft.client import Client
from raft.types import Offset
from tests.node.harness.batches import batch_of
from tests.node.harness.properties import voters_properties
from tests.node.harness.requests import fetch_request
from tests.node.harness.wire import Wire
from tests.processes.node_process import NodeProcess, client_of

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
        assert client.last_stable_offset() == WARM_UP + RECORDS + 1
        assert _read(client) > (WARM_UP + RECORDS) * 100


def _usual_bytes(process: psutil.Process, client: Client, records: int) -> float:
    """Append records and read the whole log, round after round; return the median of the memory in use.

    A single measurement may include the memory of a response that was just sent.
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
    """Read all that is committed; return its size in bytes."""
    offset, end, size_bytes = Offset(0), client.last_stable_offset(), 0
    while offset < end:
        records = client.fetch(offset, max_bytes=1 << 20).records
        size_bytes += len(records)
        # The first batch holds one control record, every other one a thousand; batches are equally long.
        batches = len(records) // len(BATCH)
        offset = Offset((1 if offset == 0 else offset) + 1000 * batches)
    return size_bytes


WITHOUT_COLLECTOR = (sys.executable, "-c", "import gc; gc.disable(); from raft.cli.main import main; main()", "serve")
"""`kraft serve` with the collector of cyclic garbage switched off: what only it would free stays."""

LARGE_BYTES = 4 << 20


def test_large_appends_and_unread_responses_are_freed_without_the_collector(tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    large = batch_of(b"x" * LARGE_BYTES)
    with (
        NodeProcess(properties, tmp_path / "process", command=WITHOUT_COLLECTOR).start() as node,
        client_of(node) as client,
    ):
        node.wait_until_serving()
        process = psutil.Process(node.pid)
        for _ in range(5):
            client.append(large)
        before_bytes = process.memory_info().rss

        for _ in range(30):
            client.append(large)
        for _ in range(30):
            with Wire(node.endpoint) as gives_up:
                gives_up.send(fetch_request(1, max_bytes=LARGE_BYTES + 1000), 12)
                assert len(gives_up.first_bytes()) > 0

        grown_bytes = process.memory_info().rss - before_bytes

    # 30 appends and as many responses are 240 MiB.
    assert grown_bytes < 80 << 20
