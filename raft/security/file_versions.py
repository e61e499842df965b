"""Whether files have changed since the last look."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class FileVersions:
    """Remembers when some files were last written, and who may read them.

    Args:
        paths: of the files.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._seen = self._look()

    def have_changed(self) -> bool:
        """Return whether a file was written, replaced or removed, or got another owner or mode, since the last look."""
        seen, self._seen = self._seen, self._look()
        return seen != self._seen

    def _look(self) -> list[tuple[int, ...] | None]:
        return [_version(path) for path in self._paths]


def _version(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        # It changes with each write too, and no program can set it back.
        found.st_ctime_ns,
        found.st_uid,
        found.st_gid,
        found.st_mode,
    )
