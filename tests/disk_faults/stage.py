"""Five nodes of a system on volumes of their own, and what the faults do with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.disk_faults.load import Load
from tests.disk_faults.system import Node, System
from tests.processes.child_process import kill_at_once


class Stage:
    """The nodes of a system under load.

    Args:
        system: its nodes run.
        load: runs, and goes on while faults strike.
    """

    def __init__(self, system: System, load: Load) -> None:
        self.system = system
        self.load = load
        self._suspended: list[Node] = []

    @property
    def nodes(self) -> Sequence[Node]:
        """All nodes."""
        return self.system.nodes

    @property
    def refused(self) -> list[str]:
        """The last line of each node that has ended by itself."""
        return [
            f"{node.process.name}: {(node.process.last_output.splitlines() or ['it printed nothing'])[-1]}"
            for node in self.nodes
            if not node.process.is_running
        ]

    def lose_power(self, nodes: Iterable[Node]) -> None:
        """Kill nodes at once, and drop what their volumes have not flushed."""
        nodes = list(nodes)
        self.kill(nodes)
        for node in nodes:
            node.volume.lose_power()

    def kill(self, nodes: Iterable[Node]) -> None:
        """Kill nodes at once."""
        kill_at_once(node.process for node in nodes)

    def start(self, nodes: Iterable[Node]) -> None:
        """Start nodes at once."""
        for node in nodes:
            self.system.start(node)

    def suspend(self, nodes: Iterable[Node]) -> None:
        """Suspend nodes."""
        for node in nodes:
            node.process.suspend()
            self._suspended.append(node)

    def resume(self, nodes: Iterable[Node]) -> None:
        """Resume nodes."""
        for node in nodes:
            node.process.resume()
            self._suspended.remove(node)

    def resume_all(self) -> None:
        """Resume all nodes that are suspended."""
        self.resume(list(self._suspended))
