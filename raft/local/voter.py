"""One voter as a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import raft
from raft.local.layout import Layout
from raft.types import NodeId

_SOURCE_ROOT = Path(raft.__file__).parent.parent


class VoterProcess:
    """Starts, stops and looks after one voter.

    The child's standard input is a pipe that only this process holds: the kernel closes it however this process ends,
    and the child exits at once. It has its own process group, so that an interrupt from the terminal is not its own.
    """

    def __init__(self, layout: Layout, node_id: NodeId, settings: Mapping[str, str]) -> None:
        self.node_id = node_id
        self._folder = layout.folder(node_id)
        self._properties = {**_properties(layout, node_id), **settings}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log_file(self) -> Path:
        """What the voter says of itself."""
        return self._folder / "node.log"

    @property
    def pid(self) -> int | None:
        """Its process, while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """How the last process ended; None while it runs."""
        return self._process.poll() if self._process is not None else None

    def start(self) -> None:
        """Start a process for it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "node.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in self._properties.items()))
        self._close_pipe()
        paths = [str(_SOURCE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
                # -P: a module of the user's in the working directory must not be taken for one of ours.
                [sys.executable, "-P", "-m", "raft.cli", "serve", "--config", str(config), "--exit-with-stdin"],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                process_group=0,
            )

    def ask_to_stop(self) -> None:
        """Ask it to hand over and leave; asked again, it leaves without."""
        if self.pid is not None and self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; return whether it came in time."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        self._close_pipe()
        return True

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close_pipe()

    def last_words(self) -> str:
        """The last line of its log."""
        try:
            lines = self.log_file.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return lines[-1] if lines else ""

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


def _properties(layout: Layout, node_id: NodeId) -> dict[str, str]:
    voters = ",".join(f"{voter}@{endpoint}" for voter, endpoint in layout.endpoints.items())
    return {
        "node.id": str(node_id),
        "process.roles": "controller",
        "cluster.id": layout.cluster_id,
        "listeners": f"CONTROLLER://{layout.endpoints[node_id]}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": voters,
        "log.dirs": str(layout.folder(node_id) / "log"),
    }
