"""The contexts of TLS: certificates, keys and versions of one side, read from PEM files.

A context is made anew when a file has changed. If that fails, connections use the last one, and the error is reported:
a renewed certificate often comes in several steps, and a node must not stop in between.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cryptography import x509

from raft.config.listener_security import ClientAuth
from raft.config.paths import file_path
from raft.config.secret import Secret
from raft.config.security import TlsSettings
from raft.errors import ConfigError
from raft.security.file_versions import FileVersions
from raft.security.references import Locate, resolve
from raft.security.renewal import Renewal

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


class TlsContexts:
    """The present context of one side of connections.

    Args:
        settings: its certificates.
        client_auth: whether clients have certificates, for the side of a node; None for the side of a client.
        locate: finds the files.

    Attributes:
        present: the context for new connections.
        expires_at: when the first certificate of this side expires; None if it has none.
        renewal: makes the context anew.

    Raises:
        ConfigError: a file cannot be read, or has no key or certificates.
    """

    def __init__(self, settings: TlsSettings, client_auth: ClientAuth | None, locate: Locate = file_path) -> None:
        self._settings = settings
        self._client_auth = client_auth
        self._locate = locate
        self._keystore = self._path("ssl.keystore.location", settings.keystore)
        self._truststore = self._path("ssl.truststore.location", settings.truststore)
        # The password of a new key may come later than the key, and from a file that is not watched.
        versions = FileVersions(filter(None, (self._keystore, self._truststore)))
        self.renewal = Renewal(versions, self._renew, "certificates")
        self.present = self._make()
        self.expires_at = self._expiry()

    def of_connection(self) -> ssl.SSLContext:
        """Return the context of one new connection, for the side of a node.

        OpenSSL keeps the sessions of TLS 1.2 with the context, for two hours, and resumes them without a look at the
        certificate of the client; Python cannot switch that off. So each connection has a context of its own, which
        holds no certificates, and passes on to the present one when the handshake begins. It takes a tenth of the time
        of a handshake. With TLS 1.3 only there are no sessions, because the node sends no tickets.
        """
        present = self.present
        if present.minimum_version is ssl.TLSVersion.TLSv1_3:
            return present
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _restrict(context, present.minimum_version, present.maximum_version)
        context.verify_mode = present.verify_mode

        def pass_on(tls: ssl.SSLObject, _server_name: str | None, _context: ssl.SSLContext) -> None:
            tls.context = present

        context.sni_callback = pass_on
        return context

    def renew(self, report: Callable[[str], None]) -> bool:
        """Make the context anew if a file has changed since it was made; return whether it did.

        Args:
            report: gets the reason why the new files cannot be used.
        """
        return self.renewal.look(report)

    def _renew(self) -> None:
        self.present, self.expires_at = self._make(), self._expiry()

    def _path(self, key: str, location: str | None) -> Path | None:
        if location is None:
            return None
        try:
            path = self._locate(resolve(location, self._locate))
            path.stat()
        except (OSError, ValueError) as error:
            raise ConfigError(f"{key}={location}: {_reason(error)}") from error
        return path

    def _make(self) -> ssl.SSLContext:
        is_client = self._client_auth is None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if is_client else ssl.PROTOCOL_TLS_SERVER)
        _restrict(context, _VERSIONS[self._settings.versions[0]], _VERSIONS[self._settings.versions[-1]])
        if self._client_auth is None:
            context.check_hostname = self._settings.verifies_host
        else:
            context.verify_mode = _CLIENT_AUTH[self._client_auth]
        if self._keystore is not None:
            self._load_keystore(context, self._keystore)
        if is_client or self._client_auth is not ClientAuth.NONE:
            self._load_truststore(context)
        return context

    def _expiry(self) -> datetime | None:
        if self._keystore is None:
            return None
        try:
            certificates = x509.load_pem_x509_certificates(self._keystore.read_bytes())
        except (OSError, ValueError) as error:
            raise _refusal(self._keystore, error) from error
        return min(certificate.not_valid_after_utc for certificate in certificates)

    def _load_keystore(self, context: ssl.SSLContext, keystore: Path) -> None:
        try:
            context.load_cert_chain(keystore, password=self._password)
        except (OSError, ValueError) as error:
            raise _refusal(keystore, error) from error

    def _load_truststore(self, context: ssl.SSLContext) -> None:
        inline = self._settings.trusted_certificates
        try:
            if self._truststore is not None:
                context.load_verify_locations(cafile=self._truststore)
            elif inline is not None:
                # Python accepts ASCII only, and comments between certificates may have other characters.
                text = resolve(inline, self._locate).encode("ascii", "replace").decode()
                context.load_verify_locations(cadata=text)
            else:
                context.load_default_certs()
        except (OSError, ValueError) as error:
            where = "ssl.truststore.certificates" if inline else f"ssl.truststore.location={self._truststore}"
            raise ConfigError(f"{where}: expected certificates as PEM ({_reason(error)})") from error

    def _password(self) -> str:
        password: Secret | None = self._settings.key_password
        # Without a password OpenSSL would ask on the terminal. No key has an empty one.
        return "" if password is None else resolve(password.text, self._locate)


def _restrict(context: ssl.SSLContext, lowest: ssl.TLSVersion, highest: ssl.TLSVersion) -> None:
    """Set the versions of a context, and forbid renegotiation and, for a node, sessions that could be resumed."""
    context.minimum_version, context.maximum_version = lowest, highest
    context.options |= ssl.OP_NO_RENEGOTIATION
    if context.protocol is ssl.PROTOCOL_TLS_SERVER:
        # Sessions would be resumed with the certificates of before, and no client of Kafka needs that.
        context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET


def _refusal(keystore: Path, error: Exception) -> ConfigError:
    return ConfigError(
        f"ssl.keystore.location={keystore}: expected a PEM file with a private key and its certificates, and "
        f"ssl.key.password if the key is encrypted ({_reason(error)})"
    )


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error)
