"""The log file of a node, rotated by size."""

from __future__ import annotations

import io
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

from raft.config import NodeConfig
from raft.storage.disk import PRIVATE_FILE

_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2


class NodeLogFile(RotatingFileHandler):
    """A log file that is renamed when it is full; the oldest files are removed.

    Standard output and standard error of the process always go to the present file. So what no logger writes is in the
    same place, such as the traceback of a crash.

    Args:
        path: of the file; `.1` is added to the name of the newest old file.
        max_bytes: a line that would make the file larger goes to a new file.
        old_files: how many old files are kept.
    """

    def __init__(self, path: Path, *, max_bytes: int, old_files: int) -> None:
        super().__init__(path, maxBytes=max_bytes, backupCount=old_files, encoding="utf-8", errors="backslashreplace")

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.baseFilename, flags, PRIVATE_FILE)
        for standard in (_STANDARD_OUTPUT, _STANDARD_ERROR):
            os.dup2(descriptor, standard)
        return os.fdopen(descriptor, "a", encoding=self.encoding, errors=self.errors)


def rotate_full_log(path: Path, config: NodeConfig) -> None:
    """Rename a full log file before a process is started that writes into it.

    A process that fails before it logs never rotates the file itself, and may be started again and again.

    Args:
        path: the log file; it need not exist.
        config: of the node.
    """
    if path.exists() and path.stat().st_size >= config.node_log_max_bytes:
        handler = RotatingFileHandler(path, backupCount=config.node_log_old_files, delay=True)
        handler.doRollover()
        handler.close()
