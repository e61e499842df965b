"""Three nodes of Kafka's TestRaftServer: a KRaft quorum whose leader writes records by itself, as fast as it can.

It serves no clients, so no client can produce to it. The growth of its log on a majority is measured.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from benchmarks.servers.broker import SMALL_HEAP
from tests.java.kafka import Kafka
from tests.java.raft_server import raft_server_voters
from tests.node.harness.waiting import eventually
from tests.processes.node_process import NodeProcess

_VOTERS = 3
_MORE_BYTES_A_SECOND_THAN_IT_CAN = 150_000_000
"""A rate above the highest that it reaches. At such rates its log sometimes stops growing, for a while or for ever."""

_START_S = 120
_STALLED_S = 30
_ATTEMPTS = 3


def growth_bytes_a_second(
    kafka: Kafka, folder: Path, *, value_bytes: int, warm_up_s: float, measured_s: float
) -> float:
    """Start a quorum, let it write, and end it; return how fast the log grows on all but the slowest voter.

    If its log stops growing, a new quorum is measured instead.

    Args:
        kafka: the programs.
        folder: gets the logs; must not exist yet.
        value_bytes: size of each record's value.
        warm_up_s: how long it writes before.
        measured_s: how long it is measured, at least.

    Raises:
        AssertionError: the last of several attempts failed too: the quorum did not start, or its log did not grow.
    """
    folder.mkdir()
    for attempt in range(1, _ATTEMPTS):
        with suppress(AssertionError):
            return _growth(kafka, folder / f"{attempt}", value_bytes, warm_up_s, measured_s)
    return _growth(kafka, folder / f"{_ATTEMPTS}", value_bytes, warm_up_s, measured_s)


def _growth(kafka: Kafka, folder: Path, value_bytes: int, warm_up_s: float, measured_s: float) -> float:
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(
                kafka.raft_server(
                    properties,
                    folder / f"process-{node_id}",
                    records_per_s=_MORE_BYTES_A_SECOND_THAN_IT_CAN // value_bytes,
                    record_bytes=value_bytes,
                    log_level="warn",
                    jvm=SMALL_HEAP,
                )
            )
            for node_id, properties in raft_server_voters(folder, _VOTERS, {}).items()
        ]
        for node in nodes:
            node.start()
        eventually(lambda: _log_bytes(nodes) > 1 << 16, "TestRaftServer appends", within_s=_START_S)
        time.sleep(warm_up_s)
        before, started = _log_bytes(nodes), time.perf_counter()
        time.sleep(measured_s)
        # It appends in bursts: in a short time there may be none.
        eventually(lambda: _log_bytes(nodes) > before, "TestRaftServer continues to append", within_s=_STALLED_S)
        return (_log_bytes(nodes) - before) / (time.perf_counter() - started)


def _log_bytes(nodes: Sequence[NodeProcess]) -> int:
    """Return the bytes of the log on a majority of the voters."""
    sizes = sorted(sum(segment.stat().st_size for segment in node.segments()) for node in nodes)
    return sizes[(len(sizes) - 1) // 2]
