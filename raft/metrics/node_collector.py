"""Collects what is read from the state of a node when it is scraped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from raft.metrics.disk_families import DirectoryFigures, directory_families, look_at
from raft.metrics.families import gauge
from raft.metrics.loop_reader import LoopReader, LoopSilentError
from raft.runtime.disk import Disk

_logger = logging.getLogger(__name__)


class NodeCollector(Collector):
    """Collects from a node. If its event loop or its disk does not respond in time, what they know is left out.

    Args:
        reader: of its event loop.
        disk: of the replica.
        on_loop: returns the metrics of the node's state; called on the event loop.
        loop_age_s: returns how long ago the event loop turned, in seconds.
        topic: of the node.
    """

    def __init__(
        self,
        reader: LoopReader,
        disk: Disk,
        on_loop: Callable[[], list[Metric]],
        loop_age_s: Callable[[], float],
        topic: str,
    ) -> None:
        self._reader = reader
        self._disk = disk
        self._on_loop = on_loop
        self._loop_age_s = loop_age_s
        self._topic = topic

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        yield gauge(
            "kraft_event_loop_age_seconds",
            "Seconds since the event loop last turned; metrics of the node's state are missing while it does not turn.",
            self._loop_age_s(),
        )
        try:
            found = self._reader.read(self._on_loop)
        except LoopSilentError as error:
            _logger.warning("metrics are incomplete: %s", error)
            return
        yield from found
        yield from directory_families(self._look(), self._topic)

    def _look(self) -> DirectoryFigures | None:
        try:
            return self._reader.read_disk(self._disk, look_at)
        except Exception as error:
            _logger.warning("metrics of the log directory are missing: %s", error)
            return None
