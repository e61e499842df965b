"""The Python processes that Spark starts, and how they end when a query is stopped.

Spark stops a step of a query by closing its socket, in the middle of whatever the step does. The process takes that for
an error, fails at telling it through that very socket, and prints the traceback of a BrokenPipeError on the user's
screen, though nothing is wrong. Two kinds of process do so, each in its own way:

    the planning side of a stream    the error ends the program
    workers, forked from a daemon    the daemon's code prints it, when it flushes what is left to be sent

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
    """Leave out the traceback of a connection that Spark has closed. Does nothing in any other process."""
    program = sys.modules["__main__"]
    name = getattr(program.__spec__, "name", None)
    if name == _RUNNER:
        sys.excepthook = _leave_out_the_hangup
    elif name == _DAEMON:
        # This process is one worker: the daemon that it was forked from does not import this project.
        vars(program)["traceback"] = QuietTraceback()


def _leave_out_the_hangup(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, ConnectionError):
        sys.__excepthook__(kind, error, trace)


class QuietTraceback:
    """The module `traceback`, but for connections that are closed: of these it prints nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(traceback, name)

    def print_exc(self) -> None:
        """Print the exception that is being handled, if it is worth it."""
        if not isinstance(sys.exception(), ConnectionError):
            traceback.print_exc()
