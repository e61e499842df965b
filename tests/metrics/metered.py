"""A core whose events and effects a meter sees, as in a node."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from raft.core.effects import Effect
from raft.core.events import Event
from raft.metrics.instruments import Instruments
from raft.metrics.node_meter import NodeMeter
from tests.core.builder import Node

TOPIC = "__cluster_metadata"


class Metered:
    """Measures a node from now on.

    Attributes:
        node: its events go through the meter.
        meter: its clock is that of the core.
        registry: of the node.
    """

    def __init__(self, node: Node, *, now_ms: int = 0) -> None:
        self.node = node
        self.now_ms = now_ms
        self.registry = CollectorRegistry()
        self.meter = NodeMeter(Instruments(self.registry, TOPIC), lambda: self.now_ms / 1000)
        self._handle = node.core.handle
        node.core.handle = self._metered  # type: ignore[method-assign]  # as an engine passes events on

    def sample(self, name: str, **labels: str) -> float | None:
        """Return a sample of the registry."""
        return self.registry.get_sample_value(name, labels)

    def _metered(self, event: Event, now_ms: int) -> list[Effect]:
        self.now_ms = now_ms
        effects = self._handle(event, now_ms)
        self.meter.handled(event, effects, self.node.core)
        assert not self.meter.is_broken, "the meter has raised no error"
        return effects
