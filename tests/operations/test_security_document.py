"""docs/security.md: its commands run in their order, on three hosts, and what it says of the result is true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

import pytest

from raft.cli.connection import client_for
from raft.config import NodeConfig, read_properties
from raft.errors import AuthenticationError
from raft.security.rules import Rules
from tests.node.harness.waiting import eventually
from tests.operations.document import SECURITY, Block, blocks
from tests.operations.hosts import CONFIGURATION, Host, Hosts
from tests.processes.finished import Finished
from tests.workload.committed import read_all

AUTHORIZATION = "/etc/kraft/authorization.toml"
CLIENT = "/etc/kraft/client.properties"
START = "systemctl enable --now kraft"

Ended = dict[str, list[Finished]]


def write(host: Host, path: str, text: str) -> None:
    host.path(path).write_text(host.here(text))


def run(hosts: Hosts, block: Block, ended: Ended) -> None:
    for name in block.hosts:
        for command in block.text.replace("\\\n", "").splitlines():
            done = hosts.by_name[name].run(command)
            done.require_success()
            ended.setdefault(command, []).append(done)


def configure(hosts: Hosts, text: str) -> None:
    """Configure the nodes; the listeners for clients have the same host here, and other ports."""
    hosts.configure(text)
    hosts.make_impatient()
    voters = ",".join(f"{name.removeprefix('node')}@{server}" for name, server in hosts.client_servers.items())
    hosts.configure(f"listener.name.client.quorum.voters={voters}\n")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with Hosts(tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


@pytest.fixture(scope="module")
def ended(hosts: Hosts) -> Ended:
    """All commands have run."""
    ended: Ended = {}
    for block in blocks(SECURITY):
        match block.language, block.hosts:
            case "properties", ("client",):
                write(hosts.by_name["node1"], CLIENT, block.text)
            case "properties", _:
                configure(hosts, block.text)
            case "toml", _:
                for host in hosts.by_name.values():
                    write(host, AUTHORIZATION, block.text)
            case _:
                run(hosts, block, ended)
    return ended


def outputs(ended: Ended, begin: str) -> list[str]:
    return [done.output for command, all_done in ended.items() for done in all_done if command.startswith(begin)]


def test_commands_do_what_the_document_says(ended: Ended) -> None:
    assert len(outputs(ended, START)) == 3
    assert outputs(ended, "kraft read") == ["topic-1\tcreated\n"]
    (described,) = outputs(ended, "kraft quorum describe")
    assert "Yr2d0nKPTd2hJ8J4bHkq7w" in described
    assert len(re.findall("CLIENT://", described)) == 3
    assert "CleanupPolicy" in outputs(ended, "kraft node status")[0]
    (listed,) = outputs(ended, "kraft credentials list")
    assert listed.splitlines() == [
        f"{user}: SCRAM-SHA-256 (8192 iterations), SCRAM-SHA-512 (8192 iterations)" for user in ("operator", "spark")
    ]


@pytest.mark.rule("AUTH-11")
def test_certificate_and_password_that_were_replaced_are_used_and_the_old_password_is_refused(
    hosts: Hosts, ended: Ended
) -> None:
    host = hosts.by_name["node1"]
    servers = hosts.client_servers["node1"]
    before = expiry(host)
    client = read_properties(host.path(CLIENT))
    assert client["security.protocol"] == "SASL_SSL"
    (issue,) = [command for command in ended if "openssl req -x509 -CA " in command]
    host.run(issue.replace("-days 365", "-days 30")).require_success()
    host.run("cat /etc/kraft/node.key /etc/kraft/node.crt > /etc/kraft/node.pem").require_success()

    eventually(lambda: expiry(host) < before, "the new certificate")
    host.run("echo another > /etc/kraft/new.password").require_success()
    host.run("kraft credentials add /etc/kraft/credentials.json spark < /etc/kraft/new.password").require_success()
    host.run("cp /etc/kraft/credentials.json /var/backups/credentials.json").require_success()
    for other in ("node2", "node3"):
        hosts.by_name[other].run("cp /var/backups/credentials.json /etc/kraft/credentials.json").require_success()

    def is_refused() -> bool:
        try:
            with client_for(servers, 5_000, host.path(CLIENT)) as connected:
                connected.describe_quorum()
        except AuthenticationError as error:
            return "invalid credentials" in str(error)
        return False

    eventually(is_refused, "the old password is refused")
    host.run("cp /etc/kraft/new.password /etc/kraft/spark.password").require_success()
    eventually(lambda: values(servers, host) == [b"created"], "the new password is accepted by all nodes")


def values(servers: str, host: Host) -> list[bytes | None]:
    with client_for(servers, 5_000, host.path(CLIENT)) as connected, suppress(AuthenticationError):
        return [record.value for record in read_all(connected)]
    return []


def expiry(host: Host) -> float:
    """The earliest time in the metrics at which a certificate of the node expires."""
    page = host.run("curl -sf http://node1:9404/metrics").require_success()
    return min(float(found) for found in re.findall(r"^kraft_certificate_expiry\w+\{.*\} (\S+)$", page, re.MULTILINE))


def test_configurations_of_the_document_have_no_warnings() -> None:
    by_language: dict[str, list[str]] = {}
    for block in blocks(SECURITY):
        by_language.setdefault(block.language, []).append(block.text)
    given = dict(line.split("=", 1) for line in by_language["properties"][0].splitlines() if line)

    assert NodeConfig.from_properties(given).warnings == ()
    assert Rules.parse(by_language["toml"][0], super_users=frozenset()).voters.keys() == {1, 2, 3}


def test_every_key_of_the_configuration_is_explained() -> None:
    configuration = next(block.text for block in blocks(SECURITY) if block.language == "properties")
    table = SECURITY.split("\n## Keys of a node\n")[1]

    for key in re.findall(
        r"^(?:listener\.name\.\w+\.)?((?:ssl|sasl|super|raft)\.[\w.]+)=", configuration, re.MULTILINE
    ):
        assert f"`{key}`" in table, key


def test_files_with_secrets_are_readable_for_their_owner_only(hosts: Hosts, ended: Ended) -> None:
    host = hosts.by_name["node1"]

    assert ended
    for name in ("node.pem", "spark.password", "credentials.json"):
        assert host.path(f"/etc/kraft/{name}").stat().st_mode & 0o077 == 0, name
    assert CONFIGURATION.startswith("/etc/kraft/")


def test_files_with_secrets_are_at_no_time_readable_for_others() -> None:
    commands = [line for block in blocks(SECURITY) if block.language == "bash" for line in block.text.splitlines()]
    written = [line for line in commands if re.search(r"> /etc/kraft/\S+\.(pem|password)$", line)]

    assert len(written) == 3
    assert [line for line in written if not line.startswith("umask 077; ")] == []
