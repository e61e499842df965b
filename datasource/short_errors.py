"""Errors as the user sees them: the message first, without the traceback of Spark's Python worker.

Spark puts the traceback of a worker before the message of an error. An error of this project says by itself what was
given, what is expected and what to do, so its traceback is left out. Every other error is a bug, and keeps it. Set the
environment variable `KRAFT_DEBUG` to 1, before the session is created, to keep all tracebacks.

Spark is told so only once an error is on its way: the process of a worker ends with its first error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Generator
from functools import wraps
from types import TracebackType
from typing import Any, TypeVar

from datasource.hosts import with_remedy
from datasource.spark_files import stopped_quorum
from datasource.spark_internals.process import HIDE_TRACEBACK
from raft.errors import QuorumUnavailableError, QuorumUnreachableError, RaftError

KEEP_TRACEBACKS = "KRAFT_DEBUG"

_OWN = ("datasource", "raft")
_logger = logging.getLogger(__name__)

AnyClass = TypeVar("AnyClass", bound=type)


def short_errors(*methods: str) -> Callable[[AnyClass], AnyClass]:
    """Return a decorator that shortens the errors of these methods of a class, which Spark calls.

    Args:
        methods: the names of methods that the class defines. If one returns a generator, the errors of that too.
    """

    def decorate(cls: AnyClass) -> AnyClass:
        for name in methods:
            setattr(cls, name, _shortened(vars(cls)[name]))
        return cls

    return decorate


def _shortened(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = method(*args, **kwargs)
        except Exception as error:
            if not _explains_itself(error):
                raise
            shown = shortened(error)
        else:
            return _generated(result) if isinstance(result, Generator) else result
        raise shown

    return call


def _generated(results: Generator[Any, None, None]) -> Generator[Any, None, None]:
    try:
        yield from results
    except Exception as error:
        if not _explains_itself(error):
            raise
        shown = shortened(error)
    else:
        return
    raise shown


def _explains_itself(error: Exception) -> bool:
    """Whether an error is one of this project, which the user can act on."""
    if os.environ.get(KEEP_TRACEBACKS):
        return False
    return isinstance(error, RaftError) or (type(error) is ValueError and _is_raised_here(error.__traceback__))


def _is_raised_here(trace: TracebackType | None) -> bool:
    module = ""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__"))
        trace = trace.tb_next
    return module.partition(".")[0] in _OWN


def shortened(error: Exception) -> Exception:
    """Return an error without traceback and cause, and make Spark's worker show no other traceback.

    Args:
        error: of this project. Its traceback is logged at level DEBUG.
    """
    _logger.debug("%s", error, exc_info=error)
    if os.environ.get("SPARK_PYTHON_RUNTIME") == "PYTHON_WORKER":
        os.environ[HIDE_TRACEBACK] = "1"
    shown = _with_cause(error)
    shown.__cause__ = None
    shown.__suppress_context__ = True
    return shown.with_traceback(None)


def _with_cause(error: Exception) -> Exception:
    """Return an error about a quorum that does not respond with what is known of the cause."""
    directory = stopped_quorum(str(error)) if isinstance(error, QuorumUnavailableError) else None
    if directory is not None:
        return QuorumUnavailableError(
            f"{error}. This application has stopped the quorum of {directory}: call QuorumService.start again, or stop "
            "the quorum after the last query"
        )
    return with_remedy(error) if isinstance(error, QuorumUnreachableError) else error
