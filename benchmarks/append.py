"""How long a single append to three voters takes, beside a flush and a round trip of the machine alone.

python -m benchmarks.append [--quick]

Every voter is a process. The figures of the machine are measured in the same run: fdatasync of as many bytes as an
append writes, and a round trip on loopback between two processes. A commit needs at least two round trips (client to
leader, leader to follower) and one flush on a majority; the ratio to that sum is the main figure. `benchmarks.where`
measures where the rest of the time goes, and `benchmarks.run` compares appends with puts to etcd.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.results import Figures, record
from benchmarks.where import cpu_figures, part_figures
from raft.client import AsyncClient, Client
from raft.client.calls import append, new_producer_id
from raft.local import LocalQuorum
from raft.records.batch import build_batch
from raft.records.record import Record

VALUE = b"x" * 100
CLIENTS = 64

_ECHO = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while data := connection.recv(4096):
    connection.sendall(data)
"""


def batch_of(producer_id: int, sequence: int) -> bytes:
    """Return a batch of one record, as an idempotent producer sends it."""
    now_ms = int(time.time() * 1000)
    record_of_100_bytes = Record(value=VALUE, timestamp_ms=now_ms)
    return build_batch([record_of_100_bytes], producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def timed(count: int, work: Callable[[], object]) -> list[float]:
    """Return the milliseconds that each of some calls takes."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    return times


def fdatasync_ms(folder: Path, count: int) -> list[float]:
    """Return the milliseconds of flushes of as many bytes as an append writes."""
    file = os.open(folder / "fdatasync", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    payload = batch_of(1, 1)

    def flush() -> None:
        os.write(file, payload)
        os.fdatasync(file)

    try:
        return timed(count, flush)
    finally:
        os.close(file)


def round_trip_ms(count: int) -> list[float]:
    """Return the milliseconds of round trips on loopback between two processes."""
    with subprocess.Popen([sys.executable, "-c", _ECHO], stdout=subprocess.PIPE, text=True) as echo:
        assert echo.stdout is not None
        with socket.create_connection(("127.0.0.1", int(echo.stdout.readline()))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            payload = batch_of(1, 1)

            def exchange() -> None:
                connection.sendall(payload)
                left = len(payload)
                while left:
                    left -= len(connection.recv(4096))

            return timed(count, exchange)


def one_client_ms(client: Client, count: int) -> list[float]:
    """Return the milliseconds of appends, one after the other."""
    producer_id = client.new_producer_id()
    sequences = iter(range(count))
    return timed(count, lambda: client.append(batch_of(producer_id, next(sequences))))


async def many_clients_ms(client: Client, count: int) -> tuple[list[float], float]:
    """Return the milliseconds of appends of many clients, each one at a time, and their appends a second."""

    async def run(times: list[float]) -> None:
        async with AsyncClient(client.settings) as one:
            producer_id = await one.call(new_producer_id)
            for sequence in range(count):
                started = time.perf_counter()
                await one.call(append, batch_of(producer_id, sequence))
                times.append((time.perf_counter() - started) * 1000)

    times: list[float] = []
    started = time.perf_counter()
    await asyncio.gather(*(run(times) for _ in range(CLIENTS)))
    return times, CLIENTS * count / (time.perf_counter() - started)


def percentile_figures(label: str, times_ms: list[float]) -> Figures:
    """Return p50 and p99 by label."""
    cuts = statistics.quantiles(times_ms, n=100)
    return {f"{label} ms p50": cuts[49], f"{label} ms p99": cuts[98]}


def measure(count: int) -> Figures:
    """Run the benchmark."""
    with (
        tempfile.TemporaryDirectory() as name,
        LocalQuorum.start(Path(name, "quorum")) as quorum,
        quorum.client(api_timeout_ms=60_000) as client,
    ):
        one_client_ms(client, count // 5 + 1)
        machine = {
            **percentile_figures("fdatasync", fdatasync_ms(Path(name), count)),
            **percentile_figures("loopback round trip", round_trip_ms(count)),
        }
        floor = 2 * machine["loopback round trip ms p50"] + machine["fdatasync ms p50"]
        one = one_client_figures(quorum, client, count, floor)
        return machine | one | many_clients_figures(quorum, client, count, one["append ms p50"])


def one_client_figures(quorum: LocalQuorum, client: Client, count: int, floor: float) -> Figures:
    """Measure one append at a time, beside the least time in ms that a commit needs."""
    leader_id = client.describe_quorum().leader_id
    times: list[float] = []

    def load() -> int:
        times.extend(one_client_ms(client, count))
        return count

    cpu = cpu_figures("append", quorum, leader_id, load)
    figures = percentile_figures("append", times)
    ratio = {"append p50 / (2 round trips + 1 flush)": figures["append ms p50"] / floor}
    return figures | ratio | cpu | part_figures("append", quorum.pids[leader_id], load)


def many_clients_figures(quorum: LocalQuorum, client: Client, count: int, one_p50: float) -> Figures:
    """Measure many clients, each with one append at a time, beside the time in ms of one client alone."""
    leader_id = client.describe_quorum().leader_id
    label = f"{CLIENTS} clients"
    each = max(count // 16, 5)
    times: list[float] = []
    rates: list[float] = []

    def load() -> int:
        many, rate = asyncio.run(many_clients_ms(client, each))
        times.extend(many)
        rates.append(rate)
        return CLIENTS * each

    cpu = cpu_figures(label, quorum, leader_id, load)
    figures = percentile_figures(f"{label}: append", times) | {
        f"{label}: appends a second": rates[0],
        f"{label}: appends a second / one client's": rates[0] * one_p50 / 1000,
    }
    return figures | cpu | part_figures(label, quorum.pids[leader_id], load)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    figures = measure(200 if arguments.quick else 2000)
    record("append", "python -m benchmarks.append", figures, keep=not arguments.quick)


if __name__ == "__main__":
    main()
