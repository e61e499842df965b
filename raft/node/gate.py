"""What a listener asks of its connections: TLS, and the proof of the client's name."""

from __future__ import annotations

from collections.abc import Callable

from raft.config import ClientListener
from raft.config.listener_security import ClientAuth, ListenerSecurity
from raft.config.security import SecurityProtocol
from raft.errors import AuthenticationError
from raft.runtime.caller import Caller
from raft.security.listener_users import ListenerUsers
from raft.security.outcomes import AuthenticationOutcome
from raft.security.sasl_session import SaslSession
from raft.security.subjects import subject_of
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from raft.types import Endpoint


class Gate:
    """Makes what protects each connection of one listener.

    Args:
        listener: where the node listens.
        for_clients: its settings if it serves clients only; None for the voters' listener.
        security: how it is secured.
        count: counts the authentications that TLS has decided.

    Attributes:
        contexts: the certificates of the node; None without TLS.
        users: that may prove their names by SASL; None without SASL.

    Raises:
        ConfigError: a file with certificates, credentials or passwords cannot be read or used.
    """

    def __init__(
        self,
        listener: Endpoint,
        for_clients: ClientListener | None,
        security: ListenerSecurity,
        count: Callable[[Caller, AuthenticationOutcome], None],
    ) -> None:
        self._listener = listener
        self._for_clients = for_clients
        self._security = security
        self._count = count
        self.contexts = None if security.tls is None else TlsContexts(security.tls, security.client_auth)
        self.users = ListenerUsers(security) if security.mechanisms else None

    @property
    def is_secured(self) -> bool:
        """Whether a client needs TLS or SASL."""
        return self._security.protocol is not SecurityProtocol.PLAINTEXT

    def renew(self, report: Callable[[str], None]) -> None:
        """Read certificates and users that have changed; connections that are open stay as they are.

        Args:
            report: gets the reason why they cannot be used; then those that were read before stay in use.
        """
        if self.contexts is not None:
            self.contexts.renew(report)
        if self.users is not None:
            self.users.renew(report)

    def new_channel(self) -> TlsChannel | None:
        """Return the TLS of a new connection; None for none."""
        return None if self.contexts is None else TlsChannel(self.contexts.of_connection)

    def new_caller(self, address: str) -> Caller:
        """Return the other side of a new connection.

        Args:
            address: the IP address of its host.
        """
        users, max_reauth_ms = self.users, self._security.max_reauth_ms
        sasl = None if users is None else SaslSession(users.verifiers, max_reauth_ms=max_reauth_ms)
        return Caller(self._listener, self._for_clients, address, sasl=sasl, is_admitted=self.contexts is None)

    def admit(self, caller: Caller, channel: TlsChannel) -> None:
        """Let a caller in after the handshake, with the name of its certificate if it has one.

        Args:
            caller: gets its principal.
            channel: its TLS.

        Raises:
            AuthenticationError: no rule of `ssl.principal.mapping.rules` matches the certificate, or its name cannot be
                found for any other reason. The caller is not let in.
        """
        try:
            name = self._name_in(channel)
        except AuthenticationError:
            raise
        except Exception as error:
            raise AuthenticationError(f"cannot find the name in the certificate: {type(error).__name__}") from error
        caller.is_admitted = True
        if name is not None:
            caller.principal = f"User:{name}"
            self._count(caller, AuthenticationOutcome.SUCCESSFUL)

    def refuse(self, caller: Caller) -> None:
        """Count a handshake that has failed."""
        self._count(caller, AuthenticationOutcome.FAILED)

    def _name_in(self, channel: TlsChannel) -> str | None:
        security = self._security
        if security.protocol is not SecurityProtocol.SSL or security.client_auth is ClientAuth.NONE:
            return None  # The name is that of SASL, or is not asked for.
        certificate = channel.certificate()
        if certificate is None:
            if security.client_auth is ClientAuth.REQUIRED:
                raise AuthenticationError("the client has no certificate")
            return None
        subject = subject_of(certificate)
        name = security.principal_rules.name_of(subject)
        if name is None:
            raise AuthenticationError(f"no rule of ssl.principal.mapping.rules matches the certificate of {subject}")
        return name
