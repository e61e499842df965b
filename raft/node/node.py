"""One node of the quorum: opens its directory, starts, and stops."""

from __future__ import annotations

import asyncio
from types import TracebackType

from raft.config import NodeConfig
from raft.core import RaftCore
from raft.core.events import ShutdownRequested
from raft.node.directory_of_node import open_when_there_is_room
from raft.node.loop_scheduler import LoopScheduler
from raft.node.running_node import RunningNode
from raft.runtime.replica import empty_producer_state

GRACE_MS = 5000
"""How long a leader that shuts down waits until another voter is leader (TIMER-6)."""


class Node:
    """Runs one replica on the current event loop.

        async with Node(config) as node:
            await node.wait_until_ended()

    Raises (on entry):
        ConfigError: the port or the directory is in use, or the directory belongs to another node.
        StorageError: the log is damaged, or the disk reports an error.
    """

    def __init__(self, config: NodeConfig) -> None:
        self.config = config
        self._scheduler = LoopScheduler()
        self._running: RunningNode | None = None
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Node:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Open the directory and the sockets, and start the engine. If that fails, all of them are closed again."""
        producers = empty_producer_state(self.config)
        directory = await open_when_there_is_room(self.config, producers, self._scheduler.now_ms)
        try:
            self._running = RunningNode(self.config, directory, producers, self._scheduler, self._on_ended)
        except BaseException:
            directory.close()
            raise
        try:
            await self._running.start()
        except BaseException:
            await self.stop()
            raise

    @property
    def parts(self) -> RunningNode:
        """The parts of the node, once its directory is open."""
        assert self._running is not None, "the directory is open"
        return self._running

    @property
    def cluster_id(self) -> str:
        """The cluster id."""
        return self.parts.directory.cluster_id

    @property
    def core(self) -> RaftCore:
        """The core, to be read only."""
        return self.parts.core

    async def wait_until_ended(self) -> None:
        """Wait until the node has shut down.

        Raises:
            Exception: the error that stopped the node.
        """
        await asyncio.shield(self._ended)

    async def resign_and_leave(self, timeout_ms: int = GRACE_MS) -> None:
        """Resign if this node is leader, wait until another voter is leader, and end.

        Args:
            timeout_ms: how long to wait for the other leader, in milliseconds.
        """
        self.parts.replica.engine.submit(ShutdownRequested(timeout_ms=timeout_ms))
        await asyncio.shield(self._ended)

    def leave_now(self) -> None:
        """End without waiting until another voter is leader."""
        self._on_ended(None)

    async def stop(self) -> None:
        """Close sockets, disk and directory, in any state of the node."""
        await self.parts.stop(has_failed=self._has_failed)
        if self._ended.done():
            self._ended.exception()

    def _on_ended(self, error: Exception | None) -> None:
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)

    def _has_failed(self) -> bool:
        return self._ended.done() and self._ended.exception() is not None
