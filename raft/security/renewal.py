"""What was read from files, and is read again when they change, until it could be read."""

from __future__ import annotations

from collections.abc import Callable

from raft.errors import ConfigError
from raft.security.file_versions import FileVersions


class Renewal:
    """Reads again what some files hold.

    An attempt that failed is repeated at each look: what made it fail may end without a change of the file, and until
    then users and rights that were removed stay in use.

    Args:
        versions: of the files; the first reading comes after it was made.
        read: reads them; raises ConfigError if they cannot be used, and then changes nothing.
        content: what they hold, for the report and the metrics.

    Attributes:
        content: see there.
        is_outdated: whether the files have changed, and what they hold now could not be read.
    """

    def __init__(self, versions: FileVersions, read: Callable[[], None], content: str) -> None:
        self._versions = versions
        self._read = read
        self.content = content
        self.is_outdated = False

    def look(self, report: Callable[[str], None]) -> bool:
        """Read the files if they have changed since they were read; return whether that was done.

        Args:
            report: gets the reason why they cannot be used.
        """
        # Both are asked: the versions remember what they saw at this look.
        if not self._versions.have_changed() and not self.is_outdated:
            return False
        self.is_outdated = True
        try:
            self._read()
        except ConfigError as error:
            report(f"{error}; the {self.content} that were read before stay in use")
            return False
        self.is_outdated = False
        return True
