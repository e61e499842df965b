"""Nodes in this process, on one event loop in its own thread, so that tests can block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from raft.client import Client, ClientSettings
from raft.config import NodeConfig
from raft.config.security import NO_SECURITY, ClientSecurity
from raft.core.roles import Leader
from raft.node.node import Node
from raft.types import Endpoint, NodeId
from tests.hang import HANG_S
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

Result = TypeVar("Result")


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock can be put forward, so that what is due in minutes happens now."""

    def __init__(self) -> None:
        self.ahead_s = 0.0
        super().__init__()

    def time(self) -> float:
        return super().time() + self.ahead_s


class LoopThread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = JumpingLoop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="nodes' loop")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop and wait for its result."""
        return self.begin(coroutine).result(HANG_S)

    def begin(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Run a coroutine on the loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def look(self, read: Callable[[], Result]) -> Result:
        """Read something on the loop's thread, between two of its steps."""

        async def read_there() -> Result:
            return read()

        return self.run(read_there())

    def jump(self, seconds: float) -> None:
        """Put the loop's clock forward, and let happen what is due."""

        async def jump_there() -> None:
            self.loop.ahead_s += seconds

        self.run(jump_there())

    def close(self) -> None:
        """End the loop and the thread."""
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class NodesInProcess:
    """Nodes by their ids.

    Args:
        configurations: their properties; none is started yet.
    """

    def __init__(self, configurations: Mapping[int, Mapping[str, str]]) -> None:
        self.configurations = {node_id: dict(properties) for node_id, properties in configurations.items()}
        self.thread = LoopThread()
        self.running: dict[int, Node] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for node_id in list(self.running):
                self.stop(node_id)
        finally:
            self.thread.close()

    def start(self, *node_ids: int) -> Self:
        """Start some nodes; all when none is named."""
        for node_id in node_ids or self.configurations:
            self.running[node_id] = self.thread.run(self._start(node_id))
        return self

    def stop(self, node_id: int) -> None:
        """Stop a node at once: leadership is not transferred."""
        self.thread.run(self.running.pop(node_id).stop())

    def leave(self, node_id: int) -> None:
        """Stop a node gracefully; while it waits for a successor in vain, the test hangs."""
        self.thread.run(self.running[node_id].resign_and_leave(timeout_ms=3_600_000))
        self.stop(node_id)

    @contextmanager
    def slow_disk(self, node_id: int) -> Iterator[None]:
        """Let no flush of a node end meanwhile."""
        with self.running[node_id].parts._disk_threads.log_lock:
            yield

    def endpoint(self, node_id: int) -> Endpoint:
        """Where a node listens."""
        return NodeConfig.from_properties(self.configurations[node_id]).listener

    def wire(self, node_id: int) -> Wire:
        """A connection to a node."""
        return Wire(self.endpoint(node_id))

    def client(self, *, api_timeout_ms: int = 10_000, security: ClientSecurity = NO_SECURITY) -> Client:
        """A client of all nodes, at the listener for voters."""
        return client_at(
            *(self.endpoint(node_id) for node_id in self.configurations),
            api_timeout_ms=api_timeout_ms,
            security=security,
        )

    def leader(self) -> int | None:
        """The node that leads and can serve, whose epoch is the highest."""
        leading = [
            (node.core.epoch, node_id)
            for node_id, node in self.running.items()
            if isinstance(node.core.role, Leader) and node.core.high_watermark is not None
        ]
        return max(leading)[1] if leading else None

    def wait_for_leader(self, *, other_than: int | None = None) -> int:
        """Wait until one leads and every running node knows it."""
        eventually(lambda: self._agreed_leader() not in (None, other_than), "a leader that all nodes know")
        leader = self._agreed_leader()
        assert leader is not None, "it led a moment ago"
        return leader

    def _agreed_leader(self) -> int | None:
        leader = self.leader()
        known = {node.core.leader_id for node in self.running.values()}
        return leader if leader is not None and known == {NodeId(leader)} else None

    async def _start(self, node_id: int) -> Node:
        node = Node(NodeConfig.from_properties(self.configurations[node_id]))
        await node.start()
        return node


def client_at(*endpoints: Endpoint, api_timeout_ms: int = 10_000, security: ClientSecurity = NO_SECURITY) -> Client:
    """Return a client of the nodes that listen there."""
    return Client(
        ClientSettings(
            bootstrap_servers=endpoints,
            api_timeout_ms=api_timeout_ms,
            request_timeout_ms=min(2_000, api_timeout_ms),
            security=security,
        )
    )
