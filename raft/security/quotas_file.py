"""The file with the client quotas of a node, read again when it has changed."""

from __future__ import annotations

from pathlib import Path

from raft.security.parsed_file import ParsedFile
from raft.security.quotas import Quotas


class QuotasFile(ParsedFile[Quotas]):
    """The present quotas of a node.

    Args:
        key: the key of the configuration that names the file.
        path: of the file.

    Raises:
        ConfigError: see `ParsedFile`.
    """

    def __init__(self, key: str, path: Path) -> None:
        super().__init__(key, path, Quotas.parse, "quotas")

    @property
    def quotas(self) -> Quotas:
        """The quotas, as they were last read."""
        return self.content
