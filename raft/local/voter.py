"""One voter as a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import raft
from raft.config import NodeConfig
from raft.errors import ConfigError, StorageError
from raft.local.layout import NODE_PROPERTIES
from raft.local.log_file import rotate_full_log
from raft.properties import format_properties
from raft.storage.atomic_file import replace_file
from raft.storage.disk import PRIVATE_FILE, DiskFiles, make_private_folder
from raft.types import NodeId

_SOURCE_ROOT = Path(raft.__file__).parent.parent

_SERVE = ("-m", "raft.cli", "serve", "--exit-with-stdin")

_REFUSED = 1
"""The exit code of a node that refuses to start or stops itself; the last line of its log has the reason."""


class VoterProcess:
    """Starts and stops one voter.

    The standard input of the child is a pipe of this process only. The kernel closes it when this process ends, in
    whatever way, and then the child exits at once. The child has its own process group, so an interrupt from the
    terminal does not reach it.

    Args:
        node_id: of the voter.
        folder: for its properties, its data and its log file.
        properties: its configuration.
    """

    def __init__(self, node_id: NodeId, folder: Path, properties: Mapping[str, str]) -> None:
        self.node_id = node_id
        self._folder = folder
        self._properties = properties
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def log_file(self) -> Path:
        """The file with the output of the voter; older output is in `node.log.1` and further files."""
        return self._folder / "node.log"

    @property
    def pid(self) -> int | None:
        """Its process id while it runs, else None."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        """Start its process.

        Raises:
            ConfigError: the system returned an error; says which.
        """
        try:
            self._start()
        except (OSError, StorageError) as error:
            raise ConfigError(f"cannot start voter {self.node_id}: {error}") from error

    def ask_to_stop(self) -> None:
        """Ask it to stop after it transferred its leadership; a second time, without that."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float) -> bool:
        """Wait for its exit; return whether it exited in time."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        self._close_pipe()
        return True

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close_pipe()

    def ending(self) -> str | None:
        """Return why the last process exited, if that is known; None while it runs and before its first start."""
        code = self._process.poll() if self._process is not None else None
        if code is None:
            return None
        return (self.last_line() if code == _REFUSED else "") or f"exit code {code}"

    def last_line(self) -> str:
        """Return the last line that the last process wrote into its log; "" if there is none."""
        try:
            with self.log_file.open("rb") as log:
                # The file is shorter if it was renamed since the start, and this is the next one.
                log.seek(self._log_start if self._log_start <= log.seek(0, os.SEEK_END) else 0)
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return lines[-1] if lines else ""

    def _start(self) -> None:
        make_private_folder(self._folder)
        config = self._folder / NODE_PROPERTIES
        # Where the locale has no characters for the bytes of a path (LC_ALL=C), Python has surrogates for them.
        content = format_properties(self._properties).encode(errors="surrogateescape")
        replace_file(DiskFiles(self._folder), config.name, content)
        self._close_pipe()
        paths = [str(_SOURCE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        rotate_full_log(self.log_file, NodeConfig.from_properties(self._properties))
        # What the process writes before it opens the file itself is there too, such as why it does not start.
        with open(self.log_file, "ab", opener=_open_private) as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, a module of this project
                # With -P a module in the working directory is not imported in place of one of this project.
                [sys.executable, "-P", *_SERVE, "--config", str(config), "--log-file", str(self.log_file)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                process_group=0,
            )

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


def _open_private(path: str, flags: int) -> int:
    """Open a file for `open`: a new file gets mode 0600, and a symbolic link is not followed."""
    return os.open(path, flags | os.O_NOFOLLOW, PRIVATE_FILE)
