"""Protects the connections of one client, or of one node to others: reads the certificates and secrets for them."""

from __future__ import annotations

from collections.abc import Callable

from raft.config.paths import file_path
from raft.config.security import ClientSecurity, SaslSettings
from raft.errors import ConfigError
from raft.security.references import Locate, resolve
from raft.security.sasl_client import authenticators
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from raft.wire.protection import NO_PROTECTION, Authenticator, Protection


class ClientProtection:
    """Makes what protects each connection. The first one reads the files, and a later one what has changed.

    Args:
        security: how the connections are secured.
        locate: finds the files that the settings name.
        report: gets the reason why files that have changed cannot be used.
    """

    def __init__(
        self,
        security: ClientSecurity,
        locate: Locate = file_path,
        report: Callable[[str], None] = lambda _reason: None,
    ) -> None:
        self._security = security
        self._locate = locate
        self._report = report
        self._contexts: TlsContexts | None = None

    def of_connection(self, host: str) -> Protection:
        """Return what protects a new connection.

        Args:
            host: that is connected to.

        Raises:
            ConfigError: a file cannot be read or used, or the user name or the password is missing.
        """
        security = self._security
        if security.tls is None and security.sasl is None:
            return NO_PROTECTION
        sasl = security.sasl
        return Protection(
            channel=self._channel(host),
            authenticator=None if sasl is None else self._authenticator(sasl),
        )

    def _authenticator(self, sasl: SaslSettings) -> Callable[[], Authenticator]:
        """Return a function that makes the proofs of one connection, each with the password of that time.

        Raises:
            ConfigError: see `of_connection`.
        """

        def read() -> Callable[[], Authenticator]:
            return authenticators(sasl, resolve(sasl.jaas.text, self._locate))

        known = read()

        def make() -> Authenticator:
            nonlocal known
            try:
                known = read()
            except ConfigError as error:
                self._report(f"{error}; the user name and the password that were read before stay in use")
            return known()

        return make

    def _channel(self, host: str) -> TlsChannel | None:
        if self._security.tls is None:
            return None
        if self._contexts is None:
            self._contexts = TlsContexts(self._security.tls, None, self._locate)
        else:
            self._contexts.renew(self._report)
        return TlsChannel(self._contexts.present, host=host)
