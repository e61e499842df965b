"""Files that follow from others, and are made to have a certain content with as little room as possible."""

from __future__ import annotations

from raft.storage.files import File, Files


def made_equal(files: Files, name: str, content: bytes) -> File:
    """Return an open file that has a certain content; what it has already is not written again.

    So a file that only shrinks needs no room on the disk.

    Args:
        files: where the file is.
        name: the file; it need not exist.
        content: the content.

    Raises:
        DiskFullError: the disk has no room; the file may have a part of the content, and the call may be repeated.
    """
    file = files.open(name) if files.exists(name) else files.create(name)
    try:
        found = file.read(0, file.size_bytes)
        same = len(content) if found.startswith(content) else len(found) if content.startswith(found) else None
        if same is None:
            file.close()
            file, same = files.create(name), 0
        if file.size_bytes > same:
            file.truncate(same)
        if same < len(content):
            file.append(content[same:])
    except BaseException:
        file.close()
        raise
    return file
