"""A node as a process of its own: `kraft serve`, or another program that takes the same file of properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from raft.client import Client, ClientSettings
from raft.config import NodeConfig
from raft.types import Endpoint
from tests.node.harness.properties import write_properties
from tests.processes.commands import KRAFT
from tests.processes.server import Server

_MARKS_OF_ERRORS = ("Traceback", " ERROR ")


class NodeProcess(Server):
    """One node; nothing of it runs before `start`.

    Args:
        properties: its configuration, written to a file at every start.
        folder: holds that file and its output; may be another folder than that of its log.
        command: starts it; `--config` and the file follow.
    """

    def __init__(
        self, properties: Mapping[str, str], folder: Path, *, command: Sequence[str] = (*KRAFT, "serve")
    ) -> None:
        super().__init__(f"node {properties['node.id']}", command, log_file=folder / "node.log")
        self.properties = dict(properties)
        self.config_file = folder / "node.properties"

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens for voters, and for clients too if it has no listener for them."""
        return self._config.listener

    @property
    def client_endpoint(self) -> Endpoint:
        """Where it tells clients to connect."""
        if self._config.client_listeners:
            return self._config.client_listeners[0].advertised
        return self._config.advertised

    @property
    def log_dir(self) -> Path:
        """Its log directory."""
        return Path(self.properties["log.dirs"])

    @property
    def partition(self) -> Path:
        """The folder of its log, which exists once it has started."""
        (folder,) = self.log_dir.glob("*-0")
        return folder

    @property
    def segment(self) -> Path:
        """The first file of its log."""
        return self.partition / f"{0:020d}.log"

    @property
    def error_lines(self) -> list[str]:
        """The lines of its output that report an error."""
        return [line for line in self.output.splitlines() if any(mark in line for mark in _MARKS_OF_ERRORS)]

    def segments(self) -> list[Path]:
        """Return the files of its log, in order."""
        return sorted(self.log_dir.glob("*-0/*.log"))

    def start(self, *arguments: str) -> Self:
        """Start it with further arguments, and return at once."""
        self.config_file.parent.mkdir(parents=True, exist_ok=True)
        write_properties(self.config_file, self.properties)
        return super().start("--config", str(self.config_file), *arguments)

    def wait_until_serving(self) -> Self:
        """Wait until `kraft serve` listens. See `wait_until_printed`."""
        self.wait_until_printed(" listens on ")
        return self

    @cached_property
    def _config(self) -> NodeConfig:
        return NodeConfig.from_properties(self.properties)


def client_of(*nodes: NodeProcess, api_timeout_ms: int = 20_000) -> Client:
    """Return a client of these nodes."""
    return Client(
        ClientSettings(
            bootstrap_servers=tuple(node.client_endpoint for node in nodes),
            api_timeout_ms=api_timeout_ms,
            request_timeout_ms=min(2_000, api_timeout_ms),
        )
    )
