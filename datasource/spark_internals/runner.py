"""Suppresses the traceback of Spark's Python processes when a query is stopped.

Spark stops a step of a query by closing its socket, whatever the step does. The process takes that for an error, fails
to send the error through that socket, and prints the traceback of a BrokenPipeError, though nothing is wrong. Two kinds
of processes do so:

    the planning side of a stream    the error ends the program
    workers, forked from a daemon    the code of the daemon prints it, when it flushes its output

Source: pyspark/sql/streaming/python_streaming_source_runner.py, main; pyspark/daemon.py, worker and manager.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import Any

_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"
_DAEMON = "pyspark.daemon"


def end_quietly() -> None:
    """Suppress the traceback of a connection that Spark has closed. Does nothing in other processes."""
    program = sys.modules["__main__"]
    name = getattr(program.__spec__, "name", None)
    if name == _RUNNER:
        sys.excepthook = _suppress_closed_connection
    elif name == _DAEMON:
        # This process is a worker, because the daemon does not import this project.
        vars(program)["traceback"] = QuietTraceback()


def _suppress_closed_connection(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, ConnectionError):
        sys.__excepthook__(kind, error, trace)


class QuietTraceback:
    """The module `traceback`, except that it prints nothing about closed connections."""

    def __getattr__(self, name: str) -> Any:
        return getattr(traceback, name)

    def print_exc(self) -> None:
        """Print the exception that is being handled, unless it is that of a closed connection."""
        if not isinstance(sys.exception(), ConnectionError):
            traceback.print_exc()
