"""Whether files have changed since the last look."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class FileVersions:
    """Remembers when some files were last written.

    Args:
        paths: of the files.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._seen = self._look()

    def have_changed(self) -> bool:
        """Return whether a file was written, replaced or removed since the last look."""
        seen, self._seen = self._seen, self._look()
        return seen != self._seen

    def _look(self) -> list[tuple[int, int, int] | None]:
        return [_version(path) for path in self._paths]


def _version(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
