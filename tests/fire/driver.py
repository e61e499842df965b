"""The application as a child process, which is started again when it was killed or its query has failed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from tests.fire.application import CHECKPOINT
from tests.fire.cluster import family
from tests.node.harness.waiting import eventually
from tests.processes.commands import child_environment
from tests.spark.applications import Application
from tests.spark.streams import Checkpoint

_FINISHED_S = 300.0
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b.*: ")
_MOST_STARTS_AT_END = 5


class Driver:
    """One application after the other, with the same checkpoint.

    Args:
        master: URL of the cluster.
        source, sink: the options of the quorums.
        folder: gets the checkpoint and the output of each application.
        sink_format: the data source of the sink.

    Attributes:
        runs: how many applications were started.
        failed: the error of each application that ended by itself.
    """

    def __init__(
        self, master: str, source: Mapping[str, str], sink: Mapping[str, str], folder: Path, *, sink_format: str
    ) -> None:
        self.runs = 0
        self.failed: list[str] = []
        self._folder = folder
        self._arguments = (master, json.dumps(source), json.dumps(sink), folder, sink_format)
        self._application: Application | None = None
        self._end_is_expected = False
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._close()

    def start(self) -> None:
        """Start it, if it does not run."""
        if self._application is not None:
            if self._application.is_running:
                return
            self._close()
        self._end_is_expected = False
        self.runs += 1
        environment = child_environment(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
        self._application = Application("tests.fire.application", *self._arguments, environment=environment)

    def processes(self) -> list[psutil.Process]:
        """Return its processes: Python first, then its JVM and the Python processes of that."""
        return family(psutil.Process(self._running.pid)) if self._running.is_running else []

    def kill(self, processes: Iterable[psutil.Process] | None = None) -> None:
        """Kill it.

        Args:
            processes: what `processes` has returned a moment ago, so that nothing needs to be found first.
        """
        self._end_is_expected = True
        for process in processes or ():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._running.kill()

    def committed_batches(self) -> int:
        """How many micro-batches of the query are committed."""
        checkpoint = Checkpoint(self._folder / CHECKPOINT)
        return 1 + max(checkpoint.committed, default=-1) if (checkpoint.path / "commits").exists() else 0

    def finish(self) -> None:
        """Copy everything that is in the source, read both logs, and end.

        Raises:
            AssertionError: it ends by itself each time.
        """
        for _ in range(_MOST_STARTS_AT_END):
            self.start()
            with suppress(BrokenPipeError):
                self._running.write(b"\n")
            # The line "started" is read first, if it was not read before; at the end of the output, a line is empty.
            while line := self._running.line(within_s=_FINISHED_S):
                if "finished" in json.loads(line):
                    self._running.wait()
                    self._end_is_expected = True
                    return
            self._running.wait()
        raise AssertionError(f"the query has failed {_MOST_STARTS_AT_END} times: {self.failed}")

    def wait_for_progress(self, batches: int, *, within_s: float) -> None:
        """Wait until some more micro-batches are committed; start it again if it ends.

        Raises:
            AssertionError: they are not in time.
        """
        goal = self.committed_batches() + batches

        def look() -> bool:
            self.start()
            return self.committed_batches() >= goal

        eventually(look, f"{batches} more micro-batches", within_s=within_s, every_s=0.1)

    @property
    def _running(self) -> Application:
        assert self._application is not None, "it was started"
        return self._application

    def _close(self) -> None:
        """Keep the output of the application that has ended."""
        errors = self._running.errors
        (self._folder / f"driver-{self.runs}.log").write_text(errors)
        if not self._end_is_expected:
            self.failed.append(f"run {self.runs}: {_error_in(errors)}")
        self._running.close()


def _error_in(output: str) -> str:
    """Return the last error that a Python program has printed, or the last line."""
    lines = [line for line in output.splitlines() if line.strip()] or ["it printed nothing"]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines)[-1]
