"""How a listener is secured, and how the node connects to the same listener of other nodes."""

from __future__ import annotations

import re

import pytest

from raft.config.listener_security import (
    ClientAuth,
    ListenerSecurity,
    listener_security,
    security_keys,
    security_to_voters,
)
from raft.config.principals import PrincipalRules
from raft.config.secret import Secret
from raft.config.security import ClientSecurity, SaslSettings, SecurityProtocol, TlsSettings
from raft.errors import ConfigError
from raft.types import Endpoint

LISTENER = Endpoint("one", 9093, "CONTROLLER")
PREFIX = "listener.name.controller."
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="planted-secret";'

SSL = {"listener.security.protocol.map": "CONTROLLER:SSL", "ssl.keystore.location": "k.pem"}
SASL = {"listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT", "raft.scram.credentials.file": "c.json"}
SASL_SSL = {**SSL, "listener.security.protocol.map": "CONTROLLER:SASL_SSL"}
TLS = TlsSettings(keystore="k.pem")


def secured(given: dict[str, str]) -> ListenerSecurity:
    return listener_security(given, LISTENER)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, ListenerSecurity(), id="nothing"),
        pytest.param({"listener.security.protocol.map": "OTHER:SSL"}, ListenerSecurity(), id="another listener"),
        pytest.param(SSL, ListenerSecurity(protocol=SecurityProtocol.SSL, tls=TLS), id="SSL"),
        pytest.param(
            {**SSL, f"{PREFIX}ssl.keystore.location": "own.pem", f"{PREFIX}ssl.key.password": "p"},
            ListenerSecurity(
                protocol=SecurityProtocol.SSL, tls=TlsSettings(keystore="own.pem", key_password=Secret("p"))
            ),
            id="keys of the listener win",
        ),
        pytest.param(
            {**SSL, "ssl.client.auth": "REQUIRED", "ssl.truststore.location": "t.pem"},
            ListenerSecurity(
                protocol=SecurityProtocol.SSL,
                tls=TlsSettings(keystore="k.pem", truststore="t.pem"),
                client_auth=ClientAuth.REQUIRED,
            ),
            id="certificates of clients",
        ),
        pytest.param(
            {
                **SSL,
                f"{PREFIX}ssl.client.auth": "requested",
                "ssl.client.auth": "none",
                "ssl.truststore.certificates": "-----BEGIN",
                "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/L",
            },
            ListenerSecurity(
                protocol=SecurityProtocol.SSL,
                tls=TlsSettings(keystore="k.pem", trusted_certificates="-----BEGIN"),
                client_auth=ClientAuth.REQUESTED,
                principal_rules=PrincipalRules.parse("", "RULE:^CN=(.*)$/$1/L"),
            ),
            id="certificates of clients, if they have any",
        ),
        pytest.param(
            {
                **SASL,
                "sasl.enabled.mechanisms": "scram-sha-512, SCRAM-SHA-256,SCRAM-SHA-512",
                "connections.max.reauth.ms": "3600000",
            },
            ListenerSecurity(
                protocol=SecurityProtocol.SASL_PLAINTEXT,
                mechanisms=("SCRAM-SHA-512", "SCRAM-SHA-256"),
                credentials_file="c.json",
                max_reauth_ms=3_600_000,
            ),
            id="SCRAM, one mechanism twice",
        ),
        pytest.param(
            {**SASL_SSL, f"{PREFIX}sasl.enabled.mechanisms": "PLAIN", f"{PREFIX}plain.sasl.jaas.config": f" {JAAS} "},
            ListenerSecurity(
                protocol=SecurityProtocol.SASL_SSL, tls=TLS, mechanisms=("PLAIN",), plain_jaas=Secret(JAAS)
            ),
            id="PLAIN",
        ),
    ],
)
@pytest.mark.rule("AUTH-1")
def test_listener_has_the_security_of_its_keys(given: dict[str, str], expected: ListenerSecurity) -> None:
    assert secured(given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"listener.security.protocol.map": "CONTROLLER:SSL"},
            "ssl.keystore.location is missing: expected a PEM file with the private key and the certificates of the "
            "node, because CONTROLLER is SSL",
            id="no certificate of the node",
        ),
        pytest.param(
            {**SSL, f"{PREFIX}ssl.keystore.location": " "},
            f"{PREFIX}ssl.keystore.location is missing: expected a PEM file with the private key and the certificates "
            "of the node, because CONTROLLER is SSL",
            id="an empty value of the listener",
        ),
        pytest.param(
            {**SSL, f"{PREFIX}ssl.client.auth": "required"},
            "ssl.truststore.location is missing: expected a PEM file with the authorities of the certificates of "
            f"clients, because of {PREFIX}ssl.client.auth=required",
            id="no authorities",
        ),
        pytest.param(
            {**SSL, "ssl.client.auth": "yes"},
            "ssl.client.auth=yes: expected none, requested, required",
            id="no such choice",
        ),
        pytest.param(
            SASL,
            "sasl.enabled.mechanisms is missing: expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
            id="no mechanism",
        ),
        pytest.param(
            {**SASL, f"{PREFIX}sasl.enabled.mechanisms": "GSSAPI"},
            f"{PREFIX}sasl.enabled.mechanisms=GSSAPI: expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
            id="no such mechanism",
        ),
        pytest.param(
            {**SASL_SSL, "sasl.enabled.mechanisms": "PLAIN"},
            f"{PREFIX}plain.sasl.jaas.config is missing: expected "
            'org.apache.kafka.common.security.plain.PlainLoginModule required user_<name>="<password>" ...;',
            id="no users of PLAIN",
        ),
        pytest.param(
            {**SASL_SSL, "sasl.enabled.mechanisms": "SCRAM-SHA-256"},
            "raft.scram.credentials.file is missing: expected the file that `kraft credentials add` makes, because "
            "CONTROLLER accepts SCRAM-SHA-256",
            id="no users of SCRAM",
        ),
        pytest.param(
            {**SASL, "sasl.enabled.mechanisms": "SCRAM-SHA-256", "connections.max.reauth.ms": "-1"},
            "connections.max.reauth.ms=-1: expected 0 to 9223372036854775807",
            id="a negative time",
        ),
        pytest.param(
            {**SSL, f"{PREFIX}ssl.principal.mapping.rules": "x"},
            f"{PREFIX}ssl.principal.mapping.rules=x: expected rules such as RULE:^CN=([^,]+),.*$/$1/L, DEFAULT",
            id="rules that are none",
        ),
    ],
)
@pytest.mark.rule("AUTH-1")
def test_listener_that_cannot_be_secured_as_configured_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        secured(given)

    assert str(refused.value) == message


@pytest.mark.rule("AUTH-7")
def test_node_does_not_accept_passwords_without_encryption() -> None:
    with pytest.raises(ConfigError, match="with SASL_PLAINTEXT the password of PLAIN would be sent without encryption"):
        secured({**SASL, "sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN", f"{PREFIX}plain.sasl.jaas.config": JAAS})


def test_listener_of_metrics_with_https_uses_tls_whatever_the_map_says() -> None:
    given = {"listener.security.protocol.map": "HTTPS:PLAINTEXT", "listener.name.https.ssl.keystore.location": "m.pem"}

    security = listener_security(given, Endpoint("", 9404, "HTTPS"))

    assert security == ListenerSecurity(protocol=SecurityProtocol.SSL, tls=TlsSettings(keystore="m.pem"))


@pytest.mark.parametrize(
    ("security", "authenticates"),
    [
        pytest.param(ListenerSecurity(), False, id="PLAINTEXT"),
        pytest.param(ListenerSecurity(protocol=SecurityProtocol.SSL), False, id="SSL"),
        pytest.param(
            ListenerSecurity(protocol=SecurityProtocol.SSL, client_auth=ClientAuth.REQUESTED), True, id="certificates"
        ),
        pytest.param(ListenerSecurity(protocol=SecurityProtocol.SASL_PLAINTEXT), True, id="SASL"),
        pytest.param(ListenerSecurity(protocol=SecurityProtocol.SASL_SSL), True, id="SASL over TLS"),
    ],
)
def test_listener_says_whether_the_node_knows_the_names_of_its_clients(
    security: ListenerSecurity, authenticates: bool
) -> None:
    assert security.authenticates is authenticates


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, ClientSecurity(), id="PLAINTEXT"),
        pytest.param(SSL, ClientSecurity(protocol=SecurityProtocol.SSL, tls=TLS), id="SSL"),
        pytest.param(
            {
                **SASL_SSL,
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.controller.protocol": "plain",
                f"{PREFIX}plain.sasl.jaas.config": JAAS,
            },
            ClientSecurity(
                protocol=SecurityProtocol.SASL_SSL, tls=TLS, sasl=SaslSettings(mechanism="PLAIN", jaas=Secret(JAAS))
            ),
            id="SASL",
        ),
    ],
)
def test_node_connects_to_others_as_its_listener_is_secured(given: dict[str, str], expected: ClientSecurity) -> None:
    assert security_to_voters(given, LISTENER, secured(given)) == expected


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        pytest.param({}, "sasl.mechanism.controller.protocol is missing: expected one of PLAIN, SCRAM", id="none"),
        pytest.param(
            {"sasl.mechanism.controller.protocol": "SCRAM-SHA-512"},
            f"{PREFIX}scram-sha-512.sasl.jaas.config is missing: expected "
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="..." password="..."; of this',
            id="no name and password of the node",
        ),
        pytest.param(
            {"sasl.mechanism.controller.protocol": "PLAIN"},
            "sasl.mechanism.controller.protocol=PLAIN: expected",
            id="PLAIN",
        ),
    ],
)
def test_node_that_cannot_prove_its_name_to_others_is_refused(mechanism: dict[str, str], message: str) -> None:
    given = {**SASL, "sasl.enabled.mechanisms": "SCRAM-SHA-512", **mechanism}

    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        security_to_voters(given, LISTENER, secured(given))


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("ssl.keystore.key", id="of TLS"),
        pytest.param("ssl.cipher.suites", id="of TLS, and Kafka's"),
        pytest.param("sasl.jaas.config", id="an entry without listener"),
        pytest.param("sasl.kerberos.service.name", id="of SASL"),
        pytest.param("security.inter.broker.protocol", id="of security"),
        pytest.param(f"{PREFIX}ssl.keystore.key", id="of TLS, of a listener"),
        pytest.param(f"{PREFIX}gssapi.sasl.jaas.config", id="an entry for an unknown mechanism"),
        pytest.param("listener.name.other.ssl.client.auth", id="of a listener that the node does not have"),
        pytest.param("listener.name.CONTROLLER.ssl.client.auth", id="of a listener, in capitals"),
    ],
)
@pytest.mark.rule("AUTH-1")
def test_key_of_security_without_effect_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(key)} is not supported: expected "):
        list(security_keys([key], ["CONTROLLER"]))
