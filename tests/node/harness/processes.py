"""Nodes as processes: `kraft serve`, as an operator starts it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from raft.client import Client, ClientSettings
from raft.config import NodeConfig
from raft.types import Endpoint
from tests.node.harness.properties import write_properties

ROOT = Path(__file__).parents[3]
_PATIENCE_S = 20.0
KRAFT = (sys.executable, "-m", "raft.cli")
DIE_WITH_US = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
"""Before a command: the kernel kills it together with the thread that starts it, where that can be had (Linux)."""

_WRONG_WORDS = ("Traceback", " ERROR ")


class NodeProcess:
    """One node.

    Args:
        properties: its configuration.
        folder: where its configuration and its log of events are written.
        command: what starts it, before the arguments.
    """

    def __init__(
        self, properties: Mapping[str, str], folder: Path, *, command: Sequence[str] = (*KRAFT, "serve")
    ) -> None:
        self.properties = dict(properties)
        self._folder = folder
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return NodeConfig.from_properties(self.properties).listener

    @property
    def log_dir(self) -> Path:
        """Its directory."""
        return Path(self.properties["log.dirs"])

    @property
    def segment(self) -> Path:
        """The first file of its log."""
        return self.log_dir / "__cluster_metadata-0" / f"{0:020d}.log"

    @property
    def pid(self) -> int:
        """Its process."""
        return self._running.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._running.poll() is None

    @property
    def words(self) -> str:
        """All it has said since its first start."""
        return self._log_file.read_text() if self._log_file.exists() else ""

    def start(self, *arguments: str) -> Self:
        """Start it, and return at once."""
        self._starts += 1
        self._folder.mkdir(parents=True, exist_ok=True)
        config = write_properties(self._folder / "node.properties", self.properties)
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, "--config", str(config), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
            )
        return self

    def wait_until_it_says(self, text: str, *, times: int = 1) -> None:
        """Wait until its words hold a text so many times."""
        deadline_s = time.monotonic() + _PATIENCE_S
        while self.words.count(text) < times:
            assert self.is_running, f"it ended before it said {text!r}: {self.words}"
            assert time.monotonic() < deadline_s, f"it does not say {text!r}: {self.words}"
            time.sleep(0.02)

    def wait_until_serving(self) -> Self:
        """Wait until its socket is open, after every start."""
        self.wait_until_it_says(" listens on ", times=self._starts)
        return self

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._running.send_signal(number)

    def wait(self, *, within_s: float = _PATIENCE_S) -> int:
        """Wait for its end; return its exit code."""
        return self._running.wait(within_s)

    def terminate(self) -> int:
        """Ask it to hand over and leave, and wait; return its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """End it as `kill -9` does; nothing if it has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "it was not started"
        return self._process

    @property
    def _log_file(self) -> Path:
        return self._folder / "node.log"


@contextmanager
def hangup(disposition: signal.Handlers) -> Iterator[None]:
    """Let the processes that are started meanwhile inherit this disposition of SIGHUP.

    Otherwise they have the one of whatever started the tests: under nohup it is ignored.
    """
    before = signal.signal(signal.SIGHUP, disposition)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def wrong_lines(words: str) -> list[str]:
    """The lines among a node's words in which it tells of an error, or stumbles over one."""
    return [line for line in words.splitlines() if any(wrong in line for wrong in _WRONG_WORDS)]


def left_behind(folder: Path) -> list[str]:
    """Commands of processes that still run and name a folder, which is one test's alone."""
    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [" ".join(command) for command in commands if any(str(folder) in part for part in command)]


def client_of(*nodes: NodeProcess, api_timeout_ms: int = 20_000) -> Client:
    """A client of these nodes."""
    return Client(
        ClientSettings(
            bootstrap_servers=tuple(node.endpoint for node in nodes),
            api_timeout_ms=api_timeout_ms,
            request_timeout_ms=min(2_000, api_timeout_ms),
        )
    )
