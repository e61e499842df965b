"""A child process that a test writes to and reads from while it runs."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from tests.hang import HANG_S
from tests.processes.child_process import ChildProcess
from tests.processes.commands import ROOT

_READ_BYTES = 1 << 16


class PipedProcess(ChildProcess):
    """A process that runs from now on, with pipes to its standard input and output.

    Standard error goes to a file, so that a process that prints much there does not wait for its reader.

    Args:
        name: see `ChildProcess`.
        command: the program and its arguments.
        environment: its variables; those of this process if None.
        folder: its working directory.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path = ROOT,
    ) -> None:
        super().__init__(name)
        self._unread = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._spawn(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            environment=environment,
            folder=folder,
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_until_it_says(self, expected: str, *, within_s: float) -> None:
        """Wait for its next line.

        Args:
            expected: the line.
            within_s: how long to wait, in seconds.

        Raises:
            AssertionError: it printed something else, or ended before.
        """
        line = self.line(within_s=within_s)
        assert line == expected, f"{self.name} printed {line!r}: {self.errors}"

    def close(self) -> None:
        """Kill it, and close the pipes."""
        self.kill()
        self.close_input()
        self.close_output()
        self._errors.close()

    @property
    def errors(self) -> str:
        """What it has printed on standard error so far."""
        # The process writes at the same file position, which pread does not change.
        size_bytes = os.fstat(self._errors.fileno()).st_size
        return os.pread(self._errors.fileno(), size_bytes, 0).decode(errors="replace")

    def write(self, data: bytes) -> None:
        """Write to its standard input.

        Raises:
            BrokenPipeError: it has closed it, or has ended.
        """
        self._input.write(data)
        self._input.flush()

    def close_input(self) -> None:
        """Close its standard input; does nothing when that is closed."""
        # When the process has ended, data that was not flushed is lost.
        with suppress(BrokenPipeError):
            self._input.close()

    def close_output(self) -> None:
        """Close the read end of its standard output: its next write there fails."""
        self._output.close()

    def line(self, *, within_s: float = HANG_S) -> str:
        """Return the next line of its standard output without the line feed, or the rest without one at the end.

        Raises:
            TimeoutError: there is none in time.
        """
        deadline_s = time.monotonic() + within_s
        while b"\n" not in self._unread and (received := self._receive(deadline_s)):
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def rest_of_output(self, *, within_s: float = HANG_S) -> str:
        """Return what it prints on standard output until it closes it.

        Raises:
            TimeoutError: it does not close it in time.
        """
        deadline_s = time.monotonic() + within_s
        while received := self._receive(deadline_s):
            self._unread += received
        rest, self._unread = self._unread, b""
        return rest.decode()

    @property
    def _input(self) -> IO[bytes]:
        stdin = self._started.stdin
        assert stdin is not None, "_spawn made a pipe"
        return stdin

    @property
    def _output(self) -> IO[bytes]:
        stdout = self._started.stdout
        assert stdout is not None, "_spawn made a pipe"
        return stdout

    def _receive(self, deadline_s: float) -> bytes:
        """Return some bytes of its standard output, or none when it has closed it."""
        left_s = max(0.0, deadline_s - time.monotonic())
        if not select.select([self._output], [], [], left_s)[0]:
            raise TimeoutError(f"{self.name} prints nothing: {self.errors}")
        return os.read(self._output.fileno(), _READ_BYTES)
