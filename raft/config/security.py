"""How connections are secured, from the keys of Kafka's clients: `security.protocol`, `ssl.*` and `sasl.*`.

    security.protocol=SASL_SSL
    ssl.truststore.type=PEM
    ssl.truststore.location=/etc/kraft/ca.pem
    sasl.mechanism=SCRAM-SHA-512
    sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="spark" password="...";

Nothing is read from files here. Values may contain references to files and variables; they stay as they are, and are
resolved when a connection is opened (`raft.security.references`), so that a copy of the settings has no secret.

Source: Kafka's CommonClientConfigs, SslConfigs and SaslConfigs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from raft.config import values
from raft.config.property import Property, as_text
from raft.config.secret import Secret
from raft.errors import ConfigError

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
"""The SASL mechanisms that are supported."""

TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")

_PEM = "PEM, the only type that is supported; `openssl pkcs12 -in STORE.p12 -out STORE.pem` makes such a file"


class SecurityProtocol(Enum):
    """What protects a connection."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_tls(self) -> bool:
        """Whether its bytes are encrypted, and the node proves its name."""
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        """Whether the client proves its name by SASL."""
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


# A row has two lines: what programs read, and what people read.
# fmt: off
TLS_PROPERTIES = (
    Property("ssl.truststore.type", as_text, "PEM", "the only type that is supported"),
    Property("ssl.truststore.location", as_text, None,
        "PEM file with the authorities that are trusted", "those that the system trusts"),
    Property("ssl.truststore.certificates", as_text, None, "the same as text, instead of the file"),
    Property("ssl.keystore.type", as_text, "PEM", "the only type that is supported"),
    Property("ssl.keystore.location", as_text, None,
        "PEM file with private key and certificates of the client or node"),
    Property("ssl.key.password", as_text, None, "password of the private key, as a reference such as `${env:NAME}`"),
    Property("ssl.enabled.protocols", as_text, ",".join(TLS_VERSIONS), "versions of TLS"),
    Property("ssl.endpoint.identification.algorithm", as_text, "https",
        "`https`; or empty: the names of hosts are not checked"),
)
"""The properties for TLS that a client and a listener have."""

_PROTOCOL = Property("security.protocol", values.choice_of(SecurityProtocol), SecurityProtocol.PLAINTEXT,
    "how connections are secured, as the listener of the nodes asks for")
CLIENT_PROPERTIES = (
    _PROTOCOL,
    *TLS_PROPERTIES,
    Property("sasl.mechanism", as_text, None, "how the client proves its name, with SASL"),
    Property("sasl.jaas.config", as_text, None,
        "its name and password, in Kafka's form, with the password as a reference such as `${file:PATH:KEY}`"),
)
"""The properties of a client."""
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The certificates of one side of a connection. All texts may have references.

    Fields:
        keystore: file with the private key and the certificates of this side, as PEM; None for a client without one.
        key_password: of the private key; None if it is not encrypted.
        truststore: file with the certificates of the authorities that are trusted, as PEM.
        trusted_certificates: the same as text, instead of the file. None of both: those that the system trusts.
        verifies_host: whether the certificate of a node must have the name of the host that was connected to.
        versions: of the protocol that are accepted.
    """

    keystore: str | None = None
    key_password: Secret | None = None
    truststore: str | None = None
    trusted_certificates: str | None = None
    verifies_host: bool = True
    versions: tuple[str, ...] = TLS_VERSIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslSettings:
    """How a client proves its name.

    Fields:
        mechanism: one of `MECHANISMS`.
        jaas: the value of `sasl.jaas.config`, with user name and password.
    """

    mechanism: str
    jaas: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSecurity:
    """How the connections of a client are secured.

    Fields:
        protocol: that of the listener that it connects to.
        tls: None if the protocol does not use it.
        sasl: None if the protocol does not use it.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None

    @property
    def locations(self) -> tuple[str, ...]:
        """The files that a process needs which connects with these settings, as they are written in them."""
        tls = self.tls
        return () if tls is None else tuple(filter(None, (tls.keystore, tls.truststore)))


NO_SECURITY = ClientSecurity()


def client_security(given: Mapping[str, str], *, named: Callable[[str], str] = str) -> ClientSecurity:
    """Return how the connections of a client are secured.

    Args:
        given: the values of `CLIENT_PROPERTIES`, and perhaps of other keys.
        named: returns the name that the user has for a key, for messages.

    Raises:
        ConfigError: a value is wrong or missing, or a key of `ssl.*` and `sasl.*` is not supported.
    """
    refuse_unsupported(given, (row.name for row in CLIENT_PROPERTIES), named=named)
    protocol = _PROTOCOL.value_in(given, named=named)
    _refuse_unused(given, protocol, named)
    tls = tls_settings(given, named=named) if protocol.uses_tls else None
    if not protocol.uses_sasl:
        return ClientSecurity(protocol=protocol, tls=tls)
    mechanism = sasl_mechanism(named("sasl.mechanism"), given.get("sasl.mechanism", ""), protocol)
    jaas = given.get("sasl.jaas.config", "").strip()
    if not jaas:
        raise ConfigError(
            f"{named('sasl.jaas.config')} is missing: expected {login_module(mechanism)} required "
            'username="..." password="...";'
        )
    return ClientSecurity(protocol=protocol, tls=tls, sasl=SaslSettings(mechanism=mechanism, jaas=Secret(jaas)))


def sasl_mechanism(key: str, text: str, protocol: SecurityProtocol) -> str:
    """Parse the name of a mechanism.

    Raises:
        ConfigError: it is not supported; or it is PLAIN, and the password would not be encrypted.
    """
    mechanism = text.strip().upper()
    if mechanism not in MECHANISMS:
        if not mechanism:
            raise ConfigError(f"{key} is missing: expected one of {', '.join(MECHANISMS)}")
        raise values.refuse(key, text, f"one of {', '.join(MECHANISMS)}")
    if mechanism == "PLAIN" and not protocol.uses_tls:
        raise values.refuse(
            key,
            text,
            f"SCRAM-SHA-256 or SCRAM-SHA-512, or the protocol SASL_SSL: with {protocol.value} the password of PLAIN "
            "would be sent without encryption",
        )
    return mechanism


def login_module(mechanism: str) -> str:
    """Return Kafka's login module of a mechanism."""
    package = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return f"org.apache.kafka.common.security.{package}"


def tls_settings(given: Mapping[str, str], *, named: Callable[[str], str] = str) -> TlsSettings:
    """Return the settings of TLS.

    Args:
        given: see `client_security`.
        named: see `client_security`.

    Raises:
        ConfigError: a value is wrong.
    """

    def value(key: str) -> str | None:
        return given.get(key, "").strip() or None

    for store in ("ssl.keystore", "ssl.truststore"):
        kind = value(f"{store}.type") or "PEM"
        if kind.upper() != "PEM":
            raise values.refuse(named(f"{store}.type"), kind, _PEM)
    if value("ssl.truststore.location") and value("ssl.truststore.certificates"):
        raise ConfigError(
            f"expected one of {named('ssl.truststore.location')} and {named('ssl.truststore.certificates')}, not both"
        )
    password = value("ssl.key.password")
    return TlsSettings(
        keystore=value("ssl.keystore.location"),
        key_password=Secret(password) if password is not None else None,
        truststore=value("ssl.truststore.location"),
        trusted_certificates=value("ssl.truststore.certificates"),
        verifies_host=_verifies_host(given, named),
        versions=_versions(named("ssl.enabled.protocols"), value("ssl.enabled.protocols")),
    )


def refuse_unsupported(given: Iterable[str], supported: Iterable[str], *, named: Callable[[str], str] = str) -> None:
    """Refuse keys for TLS and SASL that have no effect here: who sets them expects to be protected by them.

    Raises:
        ConfigError: names the first such key.
    """
    known = frozenset(supported)
    for key in given:
        if key.startswith(("ssl.", "sasl.", "security.")) and key not in known:
            raise ConfigError(f"{named(key)} is not supported: expected only {', '.join(map(named, sorted(known)))}")


def _refuse_unused(given: Iterable[str], protocol: SecurityProtocol, named: Callable[[str], str]) -> None:
    """Refuse keys that the protocol does not use: who sets them expects another protocol."""
    for prefix, is_used in (("ssl.", protocol.uses_tls), ("sasl.", protocol.uses_sasl)):
        for key in given:
            if key.startswith(prefix) and not is_used:
                raise ConfigError(
                    f"{named(key)} has no effect with {named('security.protocol')}={protocol.value}: remove it, or set "
                    "the protocol of the nodes' listener"
                )


def _verifies_host(given: Mapping[str, str], named: Callable[[str], str]) -> bool:
    key = "ssl.endpoint.identification.algorithm"
    text = given.get(key, "https").strip()
    if text.lower() not in ("", "https"):
        raise values.refuse(named(key), text, "https, or an empty value, which does not check the names of hosts")
    return bool(text)


def _versions(key: str, text: str | None) -> tuple[str, ...]:
    versions = tuple(sorted(values.words(text))) if text else TLS_VERSIONS
    if not versions or not set(versions) <= set(TLS_VERSIONS):
        raise values.refuse(key, text or "", f"one or both of {', '.join(TLS_VERSIONS)}")
    return versions
