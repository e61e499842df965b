"""The file with the rules of a node, read again when it has changed."""

from __future__ import annotations

from collections.abc import Callable

from raft.config.authorization import FILE, AuthorizationSettings
from raft.config.paths import file_path
from raft.errors import ConfigError
from raft.security.file_versions import FileVersions
from raft.security.rules import Rules


class RulesFile:
    """The present rules of a node.

    Args:
        settings: where they are.

    Attributes:
        rules: as they were last read.

    Raises:
        ConfigError: the file cannot be read, or is malformed.
    """

    def __init__(self, settings: AuthorizationSettings) -> None:
        self._settings = settings
        self._versions = FileVersions([] if settings.file is None else [file_path(settings.file)])
        self.rules = self._read()

    def renew(self, report: Callable[[str], None]) -> None:
        """Read the file again if it has changed.

        Args:
            report: gets the reason why it cannot be used; then the rules that were read before stay in use.
        """
        if self._versions.have_changed():
            try:
                self.rules = self._read()
            except ConfigError as error:
                report(f"{error}; the rules that were read before stay in use")

    def _read(self) -> Rules:
        path, super_users = self._settings.file, self._settings.super_users
        if path is None:
            return Rules(super_users=super_users)
        try:
            return Rules.parse(file_path(path).read_text(encoding="utf-8"), super_users=super_users)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "the file is no text"
            raise ConfigError(f"{FILE}={path}: {reason}") from error
        except ConfigError as error:
            raise ConfigError(f"{FILE}={path}: {error}") from error
