"""`--command-config`: a properties file with the security of a command's connections, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.cli import connection as module
from raft.config.secret import Secret
from raft.config.security import ClientSecurity, SaslSettings, SecurityProtocol, TlsSettings, login_module
from raft.errors import ConfigError
from raft.local.ports import free_ports
from raft.types import Endpoint
from tests.cli.in_process import KraftInProcess

PLANTED = "planted-secret"
JAAS = f'{login_module("SCRAM-SHA-512")} required username="a" password="{PLANTED}";'
UNUSED = f"127.0.0.1:{free_ports(1)[0]}"

COMMANDS = {
    "append": ["append", "x"],
    "read": ["read"],
    "describe": ["quorum", "describe", "--status"],
}
"""Commands that connect to a quorum."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def test_connections_are_not_secured_without_a_file() -> None:
    assert module._read(None) == ({}, ClientSecurity())


def test_connections_have_the_security_of_the_file(file: Path) -> None:
    file.write_text(
        "bootstrap.servers=node1:9193\nsecurity.protocol=SASL_SSL\nssl.truststore.type=PEM\n"
        f"ssl.truststore.location=t.pem\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config={JAAS}\n"
    )

    _, security = module._read(file)

    assert security == ClientSecurity(
        protocol=SecurityProtocol.SASL_SSL,
        tls=TlsSettings(truststore="t.pem"),
        sasl=SaslSettings(mechanism="SCRAM-SHA-512", jaas=Secret(JAAS)),
    )


def test_client_has_the_security_of_the_file(file: Path) -> None:
    file.write_text("security.protocol=SSL\n")

    with module.client_for(UNUSED, 1_000, file) as client:
        assert client is not None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(None, "cannot read {file}: No such file or directory", id="no file"),
        pytest.param(b"\xff", "cannot read {file}: expected a properties file in UTF-8", id="no text"),
        pytest.param(b"security.protocol=TLS", "security.protocol=TLS: expected PLAINTEXT, SSL, ", id="protocol"),
        pytest.param(
            b"security.protocol=SSL\nssl.truststore.type=JKS", "ssl.truststore.type=JKS: expected PEM, ", id="JKS"
        ),
        pytest.param(b"ssl.key.password=planted-secret", "ssl.key.password has no effect with ", id="no effect"),
        pytest.param(b"ssl.keystore.key=planted-secret", "ssl.keystore.key is not supported: ", id="not supported"),
        pytest.param(
            f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={JAAS}".encode(),
            "sasl.mechanism=PLAIN: expected SCRAM-SHA-256 or SCRAM-SHA-512, or the protocol SASL_SSL",
            id="PLAIN without TLS",
        ),
    ],
)
@pytest.mark.rule("AUTH-1", "AUTH-12")
def test_file_that_cannot_be_used_is_named(file: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(ConfigError) as refused:
        module.client_for(UNUSED, 1_000, file)

    assert str(refused.value).startswith(f"--command-config {file}: {reason.format(file=file)}")
    assert PLANTED not in str(refused.value)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_takes_the_file(here: KraftInProcess, file: Path, name: str) -> None:
    file.write_text(f"security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\nsasl.jaas.config={JAAS}\n")

    done = here(*COMMANDS[name], "--bootstrap-server", UNUSED, "--command-config", str(file))

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors == (
        f"kraft: --command-config {file}: sasl.mechanism=GSSAPI: expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512\n"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(
            "security.protocol=SSL\nssl.truststore.location=missing.pem\n",
            "ssl.truststore.location=missing.pem: No such file or directory",
            id="truststore",
        ),
        pytest.param(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
            f'sasl.jaas.config={login_module("PLAIN")} required username="a" password="{PLANTED}";\n',
            "the entry of sasl.jaas.config is not for SCRAM-SHA-512",
            id="entry",
        ),
        pytest.param(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
            f"sasl.jaas.config={JAAS.replace(PLANTED, '${env:KRAFT_MISSING}')}\n",
            "${env:KRAFT_MISSING}: the environment has no variable KRAFT_MISSING",
            id="reference",
        ),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_what_is_wrong_at_the_first_connection_ends_the_command_at_once(
    here: KraftInProcess, file: Path, content: str, reason: str
) -> None:
    """It would be the same at each further connection."""
    file.write_text(content)

    done = here("read", "--bootstrap-server", UNUSED, "--command-config", str(file), "--timeout-ms", "60000")

    assert done.exit_code == 1
    assert reason in done.errors
    assert PLANTED not in done.errors


def test_list_of_addresses_is_checked(file: Path) -> None:
    file.write_text("bootstrap.servers=node1:9193\n")

    with pytest.raises(ConfigError, match=r"^--bootstrap-server is empty: expected host:port,\.\.\.$"):
        module.client_for(",", 1_000, file)


def test_servers_are_those_of_the_file_unless_the_option_names_others(file: Path) -> None:
    file.write_text("bootstrap.servers=node1:9193,node2:9193\n")

    with module.client_for(None, 1_000, file) as of_file, module.client_for(UNUSED, 1_000, file) as of_option:
        assert of_file.settings.bootstrap_servers == (Endpoint("node1", 9193), Endpoint("node2", 9193))
        assert [str(server) for server in of_option.settings.bootstrap_servers] == [UNUSED]


@pytest.mark.parametrize("name", [*COMMANDS, "backup"])
def test_each_command_takes_the_servers_of_the_file(here: KraftInProcess, file: Path, name: str) -> None:
    file.write_text("bootstrap.servers=node1\n")
    arguments = COMMANDS.get(name) or [name, str(file.with_name("backup"))]

    done = here(*arguments, "--command-config", str(file))

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors.startswith(f"kraft: --command-config {file}: bootstrap.servers=node1: expected host:port with ")


def test_file_without_servers_is_wrong_usage_without_the_option(here: KraftInProcess, file: Path) -> None:
    file.write_text("security.protocol=SSL\n")

    done = here("read", "--command-config", str(file))

    assert (done.exit_code, done.output) == (2, "")
    words = " ".join(done.errors.replace("\u2502", " ").split())
    assert "or bootstrap.servers in the file of --command-config, which" in words


def test_file_with_empty_servers_is_refused(file: Path) -> None:
    file.write_text("bootstrap.servers=\n")

    with pytest.raises(ConfigError) as refused:
        module.client_for(None, 1_000, file)

    assert str(refused.value) == f"--command-config {file}: bootstrap.servers is empty: expected host:port,..."
