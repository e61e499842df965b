"""Local quorums whose credentials an application has, and their faults: voters killed, logs removed, responses lost."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from datasource.spark_files import HANDED_PREFIX
from kraft_spark.handover import hand_over
from kraft_spark.spark_application import SparkApplication
from raft.local import LocalQuorum
from raft.local.ports import free_ports
from raft.types import Endpoint, NodeId
from tests.hang import HANG_S
from tests.network.produce_proxy import ProduceProxy
from tests.node.harness.waiting import eventually


@contextmanager
def local_quorum(spark: SparkSession, data_dir: Path, **arguments: Any) -> Iterator[LocalQuorum]:
    """Run a local quorum whose credentials the application has, as those of a `QuorumService`.

    Args:
        spark: session of the application.
        data_dir: see `LocalQuorum.start`.
        arguments: see there.
    """
    with LocalQuorum.start(data_dir, **arguments) as quorum, handed_over(spark, quorum):
        yield quorum


@contextmanager
def handed_over(spark: SparkSession, quorum: LocalQuorum, *more_servers: str) -> Iterator[None]:
    """Hand the credentials of a quorum to an application of one process, and take them back at the end of the block.

    An application of the tests has hundreds of quorums. Without the end, the next one at the address of an old one
    might be one that has no credentials.

    Args:
        spark: session of the application.
        quorum: the quorum.
        more_servers: other addresses that clients may give these credentials to.
    """
    before = _handed_files()
    servers = ",".join((quorum.bootstrap_servers, *more_servers))
    hand_over(SparkApplication(spark), quorum.client_properties, bootstrap_servers=servers)
    (file,) = _handed_files() - before
    try:
        yield
    finally:
        # The application may have ended before, with its files.
        file.unlink(missing_ok=True)


def _handed_files() -> set[Path]:
    return {*Path(SparkFiles.getRootDirectory()).glob(f"{HANDED_PREFIX}*")}


def leader_of(quorum: LocalQuorum) -> NodeId:
    """Wait for a leader; return its node id."""
    with quorum.client(api_timeout_ms=30_000) as client:
        return client.describe_quorum().leader_id


def kill(quorum: LocalQuorum, *node_ids: NodeId, with_signal: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal that ends voters, and wait until all of them are restarted and there is a leader."""
    before = quorum.pids
    for node_id in node_ids:
        os.kill(before[node_id], with_signal)
    eventually(
        lambda: all(quorum.pids.get(node_id) not in (None, before[node_id]) for node_id in node_ids),
        f"voters {node_ids} run again",
        within_s=HANG_S,
    )
    leader_of(quorum)


def remove_log(data_dir: Path) -> None:
    """Remove the log and the election state of the one voter of a stopped quorum; it keeps its ids."""
    shutil.rmtree(data_dir / "node-1" / "log" / "__cluster_metadata-0")


@contextmanager
def behind_proxy(data_dir: Path, passes: Callable[[int], bool]) -> Iterator[tuple[LocalQuorum, ProduceProxy]]:
    """Run a quorum of one voter that advertises a proxy as its address; see `ProduceProxy`."""
    # The voter listens for other voters on the next port.
    (port,) = free_ports(1, in_a_row=2)
    keystore = data_dir / "node-1" / "node.pem"
    with ProduceProxy(Endpoint("127.0.0.1", port), passes, keystore=keystore) as proxy:
        settings = {"advertised.listeners": f"CLIENT://{proxy.endpoint}"}
        with LocalQuorum.start(data_dir, voters=1, base_port=port, settings=settings) as quorum:
            yield quorum, proxy
