"""Draws docs/metrics.png: three nodes under load, whose leader is first stopped, and later killed.

bash scripts/ensure_prometheus.sh && python -m scripts.dashboard [--seconds 120]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from raft.local import LocalQuorum
from raft.types import NodeId
from scripts.dashboard.drawing import draw, named
from scripts.dashboard.load import Load
from scripts.dashboard.panels import panels
from scripts.dashboard.prometheus import JOB, Prometheus

PICTURE = Path(__file__).parents[2] / "docs" / "metrics.png"
RATE_INTERVAL = "5s"
SETTINGS: dict[str, str | int] = {
    "cleanup.policy": "compact",
    "metadata.log.max.record.bytes.between.snapshots": 2 << 20,
    "metadata.max.retention.bytes": 4 << 20,
    "min.cleanable.dirty.ratio": "0.1",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.dashboard", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=120, help="how long the quorum runs")
    parser.add_argument("--file", type=Path, default=PICTURE)
    arguments = parser.parse_args()
    third_s = arguments.seconds / 3
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalQuorum.start(Path(folder) / "quorum", settings=SETTINGS, metrics=True) as quorum,
    ):
        targets = {f"node {node_id}": str(endpoint) for node_id, endpoint in quorum.metrics_endpoints.items()}
        with Prometheus(Path(folder), targets) as prometheus:
            begin_s = time.time()
            with Load(quorum.client):
                time.sleep(third_s)
                _signal_leader(quorum, signal.SIGTERM)
                time.sleep(third_s)
                _signal_leader(quorum, signal.SIGKILL)
                time.sleep(third_s)
            end_s = time.time()
            drawn = {
                panel: [
                    named(legend, series)
                    for query, legend in panel.queries
                    for series in prometheus.query_range(_filled(query), begin_s=begin_s, end_s=end_s)
                ]
                for panel in panels()
            }
    title = f"Three nodes; the leader is stopped after {third_s:.0f} s, and killed after {2 * third_s:.0f} s"
    draw(drawn, arguments.file, begin_s=begin_s, title=title)
    empty = [panel.title for panel, lines in drawn.items() if not lines]
    print(f"{arguments.file}: {len(drawn)} panels" + (f", without data: {', '.join(empty)}" if empty else ""))
    return 1 if empty else 0


def _signal_leader(quorum: LocalQuorum, number: signal.Signals) -> None:
    with quorum.client() as client:
        leader = client.describe_quorum().leader_id
    os.kill(quorum.pids[NodeId(leader)], number)


def _filled(query: str) -> str:
    """Return a query with what Grafana fills in."""
    return query.replace("$job", JOB).replace("$__rate_interval", RATE_INTERVAL).replace("[1h]", "[1m]")


if __name__ == "__main__":
    sys.exit(main())
