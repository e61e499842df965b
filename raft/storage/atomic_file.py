"""Small files that are always whole: the old content or the new, whatever happens in between (STATE-4, LOG-11).

Source: Kafka FileQuorumStateStore, CheckpointFile, Utils.atomicMoveWithFallback.
"""

from __future__ import annotations

from contextlib import suppress

from raft.errors import StorageError
from raft.storage.files import Files, folder_of


def replace_file(files: Files, name: str, content: bytes) -> None:
    """Return when `name` holds `content` on the disk.

    Raises:
        StorageError: the disk refused; the file holds its old content or the new one, and nobody knows which.
    """
    temporary = f"{name}.tmp"
    try:
        file = files.create(temporary)
        try:
            file.append(content)
            # Without this the new name could last and the bytes behind it not.
            file.flush()
        finally:
            file.close()
        files.rename(temporary, name)
        files.sync_directory(folder_of(name))
    except StorageError:
        # A disk that has just refused may refuse this too; the next writer empties the leftover anyway.
        with suppress(StorageError):
            files.remove(temporary)
        raise
