"""How the connections of a client are secured, from the keys of Kafka's clients."""

from __future__ import annotations

import re

import pytest

from raft.config.secret import Secret
from raft.config.security import (
    CLIENT_PROPERTIES,
    MECHANISMS,
    ClientSecurity,
    SaslSettings,
    SecurityProtocol,
    TlsSettings,
    client_security,
    login_module,
)
from raft.errors import ConfigError

PLANTED = "planted-secret"
JAAS = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="{PLANTED}";'

PLAINTEXT, SSL = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL
SASL_PLAINTEXT, SASL_SSL = SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL
KEYS = sorted(row.name for row in CLIENT_PROPERTIES)


def tls(**given: str) -> TlsSettings:
    """The settings of TLS that keys of `ssl.` give; they have "_" for the dots."""
    keys = {f"ssl.{key.replace('_', '.')}": value for key, value in given.items()}
    settings = client_security({"security.protocol": "SSL", **keys}).tls
    assert settings is not None
    return settings


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, ClientSecurity(), id="nothing"),
        pytest.param({"security.protocol": " "}, ClientSecurity(), id="an empty protocol"),
        pytest.param({"security.protocol": "plaintext", "group.id": "g"}, ClientSecurity(), id="other keys"),
        pytest.param({"security.protocol": "ssl"}, ClientSecurity(protocol=SSL, tls=TlsSettings()), id="SSL"),
        pytest.param(
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "scram-sha-512", "sasl.jaas.config": JAAS},
            ClientSecurity(protocol=SASL_PLAINTEXT, sasl=SaslSettings(mechanism="SCRAM-SHA-512", jaas=Secret(JAAS))),
            id="SASL without TLS",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", "sasl.mechanism": " PLAIN ", "sasl.jaas.config": f" {JAAS} "},
            ClientSecurity(
                protocol=SASL_SSL, tls=TlsSettings(), sasl=SaslSettings(mechanism="PLAIN", jaas=Secret(JAAS))
            ),
            id="SASL over TLS",
        ),
    ],
)
@pytest.mark.rule("AUTH-1")
def test_client_has_the_security_of_its_keys(given: dict[str, str], expected: ClientSecurity) -> None:
    assert client_security(given) == expected


@pytest.mark.parametrize(
    ("protocol", "uses_tls", "uses_sasl"),
    [(PLAINTEXT, False, False), (SSL, True, False), (SASL_PLAINTEXT, False, True), (SASL_SSL, True, True)],
)
def test_protocol_says_what_it_uses(protocol: SecurityProtocol, uses_tls: bool, uses_sasl: bool) -> None:
    assert (protocol.uses_tls, protocol.uses_sasl) == (uses_tls, uses_sasl)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, TlsSettings(), id="nothing"),
        pytest.param(
            {"keystore_type": "pem", "keystore_location": "k.pem", "key_password": PLANTED},
            TlsSettings(keystore="k.pem", key_password=Secret(PLANTED)),
            id="a keystore",
        ),
        pytest.param(
            {"truststore_type": "PEM", "truststore_location": " t.pem "}, TlsSettings(truststore="t.pem"), id="a file"
        ),
        pytest.param(
            {"truststore_certificates": "-----BEGIN"}, TlsSettings(trusted_certificates="-----BEGIN"), id="a text"
        ),
        pytest.param({"endpoint_identification_algorithm": "HTTPS"}, TlsSettings(), id="hosts are checked"),
        pytest.param({"endpoint_identification_algorithm": ""}, TlsSettings(verifies_host=False), id="no host"),
        pytest.param({"endpoint_identification_algorithm": " "}, TlsSettings(verifies_host=False), id="a blank"),
        pytest.param({"enabled_protocols": "TLSv1.3"}, TlsSettings(versions=("TLSv1.3",)), id="one version"),
        pytest.param(
            {"enabled_protocols": "TLSv1.3,TLSv1.2"}, TlsSettings(versions=("TLSv1.2", "TLSv1.3")), id="both versions"
        ),
        pytest.param({"enabled_protocols": " "}, TlsSettings(), id="no version"),
    ],
)
@pytest.mark.rule("AUTH-2")
def test_tls_has_the_settings_of_its_keys(given: dict[str, str], expected: TlsSettings) -> None:
    assert tls(**given) == expected


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        pytest.param("keystore.type", "JKS", "PEM, the only type that is supported; `openssl pkcs12 -in", id="JKS"),
        pytest.param("truststore.type", "PKCS12", "PEM, the only type that is supported", id="PKCS12"),
        pytest.param("enabled.protocols", "TLSv1.1", "one or both of TLSv1.2, TLSv1.3", id="TLS 1.1"),
        pytest.param("enabled.protocols", "TLSv1.3,SSLv3", "one or both of TLSv1.2, TLSv1.3", id="one is too old"),
        pytest.param("enabled.protocols", ",", "one or both of TLSv1.2, TLSv1.3", id="only a comma"),
        pytest.param("endpoint.identification.algorithm", "LDAPS", "https, or an empty value", id="LDAPS"),
    ],
)
@pytest.mark.rule("AUTH-2")
def test_value_of_tls_that_is_not_supported_is_refused(key: str, value: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(f'ssl.{key}={value}: expected {expected}')}"):
        client_security({"security.protocol": "SSL", f"ssl.{key}": value})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"security.protocol": "TLS"},
            "security.protocol=TLS: expected PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
            id="no protocol",
        ),
        pytest.param(
            {"security.protocol": "SSL", "ssl.truststore.location": "t", "ssl.truststore.certificates": "c"},
            "expected one of ssl.truststore.location and ssl.truststore.certificates, not both",
            id="two truststores",
        ),
        pytest.param(
            {"security.protocol": "SSL", "ssl.provider": "x"},
            f"ssl.provider is not supported: expected only {', '.join(KEYS)}",
            id="a key of TLS without effect here",
        ),
        pytest.param(
            {"security.providers": "x"},
            f"security.providers is not supported: expected only {', '.join(KEYS)}",
            id="a key of security without effect here",
        ),
        pytest.param(
            {"ssl.truststore.location": "t"},
            "ssl.truststore.location has no effect with security.protocol=PLAINTEXT: remove it, or set the protocol "
            "of the nodes' listener",
            id="TLS with PLAINTEXT",
        ),
        pytest.param(
            {"security.protocol": "SSL", "sasl.jaas.config": JAAS},
            "sasl.jaas.config has no effect with security.protocol=SSL: remove it, or set the protocol of the nodes' "
            "listener",
            id="SASL with SSL",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", "sasl.jaas.config": JAAS},
            "sasl.mechanism is missing: expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
            id="no mechanism",
        ),
        pytest.param(
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI", "sasl.jaas.config": JAAS},
            "sasl.mechanism=GSSAPI: expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512",
            id="Kerberos",
        ),
    ],
)
@pytest.mark.rule("AUTH-1")
def test_client_that_would_be_less_protected_than_its_keys_say_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        client_security(given)

    assert str(refused.value) == message


@pytest.mark.rule("AUTH-7")
def test_password_is_not_sent_without_encryption() -> None:
    with pytest.raises(ConfigError) as refused:
        client_security({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS})

    assert str(refused.value) == (
        "sasl.mechanism=PLAIN: expected SCRAM-SHA-256 or SCRAM-SHA-512, or the protocol SASL_SSL: with SASL_PLAINTEXT "
        "the password of PLAIN would be sent without encryption"
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_missing_entry_is_named_with_the_module_of_the_mechanism(mechanism: str) -> None:
    with pytest.raises(ConfigError) as refused:
        client_security({"security.protocol": "SASL_SSL", "sasl.mechanism": mechanism, "sasl.jaas.config": " "})

    assert str(refused.value) == (
        f'sasl.jaas.config is missing: expected {login_module(mechanism)} required username="..." password="...";'
    )


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"security.protocol": "X"}, id="protocol"),
        pytest.param({"security.protocol": "SASL_SSL"}, id="mechanism"),
        pytest.param({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, id="entry"),
        pytest.param({"ssl.key.password": PLANTED}, id="no effect"),
        pytest.param({"ssl.keystore.key": PLANTED}, id="not supported"),
        pytest.param({"security.protocol": "SSL", "ssl.keystore.type": "JKS"}, id="type"),
        pytest.param({"security.protocol": "SSL", "ssl.enabled.protocols": "x"}, id="versions"),
        pytest.param({"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "x"}, id="host"),
    ],
)
def test_message_has_the_name_that_the_user_has_for_a_key(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"^kraft\.s(sl|asl|ecurity)\.") as refused:
        client_security(given, named=lambda key: f"kraft.{key}")

    assert PLANTED not in str(refused.value)


@pytest.mark.parametrize(
    ("security", "locations"),
    [
        pytest.param(ClientSecurity(), (), id="no TLS"),
        pytest.param(ClientSecurity(tls=TlsSettings()), (), id="no file"),
        pytest.param(ClientSecurity(tls=TlsSettings(truststore="t")), ("t",), id="one file"),
        pytest.param(ClientSecurity(tls=TlsSettings(keystore="k", truststore="t")), ("k", "t"), id="two files"),
    ],
)
def test_settings_name_the_files_that_another_process_needs(
    security: ClientSecurity, locations: tuple[str, ...]
) -> None:
    assert security.locations == locations
