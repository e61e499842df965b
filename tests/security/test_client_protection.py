"""What protects the connections of one client: files and secrets that have changed count for the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.config.listener_security import ClientAuth
from raft.config.secret import Secret
from raft.config.security import ClientSecurity, SaslSettings, SecurityProtocol, TlsSettings, login_module
from raft.errors import ConfigError
from raft.security.authority import Authority
from raft.security.client_protection import ClientProtection
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator
from raft.security.tls_channel import TlsChannel
from raft.wire.protection import NO_PROTECTION, Protection
from tests.security.certificates import HOST, Files
from tests.security.handshakes import Pair

PASSWORD = "planted-secret"


def sasl(password: str = PASSWORD, mechanism: str = "PLAIN") -> SaslSettings:
    jaas = f'{login_module(mechanism)} required username="alice" password="{password}";'
    return SaslSettings(mechanism=mechanism, jaas=Secret(jaas))


def first_message(protection: Protection) -> bytes | None:
    """What a new proof begins with."""
    assert protection.authenticator is not None
    return protection.authenticator().respond(b"")


def opens(protection: Protection, files: Files, client_auth: ClientAuth = ClientAuth.NONE) -> bool:
    """Whether a connection to a node of these files can be opened."""
    assert isinstance(protection.channel, TlsChannel)
    return Pair(protection.channel, TlsChannel(files.node(client_auth=client_auth).present)).exchange().are_open


def test_connection_is_not_protected_when_nothing_is_configured() -> None:
    assert ClientProtection(ClientSecurity()).of_connection(HOST) is NO_PROTECTION


@pytest.mark.parametrize(("mechanism", "kind"), [("PLAIN", PlainAuthenticator), ("SCRAM-SHA-256", ScramAuthenticator)])
def test_connection_has_sasl_only(mechanism: str, kind: type) -> None:
    security = ClientSecurity(protocol=SecurityProtocol.SASL_PLAINTEXT, sasl=sasl(mechanism=mechanism))

    protection = ClientProtection(security).of_connection(HOST)

    assert protection.channel is None
    assert protection.authenticator is not None
    assert isinstance(protection.authenticator(), kind)


@pytest.mark.rule("AUTH-2")
def test_connection_has_tls_with_the_name_of_its_host(files: Files) -> None:
    security = ClientSecurity(protocol=SecurityProtocol.SSL, tls=files.settings())
    client = ClientProtection(security)

    assert opens(client.of_connection(HOST), files)
    assert not opens(client.of_connection("node2.example"), files)
    assert client.of_connection(HOST).authenticator is None


def test_connection_has_both(files: Files) -> None:
    security = ClientSecurity(protocol=SecurityProtocol.SASL_SSL, tls=files.settings("client"), sasl=sasl())

    protection = ClientProtection(security).of_connection(HOST)

    assert opens(protection, files, ClientAuth.REQUIRED)
    assert first_message(protection) == b"\0alice\0planted-secret"


@pytest.mark.rule("AUTH-11")
def test_next_connection_has_the_renewed_files(own_files: Files) -> None:
    client = ClientProtection(ClientSecurity(protocol=SecurityProtocol.SSL, tls=own_files.settings()))
    assert opens(client.of_connection(HOST), own_files)

    other = Authority.create("another authority")
    own_files.write("authority", other.certificate_pem())
    own_files.write("node", other.issue("node1", [HOST]))

    assert opens(client.of_connection(HOST), own_files)


@pytest.mark.rule("AUTH-11")
def test_files_that_were_read_stay_in_use_when_new_ones_are_unusable(own_files: Files) -> None:
    reported: list[str] = []
    client = ClientProtection(
        ClientSecurity(protocol=SecurityProtocol.SSL, tls=own_files.settings()), report=reported.append
    )
    client.of_connection(HOST)
    trusted = own_files.path("authority").read_bytes()

    own_files.write("authority", b"x")
    protection = client.of_connection(HOST)
    own_files.write("authority", trusted)

    assert opens(protection, own_files)
    (line,) = reported
    assert line.startswith(f"ssl.truststore.location={own_files.path('authority')}: expected certificates as PEM")


@pytest.mark.rule("AUTH-11")
def test_each_proof_has_the_password_of_that_time(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("before")
    reported: list[str] = []
    security = ClientSecurity(protocol=SecurityProtocol.SASL_SSL, sasl=sasl(f"${{directory:{tmp_path}:password}}"))
    protection = ClientProtection(security, report=reported.append).of_connection(HOST)
    before = first_message(protection)

    file.write_text("after")
    after = first_message(protection)
    file.unlink()
    without = first_message(protection)

    assert (before, after, without) == (b"\0alice\0before", b"\0alice\0after", b"\0alice\0after")
    (line,) = reported
    assert line == (
        f"${{directory:{tmp_path}:password}}: No such file or directory; the user name and the password that were "
        "read before stay in use"
    )


def test_client_without_report_goes_on_too(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("before")
    security = ClientSecurity(protocol=SecurityProtocol.SASL_SSL, sasl=sasl(f"${{directory:{tmp_path}:password}}"))
    protection = ClientProtection(security).of_connection(HOST)

    file.unlink()

    assert first_message(protection) == b"\0alice\0before"


def test_files_are_where_they_are_located(own_files: Files) -> None:
    (own_files.folder / "password").write_text(PASSWORD)
    security = ClientSecurity(
        protocol=SecurityProtocol.SASL_SSL,
        tls=TlsSettings(truststore="authority.pem"),
        sasl=sasl("${directory:.:password}"),
    )

    protection = ClientProtection(security, lambda location: own_files.folder / location).of_connection(HOST)

    assert opens(protection, own_files)
    assert first_message(protection) == b"\0alice\0planted-secret"


@pytest.mark.parametrize(
    ("password", "message"),
    [
        pytest.param("${env:KRAFT_MISSING}", "${env:KRAFT_MISSING}: the environment has no variable", id="reference"),
        pytest.param("", "the entry of sasl.jaas.config has no password", id="no password"),
        pytest.param('planted-secret"', "the entry of sasl.jaas.config for PLAIN is malformed", id="malformed"),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_connection_is_not_opened_without_name_and_password(password: str, message: str) -> None:
    client = ClientProtection(ClientSecurity(protocol=SecurityProtocol.SASL_SSL, sasl=sasl(password)))

    with pytest.raises(ConfigError) as refused:
        client.of_connection(HOST)

    assert str(refused.value).startswith(message)
    assert PASSWORD not in str(refused.value)


def test_connection_is_not_opened_without_its_files(own_files: Files) -> None:
    own_files.path("authority").unlink()
    client = ClientProtection(ClientSecurity(protocol=SecurityProtocol.SSL, tls=own_files.settings()))

    with pytest.raises(ConfigError, match=r"^ssl\.truststore\.location="):
        client.of_connection(HOST)
