r"""How the listeners of a node are secured, and how the node connects to other nodes, from Kafka's keys.

    listener.security.protocol.map=CONTROLLER:SASL_SSL,CLIENT:SSL
    ssl.keystore.type=PEM
    ssl.keystore.location=/etc/kraft/node1.pem
    listener.name.client.ssl.client.auth=required
    sasl.mechanism.controller.protocol=PLAIN
    listener.name.controller.sasl.enabled.mechanisms=PLAIN
    listener.name.controller.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
        username="node1" password="..." user_node1="..." user_node2="...";

A key with the prefix `listener.name.<name>.` is for that listener, and wins over the key without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from raft.config import endpoints, values
from raft.config.principals import NO_RULES, PrincipalRules
from raft.config.property import Property, as_text
from raft.config.secret import Secret
from raft.config.security import (
    TLS_PROPERTIES,
    ClientSecurity,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
    login_module,
    refuse_unsupported,
    sasl_mechanism,
    tls_settings,
)
from raft.errors import ConfigError
from raft.types import Endpoint

HTTPS = "HTTPS"
"""The name of the listener of `metrics.listeners`, if it uses TLS."""

PROTOCOL_MAP = "listener.security.protocol.map"
CREDENTIALS_FILE = "raft.scram.credentials.file"
VOTERS_MECHANISM = "sasl.mechanism.controller.protocol"


class ClientAuth(Enum):
    """Whether clients of a listener with TLS have certificates (`ssl.client.auth`)."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


# A row has two lines: what programs read, and what people read.
# fmt: off
_CLIENT_AUTH = Property("ssl.client.auth", values.choice_of(ClientAuth), ClientAuth.NONE,
    "whether clients have certificates: none, requested or required")
_PRINCIPAL_RULES = Property("ssl.principal.mapping.rules", PrincipalRules.parse, NO_RULES,
    "rules that make the name of a client of the subject of its certificate", "DEFAULT")
_MAX_REAUTH_MS = Property("connections.max.reauth.ms", values.at_least(0, at_most=(1 << 63) - 1), 0,
    "how long an authentication is valid; 0 is for ever")
LISTENER_PROPERTIES = (
    *TLS_PROPERTIES,
    _CLIENT_AUTH,
    _PRINCIPAL_RULES,
    Property("sasl.enabled.mechanisms", as_text, None, "mechanisms of SASL that clients may choose from"),
    _MAX_REAUTH_MS,
)
"""The properties of a listener, which may have the prefix `listener.name.<name>.`."""

_OF_NODE = (
    Property(PROTOCOL_MAP, as_text, "PLAINTEXT for each",
        "how each listener is secured: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"),
    Property(VOTERS_MECHANISM, as_text, None, "mechanism of SASL by which this node proves its name to other voters"),
    Property(CREDENTIALS_FILE, as_text, None, "file with the users of SCRAM, made by `kraft credentials add`"),
)
SECURITY_PROPERTIES = (
    *_OF_NODE,
    *LISTENER_PROPERTIES,
    Property("listener.name.<name>.<mechanism>.sasl.jaas.config", as_text, None,
        "names and passwords of the clients that use PLAIN, and those of this node, in Kafka's form"),
)
"""All properties that this module reads."""
# fmt: on

_LISTENER_KEYS = tuple(row.name for row in LISTENER_PROPERTIES)
_JAAS = "sasl.jaas.config"
_PREFIX = "listener.name."


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSecurity:
    """How one listener is secured.

    Fields:
        protocol: that every connection to it uses.
        tls: the certificate of the node; None if the protocol does not use TLS.
        client_auth: whether clients have certificates.
        principal_rules: make the name of a client of the subject of its certificate.
        mechanisms: of SASL, those that clients may choose from; empty if the protocol does not use SASL.
        plain_jaas: the names and passwords of the clients that use PLAIN, as a value of `sasl.jaas.config`.
        credentials_file: with those that use SCRAM.
        max_reauth_ms: a client that has not authenticated again for so long is disconnected; 0 for no limit.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    tls: TlsSettings | None = None
    client_auth: ClientAuth = ClientAuth.NONE
    principal_rules: PrincipalRules = NO_RULES
    mechanisms: tuple[str, ...] = ()
    plain_jaas: Secret | None = None
    credentials_file: str | None = None
    max_reauth_ms: int = 0

    @property
    def authenticates(self) -> bool:
        """Whether the node knows the names of the clients of this listener."""
        return self.protocol.uses_sasl or (
            self.protocol is SecurityProtocol.SSL and self.client_auth is not ClientAuth.NONE
        )


def listener_security(given: Mapping[str, str], listener: Endpoint) -> ListenerSecurity:
    """Return how a listener is secured.

    Args:
        given: the properties of the node.
        listener: with its name.

    Raises:
        ConfigError: a value is wrong or missing, or a key is not supported.
    """
    own = _of_listener(given, listener.name)
    protocol = _protocol(given, listener.name)
    if protocol is SecurityProtocol.PLAINTEXT:
        return ListenerSecurity()

    def named(key: str) -> str:
        specific = f"{_prefix(listener.name)}{key}"
        return specific if specific in given else key

    tls = tls_settings(own, named=named) if protocol.uses_tls else None
    if tls is not None and tls.keystore is None:
        raise ConfigError(
            f"{named('ssl.keystore.location')} is missing: expected a PEM file with the private key and the "
            f"certificates of the node, because {listener.name} is {protocol.value}"
        )
    client_auth = _CLIENT_AUTH.value_in(own, named=named)
    if tls is not None and client_auth is not ClientAuth.NONE and tls.truststore is None is tls.trusted_certificates:
        raise ConfigError(
            f"{named('ssl.truststore.location')} is missing: expected a PEM file with the authorities of the "
            f"certificates of clients, because of {named(_CLIENT_AUTH.name)}={client_auth.value}"
        )
    mechanisms = _mechanisms(named, own, protocol) if protocol.uses_sasl else ()
    jaas = _jaas(given, listener.name, "PLAIN")
    credentials_file = given.get(CREDENTIALS_FILE, "").strip() or None
    if "PLAIN" in mechanisms and jaas is None:
        raise ConfigError(
            f"{_jaas_key(listener.name, 'PLAIN')} is missing: expected {login_module('PLAIN')} required "
            'user_<name>="<password>" ...;'
        )
    if credentials_file is None and any(mechanism.startswith("SCRAM") for mechanism in mechanisms):
        raise ConfigError(
            f"{CREDENTIALS_FILE} is missing: expected the file that `kraft credentials add` makes, because "
            f"{listener.name} accepts {', '.join(mechanisms)}"
        )
    return ListenerSecurity(
        protocol=protocol,
        tls=tls,
        client_auth=client_auth,
        principal_rules=_PRINCIPAL_RULES.value_in(own, named=named),
        mechanisms=mechanisms,
        plain_jaas=jaas,
        credentials_file=credentials_file,
        max_reauth_ms=_MAX_REAUTH_MS.value_in(own, named=named),
    )


def security_to_voters(given: Mapping[str, str], listener: Endpoint, security: ListenerSecurity) -> ClientSecurity:
    """Return how the node connects to the same listener of other nodes.

    Args:
        given: the properties of the node.
        listener: the one for voters.
        security: of that listener.

    Raises:
        ConfigError: the mechanism, or the name and password of the node, are missing or wrong.
    """
    if not security.protocol.uses_sasl:
        return ClientSecurity(protocol=security.protocol, tls=security.tls)
    mechanism = sasl_mechanism(VOTERS_MECHANISM, given.get(VOTERS_MECHANISM, ""), security.protocol)
    jaas = _jaas(given, listener.name, mechanism)
    if jaas is None:
        raise ConfigError(
            f"{_jaas_key(listener.name, mechanism)} is missing: expected {login_module(mechanism)} required "
            'username="..." password="..."; of this node'
        )
    return ClientSecurity(
        protocol=security.protocol, tls=security.tls, sasl=SaslSettings(mechanism=mechanism, jaas=jaas)
    )


def refuse_unused(given: Iterable[str], securities: Mapping[str, ListenerSecurity]) -> None:
    """Refuse keys for TLS and SASL that no listener uses: who sets them expects a listener to be protected by them.

    Args:
        given: the properties of the node.
        securities: of its listeners, by their names.

    Raises:
        ConfigError: names the first such key.
    """
    _refuse_unused(given, "", "no listener uses it", [security.protocol for security in securities.values()])
    for name, security in securities.items():
        _refuse_unused(given, _prefix(name), f"{name} is {security.protocol.value}", [security.protocol])


def security_keys(given: Iterable[str], listeners: Iterable[str]) -> Iterator[str]:
    """Yield the keys that this module reads.

    Args:
        given: the properties of the node.
        listeners: the names of those of the node.

    Raises:
        ConfigError: a key for TLS or SASL is not supported.
    """
    prefixes = ["", *(_prefix(listener) for listener in listeners)]
    known = {f"{prefix}{key}" for prefix in prefixes for key in _LISTENER_KEYS}
    known |= {_jaas_key(listener, mechanism) for listener in listeners for mechanism in _LOWERED}
    known |= {row.name for row in _OF_NODE}
    refuse_unsupported(given, (*_LISTENER_KEYS, VOTERS_MECHANISM, CREDENTIALS_FILE))
    for key in given:
        own = next((key.removeprefix(prefix) for prefix in prefixes[1:] if key.startswith(prefix)), key)
        if key.startswith(_PREFIX) and key not in known and any(part in f".{own}" for part in (".ssl.", ".sasl.")):
            raise ConfigError(
                f"{key} is not supported: expected one of {', '.join(prefixes[1:])} before one of "
                f"{', '.join(sorted(_LISTENER_KEYS))}, or before <mechanism>.{_JAAS}"
            )
    yield from known


_LOWERED = ("plain", "scram-sha-256", "scram-sha-512")


def _refuse_unused(given: Iterable[str], prefix: str, why: str, protocols: Sequence[SecurityProtocol]) -> None:
    is_used = {"ssl": any(each.uses_tls for each in protocols), "sasl": any(each.uses_sasl for each in protocols)}
    for key in given:
        if key.startswith(prefix):
            own = key.removeprefix(prefix)
            kind = "sasl" if prefix and own.endswith(_JAAS) else own.partition(".")[0]
            if not is_used.get(kind, True):
                raise ConfigError(f"{key} has no effect, because {why}: remove it, or change {PROTOCOL_MAP}")


def _protocol(given: Mapping[str, str], name: str) -> SecurityProtocol:
    if name == HTTPS:
        return SecurityProtocol.SSL
    protocols = endpoints.protocol_map(PROTOCOL_MAP, given.get(PROTOCOL_MAP, ""))
    # Kafka takes a controller listener that the map does not name for PLAINTEXT, unless its name is a protocol's.
    text = protocols.get(name, name if name in SecurityProtocol.__members__ else SecurityProtocol.PLAINTEXT.value)
    if text not in SecurityProtocol.__members__:
        raise values.refuse(
            PROTOCOL_MAP, given.get(PROTOCOL_MAP, ""), f"{name}:<one of {', '.join(SecurityProtocol.__members__)}>"
        )
    return SecurityProtocol[text]


def _of_listener(given: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the properties that a listener has, without its prefix."""
    prefix = _prefix(name)
    own = {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}
    return {**given, **own}


def _prefix(name: str) -> str:
    return f"{_PREFIX}{name.lower()}."


def _jaas_key(name: str, mechanism: str) -> str:
    return f"{_prefix(name)}{mechanism.lower()}.{_JAAS}"


def _jaas(given: Mapping[str, str], name: str, mechanism: str) -> Secret | None:
    text = given.get(_jaas_key(name, mechanism), "").strip()
    return Secret(text) if text else None


def _mechanisms(named: Callable[[str], str], own: Mapping[str, str], protocol: SecurityProtocol) -> tuple[str, ...]:
    key = named("sasl.enabled.mechanisms")
    given = values.words(own.get("sasl.enabled.mechanisms", "")) or ("",)
    return tuple(dict.fromkeys(sasl_mechanism(key, mechanism, protocol) for mechanism in given))
