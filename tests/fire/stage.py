"""All processes of a run: two quorums, a cluster, and the driver of the query that copies one into the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from datasource.allowed_references import VARIABLE as PROVIDERS_VARIABLE
from datasource.write_task import MESSAGE_BYTES
from tests.fire.cluster import Cluster
from tests.fire.driver import Driver
from tests.harness.quorum import Quorum, quorum_behind
from tests.network.network import Network
from tests.node.harness.properties import SHORT_TIMEOUTS
from tests.node.harness.waiting import eventually
from tests.processes.commands import ROOT

FETCH_TIMEOUT_MS = 1_500
CHECK_QUORUM_MS = 1.5 * FETCH_TIMEOUT_MS
PART_BYTES = 2 * MESSAGE_BYTES
"""A batch of this size is one of a part, because the rows of two tasks together are smaller if they are in messages."""

_SETTINGS = SHORT_TIMEOUTS | {
    "controller.quorum.fetch.timeout.ms": str(FETCH_TIMEOUT_MS),
    "controller.quorum.election.timeout.ms": "700",
    "controller.quorum.request.timeout.ms": "1500",
    # Parts of a driver that was killed are aborted while the next one starts.
    "transaction.max.timeout.ms": "20000",
    # The smallest valid size, so that a run has several segments.
    "metadata.log.segment.bytes": str(8 << 20),
}
_SPARK_HOME = ROOT / ".cache" / "spark"
_GROWTH_S = 60.0
_LOOK_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What faults strike.

    Fields:
        source, sink: the quorums; each of their nodes is a process behind a proxy.
        cluster: the executors.
        driver: the query.
    """

    source: Quorum
    sink: Quorum
    cluster: Cluster
    driver: Driver

    def quorum(self, name: str) -> Quorum:
        """Return one of the quorums."""
        return {"source": self.source, "sink": self.sink}[name]

    def wait_for_append(self, *, least_bytes: int = 1) -> None:
        """Return as soon as the leader of the sink has written a batch to its disk.

        Args:
            least_bytes: size of the batch; with `PART_BYTES` it is one of a part.
        """
        node = self.sink.leader()

        def size_bytes() -> int:
            return sum(segment.stat().st_size for segment in node.segments())

        before = size_bytes()

        def has_grown() -> bool:
            nonlocal before
            last, before = before, size_bytes()
            return before >= last + least_bytes

        eventually(has_grown, "an append to the sink", within_s=_GROWTH_S, every_s=_LOOK_S)


@contextmanager
def prepared_stage(folder: Path, *, sink_format: str, is_secured: bool) -> Iterator[Stage]:
    """Run all processes during the block; nothing of them remains but files in the folder.

    Args:
        folder: an empty folder.
        sink_format: the data source of the sink.
        is_secured: whether the quorums are secured.
    """
    with ExitStack() as stack, _environment(folder):
        source, sink = (
            stack.enter_context(quorum_of_stage(folder / name, is_secured=is_secured)) for name in ("source", "sink")
        )
        cluster = stack.enter_context(Cluster(folder))
        driver = stack.enter_context(
            Driver(cluster.url, source.options(), sink.options(), folder, sink_format=sink_format)
        )
        yield Stage(source=source, sink=sink, cluster=cluster, driver=driver)


@contextmanager
def quorum_of_stage(folder: Path, *, is_secured: bool) -> Iterator[Quorum]:
    """Run one of the two quorums during the block.

    Args:
        folder: does not exist.
        is_secured: whether it is secured.
    """
    with Network() as network, quorum_behind(network, folder, _SETTINGS, is_secured=is_secured).start() as quorum:
        yield quorum


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    """Let Spark's processes write into the folder alone, read passwords there, and start fast (`tests/conftest.py`)."""
    temporary = folder / "tmp"
    temporary.mkdir()
    options = f"-Djava.io.tmpdir={temporary} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    changed = {
        "SPARK_LOCAL_DIRS": str(temporary),
        "SPARK_DAEMON_JAVA_OPTS": options,
        PROVIDERS_VARIABLE: f"directory:{folder}",
    }
    classes = _SPARK_HOME / "classes.jsa"
    if classes.exists():
        changed["SPARK_HOME"] = str(_SPARK_HOME)
    changed["SPARK_SUBMIT_OPTS"] = f"-XX:SharedArchiveFile={classes} {options}"
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
