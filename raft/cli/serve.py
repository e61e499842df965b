"""`kraft serve`: runs a node until it gets a signal."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from raft.cli import memory
from raft.cli.node_log import LogFormat, start_logging
from raft.cli.parent import exit_with_parent
from raft.config import NodeConfig, parse_overrides, read_properties
from raft.errors import ConfigError, RaftError
from raft.node.node import Node

_logger = logging.getLogger(__name__)

_LONGEST_WAIT_S = 0.000_5
"""So long the thread of the event loop may keep the threads of the disk waiting for the interpreter, while clients send
more than it can handle. With Python's 5 ms each write and each flush would take that much longer."""


def serve(
    config: Annotated[Path, typer.Option(help="A properties file with Kafka's keys.")],
    override: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Set a key.")] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Form of the log lines.")] = LogFormat.TEXT,
    log_file: Annotated[
        Path | None, typer.Option(help="Log into this file, and rotate it by size, instead of on standard error.")
    ] = None,
    exit_with_stdin: Annotated[
        bool, typer.Option("--exit-with-stdin", hidden=True, help="End at once when standard input ends.")
    ] = False,
) -> None:
    """Run a node until SIGTERM; a leader transfers its leadership first."""
    if not __debug__:
        raise ConfigError("python -O removes assertions that a node needs for safety: run it without -O")
    node_config = NodeConfig.from_properties(read_properties(config) | parse_overrides(override or []))
    start_logging(node_config, log_format, log_file)
    for warning in node_config.warnings:
        _logger.warning(warning)
    if exit_with_stdin:
        exit_with_parent()
    memory.settle()
    sys.setswitchinterval(_LONGEST_WAIT_S)
    try:
        run_loop(lambda: _serve(node_config))
    except RaftError as error:
        if log_format is LogFormat.TEXT:
            raise
        # The line that `main` prints is no JSON.
        _logger.critical("%s", error)
        raise typer.Exit(1) from error


def run_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a coroutine on an event loop; of uvloop, if that is installed."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def _serve(config: NodeConfig) -> None:
    async with Node(config) as node:
        stopping = _Stopping(node)
        loop = asyncio.get_running_loop()
        # `loop.add_signal_handler` is not used, because a signal between two such handlers would kill the node.
        _on_stop_signals(lambda *_: loop.call_soon_threadsafe(stopping.on_signal))
        # A process that waits for this line may send a signal at once.
        _logger.info("node %s of cluster %s listens on %s", config.node_id, node.cluster_id, config.listener)
        await node.wait_until_ended()
        # From here on the node closes its files and exits with 0, whatever signals come.
        _on_stop_signals(signal.SIG_IGN)


def _on_stop_signals(handler: Callable[..., object] | signal.Handlers) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handler)


class _Stopping:
    """Stops a node at a signal: the first one lets a leader transfer its leadership, the second one does not wait."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._leaving: asyncio.Task[None] | None = None

    def on_signal(self) -> None:
        """Stop the node, or stop it faster."""
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_task(self._node.resign_and_leave())
        else:
            self._node.leave_now()
