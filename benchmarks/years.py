"""A quorum over years in minutes: many appends over few keys, voters killed now and then, and what each voter needs.

python -m benchmarks.years [--appends 20000000] [--keys 100000] [--kills 8]

Three local voters with `cleanup.policy=compact` and a small retention take the appends of one client. It samples the
size of each log directory and the memory of each voter, and notes how long each voter that was killed takes from the
start of its process until it takes connections. It writes `years.json` and `years.svg` to `benchmarks/results/`, or,
with other arguments than the defaults, to `benchmarks/work/`. Afterwards the newest record of each key is compared with
what was written. The exit code is 1 if they differ.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import matplotlib as mpl
import psutil
from matplotlib.figure import Figure

from benchmarks.results import FOLDER
from raft.client import Client
from raft.local import LocalQuorum
from raft.records.batch import build_batch, read_records
from raft.records.batches import read_batches
from raft.records.record import Record
from raft.types import NodeId, Offset

APPENDS, KEYS, KILLS = 20_000_000, 100_000, 8
SETTINGS: dict[str, str | int] = {
    "cleanup.policy": "compact",
    "metadata.log.max.record.bytes.between.snapshots": 32 << 20,
    "metadata.max.retention.bytes": 64 << 20,
    "metadata.log.segment.bytes": 64 << 20,
    "delete.retention.ms": 0,
}
_BATCH_RECORDS = 1_000
_EVERY_S = 1.0
_MB = 1e6
_OTHER_RESULTS = Path(__file__).parent / "work"


@dataclass(slots=True)
class Sample:
    """One look at all voters.

    Fields:
        appended: records that were appended so far.
        disk_mb, memory_mb: of each voter; of memory, its resident part.
    """

    appended: int
    disk_mb: list[float]
    memory_mb: list[float]


@dataclass(slots=True)
class Start:
    """A voter that came back: how many records were appended by then, and how long its start took."""

    appended: int
    seconds: float


@dataclass(slots=True)
class Measured:
    """Everything that was measured.

    Fields:
        samples, starts: in order.
        quiet_ms, busy_ms: latencies of appends while no voter made a snapshot, and while one did.
    """

    samples: list[Sample] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    quiet_ms: list[float] = field(default_factory=list)
    busy_ms: list[float] = field(default_factory=list)


class Observer(threading.Thread):
    """Samples the voters each second, and looks more often whether one makes a snapshot."""

    def __init__(self, quorum: LocalQuorum, folder: Path, measured: Measured) -> None:
        super().__init__(daemon=True)
        self.appended = 0
        self.makes_snapshot = False
        self._quorum = quorum
        self._folder = folder
        self._measured = measured
        self._is_over = threading.Event()

    def run(self) -> None:
        """Sample until `stop`."""
        due_s = time.monotonic()
        while not self._is_over.wait(0.02):
            self.makes_snapshot = any(self._folder.glob("*/**/*.checkpoint.making"))
            if time.monotonic() >= due_s:
                due_s += _EVERY_S
                self._sample()

    def stop(self) -> None:
        """Sample no more."""
        self._is_over.set()
        self.join()

    def _sample(self) -> None:
        memory = []
        for pid in self._quorum.pids.values():
            try:
                memory.append(psutil.Process(pid).memory_info().rss / _MB)
            except psutil.NoSuchProcess:
                continue
        disk = [_size_bytes(voter) / _MB for voter in sorted(self._folder.iterdir()) if voter.is_dir()]
        self._measured.samples.append(Sample(self.appended, disk, memory))


def _size_bytes(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size
        except FileNotFoundError:
            continue
    return total


def fill(quorum: LocalQuorum, observer: Observer, given: argparse.Namespace, measured: Measured) -> dict[bytes, bytes]:
    """Append records, kill voters between them, and return the newest value of each key."""
    dice = random.Random(given.seed)
    newest: dict[bytes, bytes] = {}
    kill_each = given.appends // (given.kills + 1)
    kill_at = kill_each
    with quorum.client(api_timeout_ms=120_000) as client:
        while observer.appended < given.appends:
            records = []
            for at in range(observer.appended, min(observer.appended + _BATCH_RECORDS, given.appends)):
                key, value = b"key-%06d" % dice.randrange(given.keys), b"value of append %d" % at
                newest[key] = value
                records.append(Record(key=key, value=value, timestamp_ms=int(time.time() * 1000)))
            batch = build_batch(records)
            was_busy, started_s = observer.makes_snapshot, time.perf_counter()
            client.append(batch)
            latency_ms = 1000 * (time.perf_counter() - started_s)
            (measured.busy_ms if was_busy and observer.makes_snapshot else measured.quiet_ms).append(latency_ms)
            observer.appended += len(records)
            if observer.appended >= kill_at:
                kill_at += kill_each
                node_id = dice.choice(sorted(quorum.pids))
                measured.starts.append(Start(observer.appended, _killed_and_back(quorum, node_id)))
    return newest


def _killed_and_back(quorum: LocalQuorum, node_id: NodeId) -> float:
    """Kill a voter; return how long the start of the next process took, until a fetch from it got a response."""
    killed = quorum.pids[node_id]
    psutil.Process(killed).kill()
    while (pid := quorum.pids.get(node_id, killed)) == killed:
        time.sleep(0.01)
    begun_s = float(psutil.Process(pid).create_time())
    host, port = quorum.bootstrap_servers.split(",")[node_id - 1].split(":")
    while True:
        try:
            # The listener is opened when the log is open.
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return time.time() - begun_s


def read_back(client: Client) -> dict[bytes, bytes]:
    """Read the log from its first record on; return the newest value of each key."""
    newest: dict[bytes, bytes] = {}
    offset, end_offset = client.log_start_offset(), client.last_stable_offset()
    while offset < end_offset:
        fetched = client.fetch(offset, max_bytes=4 << 20)
        for batch in read_batches(fetched.records):
            if not batch.header.is_control:
                for record in read_records(batch.payload):
                    assert record.key is not None, "the log takes records with keys only"
                    newest[record.key] = record.value or b""
            offset = Offset(max(offset, batch.header.end_offset))
    return newest


def draw(measured: Measured, file: Path, *, title: str) -> None:
    """Write an SVG file with disk, memory and start time over the appends."""
    with mpl.rc_context({"svg.hashsalt": "years", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9, 7), layout="constrained")
        disk, memory, start = figure.subplots(3, 1, sharex=True)
        millions = [sample.appended / 1e6 for sample in measured.samples]
        for axes, rows, label in (
            (disk, [sample.disk_mb for sample in measured.samples], "log directory, MB"),
            (memory, [sample.memory_mb for sample in measured.samples], "resident memory, MB"),
        ):
            axes.plot(millions, [max(row, default=0) for row in rows], color="#1f77b4", label="largest voter")
            axes.plot(millions, [min(row, default=0) for row in rows], color="#888888", label="smallest voter")
            axes.set_ylabel(label)
            axes.legend(loc="lower right")
        start.plot(
            [each.appended / 1e6 for each in measured.starts],
            [each.seconds for each in measured.starts],
            "o",
            color="#1f77b4",
        )
        start.set_ylabel("start after kill -9, s")
        start.set_xlabel("million appends")
        for axes in (disk, memory, start):
            axes.set_ylim(bottom=0)
            axes.grid(linewidth=0.3)
        disk.set_title(title)
        figure.savefig(file, format="svg", metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.years", description="A quorum over years in minutes.")
    parser.add_argument("--appends", type=int, default=APPENDS, help="records")
    parser.add_argument("--keys", type=int, default=KEYS, help="different keys")
    parser.add_argument("--kills", type=int, default=KILLS, help="voters that are killed on the way")
    parser.add_argument("--seed", type=int, default=1, help="of the keys and the kills")
    given = parser.parse_args(arguments)
    is_whole = (given.appends, given.keys, given.kills) == (APPENDS, KEYS, KILLS)
    results = FOLDER if is_whole else _OTHER_RESULTS
    results.mkdir(exist_ok=True)
    measured = Measured()
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder, "quorum")
        with LocalQuorum.start(data_dir, settings=SETTINGS) as quorum:
            observer = Observer(quorum, data_dir, measured)
            observer.start()
            started_s = time.monotonic()
            newest = fill(quorum, observer, given, measured)
            seconds = time.monotonic() - started_s
            observer.stop()
            with quorum.client() as client:
                is_equal = read_back(client) == newest
    summary = {
        "appends": given.appends,
        "keys": given.keys,
        "seconds": round(seconds, 1),
        "largest disk MB": round(max(max(sample.disk_mb, default=0) for sample in measured.samples), 1),
        "largest memory MB": round(max(max(sample.memory_mb, default=0) for sample in measured.samples), 1),
        "slowest start s": round(max((each.seconds for each in measured.starts), default=0), 2),
        "p99 ms without a snapshot": _p99(measured.quiet_ms),
        "p99 ms while one is made": _p99(measured.busy_ms),
        "newest records are right": is_equal,
    }
    for name, value in summary.items():
        print(f"{name:28} {value}")
    series = {name: [asdict(each) for each in getattr(measured, name)] for name in ("samples", "starts")}
    (results / "years.json").write_text(json.dumps(summary | series))
    draw(
        measured,
        results / "years.svg",
        title=f"{given.appends:,} appends over {given.keys:,} keys, cleanup.policy=compact",
    )
    return 0 if is_equal else 1


def _p99(latencies_ms: list[float]) -> float | None:
    return round(statistics.quantiles(latencies_ms, n=100)[98], 2) if len(latencies_ms) > 1 else None


if __name__ == "__main__":
    sys.exit(main())
