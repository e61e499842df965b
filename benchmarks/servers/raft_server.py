"""Three of Kafka's TestRaftServer: a KRaft quorum whose leader writes records by itself, as fast as it can.

It serves no clients, so nobody can produce to it. What is measured is how fast its log grows on a majority.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from benchmarks.servers.broker import SMALL_HEAP
from raft.types import NodeId
from tests.java.kafka import Kafka, MainClass, java_command
from tests.java.processes import Server
from tests.java.seats import RAFT_SERVER_TOPIC, Seat, seat_voters
from tests.node.harness.waiting import eventually

_VOTERS = 3
_MORE_BYTES_A_SECOND_THAN_IT_CAN = 150_000_000
"""What it is asked for. At such rates its log stands still now and then, at times for good."""

_START_S = 120
_STANDS_STILL_S = 30
_ATTEMPTS = 3


def growth_bytes_a_second(
    kafka: Kafka, folder: Path, *, value_bytes: int, warm_up_s: float, measured_s: float
) -> float:
    """Start a quorum, let it write, and end it; return how fast the log grows on all but the slowest voter.

    If its log stops growing, a new quorum is measured instead.

    Args:
        kafka: the programs.
        folder: holds the logs; must not be there yet.
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
    seats = seat_voters(folder, _VOTERS, RAFT_SERVER_TOPIC)
    servers = [_server(kafka, node_id, seat, value_bytes) for node_id, seat in seats.items()]
    try:
        for server in servers:
            server.start()
        eventually(lambda: _log_bytes(seats) > 1 << 16, "TestRaftServer writes", within_s=_START_S)
        time.sleep(warm_up_s)
        before, started = _log_bytes(seats), time.perf_counter()
        time.sleep(measured_s)
        # It writes in bursts: a short time may hold none.
        eventually(lambda: _log_bytes(seats) > before, "TestRaftServer goes on writing", within_s=_STANDS_STILL_S)
        return (_log_bytes(seats) - before) / (time.perf_counter() - started)
    finally:
        for server in servers:
            server.kill()


def _server(kafka: Kafka, node_id: NodeId, seat: Seat, value_bytes: int) -> Server:
    directory_id = f"{'ABC'[node_id - 1] * 21}g"
    arguments = {
        "--config": str(seat.config),
        "--replica-directory-id": directory_id,
        "--throughput": str(_MORE_BYTES_A_SECOND_THAN_IT_CAN // value_bytes),
        "--record-size": str(value_bytes),
    }
    words = [word for pair in arguments.items() for word in pair]
    command = java_command(kafka.jars, MainClass.RAFT_SERVER, *words, log_level="warn", jvm=SMALL_HEAP)
    return Server(f"TestRaftServer {node_id}", command, log_file=seat.folder / "java.log")


def _log_bytes(seats: dict[NodeId, Seat]) -> int:
    """Bytes of the log on a majority of the voters."""
    sizes = sorted(sum(segment.stat().st_size for segment in seat.segments()) for seat in seats.values())
    return sizes[(len(sizes) - 1) // 2]
