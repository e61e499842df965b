"""The lock of a directory whose owner may be on its way out."""

from __future__ import annotations

import time
from pathlib import Path

from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.disk import DiskFiles
from raft.storage.files import DirectoryLock, DirectoryLockedError

_WAIT_S = 10.0
_LOOK_S = 0.1


def lock_patiently(directory: Path) -> DirectoryLock:
    """Take the lock of a directory, which is made where it is missing; wait for another owner's end, for up to 10 s.

    Raises:
        ConfigError: it is in use and stays so.
        StorageError: the disk refuses.
    """
    files = DiskFiles(directory)
    files.make_directory("")
    deadline_s = time.monotonic() + _WAIT_S
    while True:
        try:
            return files.lock(LOCK_FILE_NAME)
        except DirectoryLockedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(_LOOK_S)
