"""The users that may prove their names by SASL on one listener, read again when their files change."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from raft.config.listener_security import ListenerSecurity
from raft.config.paths import file_path
from raft.errors import ConfigError
from raft.security.credentials import PEPPER_BYTES, Credentials
from raft.security.file_versions import FileVersions
from raft.security.jaas import JaasEntry
from raft.security.references import files_of, resolve
from raft.security.renewal import Renewal
from raft.security.sasl_server import Verifiers

_PLAIN = "PLAIN"


class ListenerUsers:
    """The users of one listener with SASL.

    Args:
        security: how the listener is secured.

    Attributes:
        credentials: of SCRAM, as they were last read; without users if the listener has no SCRAM.
        passwords: of PLAIN, as they were last read; empty if the listener has no PLAIN.
        verifiers: check the proofs of clients by both.
        renewals: read them again.

    Raises:
        ConfigError: the files cannot be read or used.
    """

    def __init__(self, security: ListenerSecurity) -> None:
        self._security = security
        self.credentials = Credentials()
        self.passwords: Mapping[str, str] = {}
        self.renewals: list[Renewal] = []
        if security.plain_jaas is not None and _PLAIN in security.mechanisms:
            self._watch(FileVersions(files_of(security.plain_jaas.text)), self._read_passwords, "passwords of PLAIN")
        if security.credentials_file is not None:
            path = file_path(security.credentials_file)
            self._watch(FileVersions([path]), self._read_credentials, "credentials")
        self.verifiers = Verifiers(
            security.mechanisms,
            # A session asks for both at each proof, because its client may prove its name again later.
            passwords=lambda: self.passwords,
            credentials=lambda: self.credentials,
            pepper=secrets.token_bytes(PEPPER_BYTES),
        )

    @property
    def warning(self) -> str | None:
        """What an operator should change in the files; None for nothing."""
        if self._security.credentials_file is None or self.credentials.pepper is not None:
            return None
        return (
            f"{self._security.credentials_file} has no pepper, so clients can find out which users exist: the next "
            "`kraft credentials add` or `remove` writes one; copy the file to all nodes then"
        )

    def renew(self, report: Callable[[str], None]) -> None:
        """Read again what has changed.

        Args:
            report: gets the reason why it cannot be used; then what was read before stays in use.
        """
        for renewal in self.renewals:
            renewal.look(report)

    def _watch(self, versions: FileVersions, read: Callable[[], None], content: str) -> None:
        read()
        self.renewals.append(Renewal(versions, read, content))

    def _read_passwords(self) -> None:
        entry = self._security.plain_jaas
        assert entry is not None, "the listener has PLAIN"
        self.passwords = JaasEntry.parse(resolve(entry.text), _PLAIN).users()

    def _read_credentials(self) -> None:
        path = self._security.credentials_file
        assert path is not None, "the listener has SCRAM"
        try:
            text = file_path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "the file is no text"
            raise ConfigError(f"cannot read the credentials of SCRAM in {path}: {reason}") from error
        try:
            self.credentials = Credentials.parse(text)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error
