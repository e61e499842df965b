"""Small files that are replaced atomically: a crash leaves the old content or the new (STATE-4, LOG-11).

Source: Kafka FileQuorumStateStore, CheckpointFile, Utils.atomicMoveWithFallback.
"""

from __future__ import annotations

from contextlib import suppress

from raft.errors import StorageError
from raft.storage.files import Files, folder_of


def replace_file(files: Files, name: str, content: bytes) -> None:
    """Replace the content of a file, and return when the new content is on the disk.

    Args:
        files: where the file is.
        name: the file; it need not exist.
        content: the new content.

    Raises:
        StorageError: the disk returned an error; the file has its old content or the new one.
    """
    temporary = f"{name}.tmp"
    try:
        file = files.create(temporary)
        try:
            file.append(content)
            # Without this flush a crash could leave the new name with an empty file.
            file.flush()
        finally:
            file.close()
        files.rename(temporary, name)
        files.sync_directory(folder_of(name))
    except StorageError:
        # This may fail too. It does not matter: the next write replaces the temporary file.
        with suppress(StorageError):
            files.remove(temporary)
        raise
