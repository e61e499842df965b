"""Harm to quorums: leaders killed, voters restarted, logs replaced, answers lost."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from raft.local import LocalQuorum
from raft.local.ports import free_ports
from raft.types import Endpoint, NodeId
from tests.spark.produce_proxy import ProduceProxy

_LIMIT_S = 30.0


def leader_of(quorum: LocalQuorum) -> NodeId:
    """The present leader, as soon as there is one."""
    with quorum.client(api_timeout_ms=30_000) as client:
        return client.describe_quorum().leader_id


def kill(quorum: LocalQuorum, *node_ids: NodeId, with_signal: signal.Signals = signal.SIGKILL) -> None:
    """End voters, and wait until their watch has started all of them again."""
    before = quorum.pids
    for node_id in node_ids:
        os.kill(before[node_id], with_signal)
    deadline_s = time.monotonic() + _LIMIT_S
    while any(quorum.pids.get(node_id) in (None, before[node_id]) for node_id in node_ids):
        assert time.monotonic() < deadline_s, f"voters {node_ids} do not come back"
        time.sleep(0.05)
    leader_of(quorum)


def remove_log(data_dir: Path) -> None:
    """Take away everything that the one voter of a stopped quorum wrote; what it is called, and its cluster, stay."""
    shutil.rmtree(data_dir / "node-1" / "log" / "__cluster_metadata-0")


@contextmanager
def behind_proxy(data_dir: Path, passes: Callable[[int], bool]) -> Iterator[tuple[LocalQuorum, ProduceProxy]]:
    """A quorum of one voter that clients reach through a proxy only."""
    # The voter has the next port for other voters.
    (port,) = free_ports(1, in_a_row=2)
    with ProduceProxy(Endpoint("127.0.0.1", port), passes) as proxy:
        settings = {"advertised.listeners": f"CLIENT://{proxy.endpoint}"}
        with LocalQuorum.start(data_dir, voters=1, base_port=port, settings=settings) as quorum:
            yield quorum, proxy
