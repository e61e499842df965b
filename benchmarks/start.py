"""The start of a node with a long log: time until it takes connections, and its memory then.

python -m benchmarks.start [--records 1000000,10000000]

Each log is in batches of one record, which is the most work for a start that reads the log. A node is started on it
after a clean stop, after the end of its process by SIGKILL, and without the list of trusted segments, as after the
upgrade from a release that has none. The exit code is 1 if a start after a clean stop takes 2 s or longer.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from raft.local import LocalQuorum
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.storage.directory import ReplicaDirectory
from raft.storage.disk import DiskFiles
from raft.storage.opened_directory import ReplicaIdentity
from raft.storage.trusted_segments import TRUSTED_SEGMENTS_NAME
from raft.transactions import ProducerState
from raft.types import Batch, NodeId, Offset, Uuid

_LIMIT_S = 2.0
_RUN = 200
_TOPIC, _TOPIC_ID = "__cluster_metadata", Uuid("AAAAAAAAAAAAAAAAAAAAAQ")
_MB = 1e6
_CLEAN, _KILLED, _WITHOUT_LIST = "after a clean stop", "after SIGKILL", "without the list"
_STARTS = {_CLEAN: signal.SIGKILL, _KILLED: signal.SIGTERM, _WITHOUT_LIST: signal.SIGTERM}
"""The starts in their order, and how the node is ended after each."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all starts; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description="The start of a node.")
    parser.add_argument("--records", default="1000000,10000000", help="lengths of the logs")
    given = parser.parse_args(arguments)
    print(f"{'records':>10} {'log MB':>8}  {'start':24} {'seconds':>8} {'memory MB':>10}")
    slowest_s = 0.0
    for records in map(int, given.records.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            data_dir = Path(folder, "quorum")
            with LocalQuorum.start(data_dir, voters=1) as quorum:
                cluster_id, address = quorum.cluster_id, quorum.bootstrap_servers
            log_dir = next(data_dir.glob("node-1/*/meta.properties")).parent
            _fill(log_dir, cluster_id, records)
            size_mb = sum(file.stat().st_size for file in log_dir.rglob("*.log")) / _MB
            properties = next(data_dir.glob("node-1/node.properties"))
            for kind, ends_with in _STARTS.items():
                if kind == _WITHOUT_LIST:
                    (log_dir / f"{_TOPIC}-0" / TRUSTED_SEGMENTS_NAME).unlink()
                seconds, memory_mb = _start(properties, address, ends_with=ends_with)
                print(f"{records:10} {size_mb:8.0f}  {kind:24} {seconds:8.2f} {memory_mb:10.1f}", flush=True)
                slowest_s = max(slowest_s, seconds if kind == _CLEAN else 0.0)
    return 0 if slowest_s < _LIMIT_S else 1


def _fill(log_dir: Path, cluster_id: str, records: int) -> None:
    """Append batches of one record to the log of a stopped node."""
    identity = ReplicaIdentity(topic=_TOPIC, topic_id=_TOPIC_ID, node_id=NodeId(1), cluster_id=cluster_id)
    producers = ProducerState()
    directory = ReplicaDirectory.open(DiskFiles(log_dir), identity, entropy=os.urandom(16), producers=producers)
    end = directory.log.end
    payload = build_batch(
        [Record(key=b"a key", value=bytes(80), timestamp_ms=int(time.time() * 1000))], epoch=end.epoch
    )
    header, offset = read_header(payload), end.offset
    while offset < records:
        run = []
        for _ in range(min(_RUN, records - offset)):
            run.append(Batch(header=replace(header, base_offset=offset, last_offset=offset), payload=payload))
            offset = Offset(offset + 1)
        if directory.append(run):
            directory.write_producer_snapshot(producers.image(directory.log.end_offset))
    directory.flush()
    producers.committed(offset)
    directory.close(producers.image(offset))


def _start(properties: Path, address: str, *, ends_with: signal.Signals) -> tuple[float, float]:
    """Start the node; return the seconds until it takes connections, and its memory then in MB."""
    host, port = address.split(":")
    begun_s = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "raft.cli", "serve", "--config", str(properties)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit(f"the node ended with exit code {process.returncode}") from None
                time.sleep(0.01)
        return time.monotonic() - begun_s, psutil.Process(process.pid).memory_info().rss / _MB
    finally:
        process.send_signal(ends_with)
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
