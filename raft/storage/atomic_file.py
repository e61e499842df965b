"""Small files that are replaced atomically: a crash leaves the old content or the new (STATE-4, LOG-11).

Source: Kafka FileQuorumStateStore, CheckpointFile, Utils.atomicMoveWithFallback.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from raft.errors import DiskFullError, StorageError
from raft.storage.files import File, Files, folder_of, lacks_room


def replace_file(files: Files, name: str, content: bytes, prepare: Callable[[str], None] = lambda _path: None) -> None:
    """Replace the content of a file, and return when the new content is on the disk.

    Args:
        files: where the file is.
        name: the file; it need not exist.
        content: the new content.
        prepare: is called with the path of the new file, before it replaces the old one.

    Raises:
        DiskFullError: the disk has no room; the file has its old content, and the call may be repeated.
        StorageError: the disk returned an error; the file has its old content or the new one.
    """
    temporary = f"{name}.tmp"
    try:
        file = files.create(temporary)
        try:
            file.append(content)
            _flush_new(file)
        finally:
            file.close()
        prepare(files.path_of(temporary))
        files.rename(temporary, name)
        files.sync_directory(folder_of(name))
    except StorageError:
        # This may fail too. It does not matter: the next write replaces the temporary file.
        with suppress(StorageError):
            files.remove(temporary)
        raise


def _flush_new(file: File) -> None:
    """Flush a file that is removed if that fails: a file system that finds room at a flush only may have none then."""
    try:
        # Without this flush a crash could leave the new name with an empty file.
        file.flush()
    except StorageError as error:
        if lacks_room(error):
            raise DiskFullError(str(error)) from error
        raise
