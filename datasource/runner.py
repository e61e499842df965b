"""The process in which Spark keeps the planning side of a stream, and how it ends."""

from __future__ import annotations

import sys
from types import TracebackType

_RUNNER = "pyspark.sql.streaming.python_streaming_source_runner"


def end_quietly() -> None:
    """Spare the user a traceback for every stream that is stopped.

    Spark stops the planning side by closing its socket. The runner takes that for an error, fails at telling it through
    that very socket, and ends with a BrokenPipeError on the user's screen. Does nothing in any other process.
    """
    if getattr(sys.modules["__main__"].__spec__, "name", None) == _RUNNER:
        sys.excepthook = _leave_out_the_hangup


def _leave_out_the_hangup(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not isinstance(error, ConnectionError):
        sys.__excepthook__(kind, error, trace)
