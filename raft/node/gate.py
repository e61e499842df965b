"""What a listener asks of its connections: TLS, and the proof of the client's name."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from raft.config import ClientListener
from raft.config.listener_security import ClientAuth, ListenerSecurity
from raft.config.paths import file_path
from raft.config.security import SecurityProtocol
from raft.errors import AuthenticationError, ConfigError
from raft.runtime.caller import Caller
from raft.security.credentials import Credentials
from raft.security.file_versions import FileVersions
from raft.security.jaas import JaasEntry
from raft.security.outcomes import Outcome
from raft.security.references import resolve
from raft.security.sasl_server import Verifiers
from raft.security.sasl_session import SaslSession
from raft.security.subjects import subject_of
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from raft.types import Endpoint

_PEPPER_BYTES = 32


class Gate:
    """Makes what protects each connection of one listener.

    Args:
        listener: where the node listens.
        for_clients: its settings if it serves clients only; None for the voters' listener.
        security: how it is secured.
        count: counts the authentications that TLS has decided.

    Attributes:
        contexts: the certificates of the node; None without TLS.

    Raises:
        ConfigError: a file with certificates or credentials cannot be read or used.
    """

    def __init__(
        self,
        listener: Endpoint,
        for_clients: ClientListener | None,
        security: ListenerSecurity,
        count: Callable[[Caller, Outcome], None],
    ) -> None:
        self._listener = listener
        self._for_clients = for_clients
        self._security = security
        self._count = count
        self.contexts = None if security.tls is None else TlsContexts(security.tls, security.client_auth)
        self._verifiers: Verifiers | None = None
        self._credentials = Credentials()
        self._credentials_file = FileVersions(())
        if security.mechanisms:
            self._make_verifiers(security)

    @property
    def is_secured(self) -> bool:
        """Whether a client needs TLS or SASL."""
        return self._security.protocol is not SecurityProtocol.PLAINTEXT

    def renew(self, report: Callable[[str], None]) -> None:
        """Read certificates and credentials that have changed; connections that are open stay as they are.

        Args:
            report: gets the reason why they cannot be used; then those that were read before stay in use.
        """
        if self.contexts is not None:
            self.contexts.renew(report)
        if self._credentials_file.have_changed():
            try:
                self._read_credentials()
            except ConfigError as error:
                report(f"{error}; the credentials that were read before stay in use")

    def new_channel(self) -> TlsChannel | None:
        """Return the TLS of a new connection; None for none."""
        return None if self.contexts is None else TlsChannel(self.contexts.present)

    def new_caller(self, address: str) -> Caller:
        """Return the other side of a new connection.

        Args:
            address: the IP address of its host.
        """
        verifiers = self._verifiers
        sasl = None if verifiers is None else SaslSession(verifiers, max_reauth_ms=self._security.max_reauth_ms)
        return Caller(self._listener, self._for_clients, address, sasl=sasl)

    def admit(self, caller: Caller, channel: TlsChannel) -> None:
        """Name a caller by its certificate, after the handshake.

        Args:
            caller: gets its principal.
            channel: its TLS.

        Raises:
            AuthenticationError: no rule of `ssl.principal.mapping.rules` matches the certificate.
        """
        security = self._security
        if security.protocol is not SecurityProtocol.SSL or security.client_auth is ClientAuth.NONE:
            return  # The name is that of SASL, or is not asked for.
        certificate = channel.certificate()
        if certificate is None:
            return  # ssl.client.auth=requested
        subject = subject_of(certificate)
        name = security.principal_rules.name_of(subject)
        if name is None:
            raise AuthenticationError(f"no rule of ssl.principal.mapping.rules matches the certificate of {subject}")
        caller.principal = f"User:{name}"
        self._count(caller, Outcome.SUCCESSFUL)

    def refuse(self, caller: Caller) -> None:
        """Count a handshake that has failed."""
        self._count(caller, Outcome.FAILED)

    def _make_verifiers(self, security: ListenerSecurity) -> None:
        passwords = {}
        if security.plain_jaas is not None and "PLAIN" in security.mechanisms:
            passwords = JaasEntry.parse(resolve(security.plain_jaas.text), "PLAIN").users()
        if security.credentials_file is not None:
            self._credentials_file = FileVersions([file_path(security.credentials_file)])
            self._read_credentials()
        self._verifiers = Verifiers(
            security.mechanisms,
            passwords=passwords,
            credentials=lambda: self._credentials,
            pepper=secrets.token_bytes(_PEPPER_BYTES),
        )

    def _read_credentials(self) -> None:
        path = self._security.credentials_file
        assert path is not None, "the listener has SCRAM"
        try:
            text = file_path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "the file is no text"
            raise ConfigError(f"cannot read the credentials of SCRAM in {path}: {reason}") from error
        try:
            self._credentials = Credentials.parse(text)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error
