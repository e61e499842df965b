"""The metrics of one node: what measures it, and where they are served."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.process_collector import ProcessCollector

from raft.config import NodeConfig
from raft.core import RaftCore
from raft.metrics.application import Application
from raft.metrics.disk_families import log_families
from raft.metrics.figures import Monitored
from raft.metrics.heartbeat import Heartbeat
from raft.metrics.http_server import HttpServer
from raft.metrics.instruments import Instruments
from raft.metrics.loop_reader import LoopReader
from raft.metrics.measured_requests import Handle, MeasuredRequests
from raft.metrics.node_collector import NodeCollector
from raft.metrics.node_meter import NodeMeter
from raft.metrics.quorum_families import election_families, replica_families
from raft.metrics.quota_families import quota_families
from raft.metrics.raft_families import raft_families
from raft.metrics.readiness import Readiness, readiness
from raft.metrics.resource_families import resource_families
from raft.metrics.security_families import security_families
from raft.metrics.snapshot_timer import SnapshotTimer
from raft.runtime.scheduler import Scheduler
from raft.runtime.snapshot_keeper import SnapshotMaker
from raft.types import Endpoint

_logger = logging.getLogger(__name__)

_WAIT_S = 2.0
"""How long a scrape waits for the event loop, and for the disk."""


class Monitoring:
    """Measures a node, and serves its metrics and its health.

    Args:
        config: of the node.
        endpoint: where to serve.
        scheduler: the event loop of the node.
        clock_s: returns the time of a monotonic clock, in seconds.

    Attributes:
        meter: for the engine and the disk.
        registry: of this node.
    """

    def __init__(
        self,
        config: NodeConfig,
        endpoint: Endpoint,
        scheduler: Scheduler,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._endpoint = endpoint
        self._scheduler = scheduler
        self._clock_s = clock_s
        self._reader = LoopReader(scheduler.post, _WAIT_S)
        self._server: HttpServer | None = None
        self.registry = CollectorRegistry()
        self._instruments = Instruments(self.registry, config.topic_name)
        self.meter = NodeMeter(self._instruments, clock_s)
        self._heartbeat = Heartbeat(
            scheduler, clock_s=clock_s, processor_s=time.thread_time, on_lag=self._instruments.lag_s.observe
        )

    def measured(self, handle: Handle) -> Handle:
        """Return a function that begins requests and measures them."""
        return MeasuredRequests(handle, self._instruments, self._clock_s)

    def timed(self, maker: SnapshotMaker) -> SnapshotMaker:
        """Return a maker of snapshots that is measured."""
        return SnapshotTimer(maker, self._instruments, self._clock_s)

    def start(self, node: Monitored) -> None:
        """Begin to measure. Called on the event loop."""
        age_s = self._loop_age_s
        ProcessCollector(registry=self.registry)
        self.registry.register(
            NodeCollector(self._reader, node.disk, lambda: self._on_loop(node), age_s, self._config.topic_name)
        )
        application = Application(
            self.registry,
            loop_age_s=age_s,
            readiness=lambda: self._reader.read(lambda: self._readiness(node.core)),
            clock_s=self._clock_s,
        )
        self._heartbeat.start()
        self._server = HttpServer(self._endpoint, application, tls=node.tls)

    def listen(self) -> None:
        """Begin to serve. Called on another thread than the event loop's, because the look-up of the host may wait.

        Raises:
            ConfigError: the port is in use, or the host is not an address of this machine.
        """
        assert self._server is not None, "it is started first"
        self._server.open()
        _logger.info("node %s serves its metrics on %s", self._config.node_id, self._endpoint)

    def stop(self) -> None:
        """Measure the event loop no more. Called on it."""
        self._heartbeat.stop()

    def close(self) -> None:
        """Serve no more. Called on another thread, because a request that is being served may need the event loop."""
        if self._server is not None:
            self._server.close()

    def _loop_age_s(self) -> float:
        return self._heartbeat.age_s

    def _readiness(self, core: RaftCore) -> Readiness:
        return readiness(
            core,
            self.meter.contact,
            fetch_timeout_ms=self._config.fetch_timeout_ms,
            now_ms=self.meter.now_ms(),
        )

    def _on_loop(self, node: Monitored) -> list[Metric]:
        core, meter, now_ms, figures = node.core, self.meter, self.meter.now_ms(), node.figures()
        return [
            *raft_families(core, meter, self._heartbeat.idle_ratio(), voters=len(self._config.voters), now_ms=now_ms),
            *election_families(meter.elections),
            *replica_families(core, meter.contact, now_ms=now_ms, core_now_ms=self._scheduler.now_ms()),
            *resource_families(core, figures, self._heartbeat.longest_steps_s()),
            *security_families(figures),
            *quota_families(figures),
            *log_families(
                core,
                topic=self._config.topic_name,
                free_bytes=figures.free_bytes,
                reserve_bytes=self._config.reserve_bytes,
            ),
        ]
