"""Makes the snapshots of a node in child processes, so that neither its event loop nor its disk threads wait."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from raft.compaction import SnapshotOrder
from raft.compaction.request import MakingRequest
from raft.runtime.scheduler import Scheduler

_COMMAND = (sys.executable, "-m", "raft.compaction")


class SnapshotProcess:
    """See `SnapshotMaker`: one process for each snapshot.

    Args:
        root: the log directory of the node.
        directory: the partition's folder in it.
        scheduler: for the wall clock.
        delete_retention_ms: how long tombstones are kept.
    """

    def __init__(self, root: Path, directory: str, scheduler: Scheduler, *, delete_retention_ms: int) -> None:
        self._root = root
        self._directory = directory
        self._scheduler = scheduler
        self._delete_retention_ms = delete_retention_ms
        self._task: asyncio.Task[None] | None = None

    def make(self, order: SnapshotOrder, done: Callable[[str | None], None]) -> None:
        """See `SnapshotMaker.make`."""
        request = MakingRequest(
            directory=self._directory,
            order=order,
            now_ms=self._scheduler.wall_clock_ms(),
            delete_retention_ms=self._delete_retention_ms,
        )
        self._task = asyncio.get_running_loop().create_task(self._run(request, done))

    async def close(self) -> None:
        """End the process that makes a snapshot, if there is one."""
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self, request: MakingRequest, done: Callable[[str | None], None]) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                *_COMMAND, str(self._root), stdin=PIPE, stdout=DEVNULL, stderr=PIPE
            )
        except OSError as error:
            done(f"cannot start {_COMMAND[0]}: {error.strerror or error}")
            return
        assert process.stdin is not None, "it is a pipe"
        assert process.stderr is not None, "it is a pipe"
        try:
            process.stdin.write(request.to_line().encode() + b"\n")
            # The pipe stays open: the process ends with it.
            problem = (await process.stderr.read()).decode(errors="replace").strip()
            exit_code = await process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        finally:
            process.stdin.close()
        done(None if exit_code == 0 else problem.rpartition("\n")[2] or f"exit code {exit_code}")
