"""The file with the rules of a node, read again when it has changed."""

from __future__ import annotations

from functools import partial

from raft.config.authorization import FILE, AuthorizationSettings
from raft.config.paths import file_path
from raft.security.parsed_file import ParsedFile
from raft.security.rules import Rules


class RulesFile(ParsedFile[Rules]):
    """The present rules of a node.

    Args:
        settings: where they are.

    Raises:
        ConfigError: see `ParsedFile`.
    """

    def __init__(self, settings: AuthorizationSettings) -> None:
        path = None if settings.file is None else file_path(settings.file)
        super().__init__(FILE, path, partial(Rules.parse, super_users=settings.super_users), "rules")

    @property
    def rules(self) -> Rules:
        """The rules, as they were last read."""
        return self.content
