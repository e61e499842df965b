"""Makes the metrics of a node where its configuration asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raft.config import NodeConfig
from raft.runtime.scheduler import Scheduler

if TYPE_CHECKING:
    from raft.metrics.monitoring import Monitoring


def monitoring_of(config: NodeConfig, scheduler: Scheduler) -> Monitoring | None:
    """Return what measures a node; None without `metrics.listeners`.

    Args:
        config: of the node.
        scheduler: its event loop.
    """
    if config.metrics_listener is None:
        return None
    # The library takes time and memory, also in commands that only import the node.
    from raft.metrics.monitoring import Monitoring

    return Monitoring(config, config.metrics_listener, scheduler)
