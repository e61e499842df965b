"""Clusters: executors read and write a quorum beside the driver, while some are killed and leaders are suspended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.application import LARGE_ROWS, SMALL_ROWS
from tests.cluster.copying import Copying, suspend_leaders
from tests.cluster.hosts import Host, hosts
from tests.cluster.standalone import StandaloneCluster

pytestmark = pytest.mark.spark

_ROWS = SMALL_ROWS + LARGE_ROWS
_LOOPBACK = "127.0.0.1"


def test_executors_on_other_hosts_copy_rows_once_when_one_host_is_killed(tmp_path: Path) -> None:
    with (
        hosts(3) as (driver_host, *worker_hosts),
        StandaloneCluster([driver_host, *worker_hosts], tmp_path / "workers") as cluster,
        Copying(driver_host, cluster.url, tmp_path) as copying,
    ):
        started = copying.said()
        written = copying.said()
        assert copying.said() == {"copying": True}
        cluster.workers[0].kill()
        suspend_leaders(started)
        copying.write(b"\n")
        copied = copying.said()
        assert copying.wait() == 0

    both, remaining = cluster.executor_addresses, cluster.executor_addresses[1:]
    assert all(driver_host.address in servers for servers in started["servers"])
    assert written == {"input": _ROWS, "hosts": both}
    assert copied == {"copied": [_ROWS, _ROWS], "lost": 0, "doubled": 0, "hosts": remaining}


def test_executors_of_a_local_cluster_copy_rows_once_when_one_is_killed(tmp_path: Path) -> None:
    with Copying(Host(_LOOPBACK), "local-cluster[2,1,600]", tmp_path) as copying:
        started = copying.said()
        written = copying.said()
        assert copying.said() == {"copying": True}
        copying.kill_executor()
        suspend_leaders(started)
        copying.write(b"\n")
        copied = copying.said()
        assert copying.wait() == 0

    assert written == {"input": _ROWS, "hosts": [_LOOPBACK]}
    assert copied == {"copied": [_ROWS, _ROWS], "lost": 0, "doubled": 0, "hosts": [_LOOPBACK]}
