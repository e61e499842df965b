"""A text file that a node reads at its start, and again when it has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from raft.errors import ConfigError
from raft.security.file_versions import FileVersions
from raft.security.renewal import Renewal

Content = TypeVar("Content")


class ParsedFile(Generic[Content]):
    """What a file holds now.

    Args:
        key: the key of the configuration that names the file.
        path: of the file; None for none, which holds what an empty file does.
        parse: reads the text. Raises ConfigError if it is malformed.
        name: of the content, for reports and metrics.

    Attributes:
        content: as it was last read.
        renewal: reads it again.

    Raises:
        ConfigError: the file cannot be read, or is malformed; names key and path.
    """

    def __init__(self, key: str, path: Path | None, parse: Callable[[str], Content], name: str) -> None:
        self._key = key
        self._path = path
        self._parse = parse
        self.renewal = Renewal(FileVersions([] if path is None else [path]), self._renew, name)
        self.content = self._read()

    def renew(self, report: Callable[[str], None]) -> None:
        """Read the file again if it has changed.

        Args:
            report: gets the reason why it cannot be used; then what was read before stays in use.
        """
        self.renewal.look(report)

    def _renew(self) -> None:
        self.content = self._read()

    def _read(self) -> Content:
        if self._path is None:
            return self._parse("")
        try:
            return self._parse(self._path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "the file is no text"
            raise ConfigError(f"{self._key}={self._path}: {reason}") from error
        except ConfigError as error:
            raise ConfigError(f"{self._key}={self._path}: {error}") from error
