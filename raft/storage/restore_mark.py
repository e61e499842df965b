"""The file `restore-unfinished` in a log directory: while it exists, a restore was begun and is not complete.

A node does not start there: it would take a part of the log for the whole log.
"""

from __future__ import annotations

from raft.errors import ConfigError
from raft.storage.files import Files

RESTORE_MARK_NAME = "restore-unfinished"


def check_no_restore(files: Files) -> None:
    """Refuse a directory in which a restore was interrupted.

    Args:
        files: the log directory.

    Raises:
        ConfigError: names the file, and says what to do.
    """
    if files.exists(RESTORE_MARK_NAME):
        raise ConfigError(
            f"{files.path_of(RESTORE_MARK_NAME)} exists: a restore was interrupted, so the log is incomplete; run "
            "'kraft restore' again"
        )
