"""Where a node logs, and in which form: text or JSON, to standard error or to a file that is rotated."""

from __future__ import annotations

import logging
import sys
import threading
from enum import Enum
from pathlib import Path
from types import TracebackType

from raft.config import NodeConfig
from raft.errors import ConfigError
from raft.local.log_file import NodeLogFile
from raft.printable import printable
from raft.types import NodeId

_logger = logging.getLogger(__name__)


class LogFormat(Enum):
    """The form of log lines."""

    TEXT = "text"
    JSON = "json"


def start_logging(config: NodeConfig, log_format: LogFormat, log_file: Path | None) -> None:
    """Send the log lines of this process to their place.

    In JSON, each line is one object with `time` (ISO 8601, UTC), `level`, `logger`, `message`, `node_id` and, for an
    exception, `exception`. Exceptions that no code handles are logged in the same form.

    Args:
        config: of the node.
        log_format: the form.
        log_file: the file, to which standard output and standard error go too; None for standard error.

    Raises:
        ConfigError: the file cannot be opened.
    """
    handler: logging.Handler = logging.StreamHandler()
    if log_file is not None:
        try:
            handler = NodeLogFile(log_file, max_bytes=config.node_log_max_bytes, old_files=config.node_log_old_files)
        except OSError as error:
            raise ConfigError(f"cannot open the log file {log_file}: {error.strerror or error}") from error
    handler.setFormatter(_formatter(log_format, config.node_id))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    if log_format is LogFormat.JSON:
        sys.excepthook = _log_exception
        threading.excepthook = lambda args: _log_exception(
            args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
        )


class _OneLine(logging.Formatter):
    """Writes each message as one line, whatever names of others it has; a traceback follows it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name of the base class
        """See `logging.Formatter.formatMessage`."""
        record.message = printable(record.message)
        return super().formatMessage(record)


def _formatter(log_format: LogFormat, node_id: NodeId) -> logging.Formatter:
    if log_format is LogFormat.TEXT:
        return _OneLine("%(asctime)s %(levelname)-7s %(message)s")
    # The library is imported only where it is used.
    from pythonjsonlogger.json import JsonFormatter

    return JsonFormatter(
        "%(levelname)s %(name)s %(message)s",
        rename_fields={"levelname": "level", "name": "logger", "exc_info": "exception"},
        static_fields={"node_id": node_id},
        timestamp="time",
        json_ensure_ascii=True,
    )


def _log_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _logger.critical("%s: %s", kind.__name__, error, exc_info=(kind, error, trace))
