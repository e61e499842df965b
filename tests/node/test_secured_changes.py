"""Certificates, credentials and rules that change while a quorum runs: new connections use them, open ones go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.client import Client
from raft.errors import AuthenticationError, ErrorCode, RequestError
from raft.security.authority import Authority
from tests.node.harness.batches import batch_of
from tests.node.harness.keys import NODES, RULES, Keys
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.node.harness.secured import MUTUAL_TLS, TLS_SCRAM, VOTERS, Protection, secured
from tests.node.harness.secured_node import MUTUAL, SecuredNodes, secured_nodes
from tests.node.harness.wire import Wire

LOOK_S = 1.1


@pytest.fixture
def node(tmp_path: Path) -> Iterator[SecuredNodes]:
    """A node with all listeners."""
    with secured_nodes(tmp_path) as node:
        yield node


@pytest.fixture
def alice(node: SecuredNodes) -> Iterator[Client]:
    """A client with an open connection."""
    with node.client(VOTERS, node.security(VOTERS)) as client:
        client.append(batch_of(b"x"))
        yield client


def look(node: SecuredNodes) -> None:
    """Let the node look at its files."""
    node.nodes.thread.jump(LOOK_S)


@pytest.mark.rule("AUTH-11")
def test_open_connection_goes_on_and_a_new_one_gets_the_new_certificate(node: SecuredNodes, alice: Client) -> None:
    endpoint, tls = node.endpoint(VOTERS), node.keys.tls()
    with Wire(endpoint, tls=tls) as wire:
        before = wire.certificate_serial()

    node.keys.certificate("node1")
    look(node)
    with Wire(endpoint, tls=tls) as wire:
        after = wire.certificate_serial()

    assert before != after
    alice.append(batch_of(b"x"))


@pytest.mark.rule("AUTH-11")
def test_certificate_of_another_authority_is_accepted_once_the_node_trusts_that_authority(node: SecuredNodes) -> None:
    other = Authority.create("other")
    theirs = node.keys.certificate("bob", (), authority=other)
    settings = node.keys.client(node.security(MUTUAL).protocol, ssl__keystore__location=str(theirs))

    with node.client(MUTUAL, settings) as client, pytest.raises(AuthenticationError, match="unknown ca"):
        client.last_stable_offset()
    node.keys.truststore.write_bytes(node.keys.authority.certificate_pem() + other.certificate_pem())
    look(node)
    with node.client(MUTUAL, settings) as client:
        client.last_stable_offset()


@pytest.mark.rule("AUTH-11")
def test_user_who_is_removed_keeps_the_open_connection_and_gets_no_new_one(node: SecuredNodes, alice: Client) -> None:
    node.keys.write_credentials([*NODES, "bob"])
    look(node)

    alice.append(batch_of(b"x"))
    alice.close()
    with pytest.raises(AuthenticationError, match="due to invalid credentials with SASL mechanism SCRAM-SHA-512"):
        alice.append(batch_of(b"x"))


@pytest.mark.rule("AUTH-11")
def test_user_who_is_added_gets_a_connection(node: SecuredNodes) -> None:
    users = [*NODES, "carol"]
    node.keys.rules_file.write_text(RULES.replace("alice", "carol"))
    with node.client(VOTERS, node.security(VOTERS, "carol")) as client:
        with pytest.raises(AuthenticationError):
            client.append(batch_of(b"x"))

        node.keys.write_credentials(users)
        look(node)
        client.append(batch_of(b"x"))


@pytest.mark.rule("AUTH-11", "ACL-1")
def test_rules_hold_for_open_connections_too(node: SecuredNodes, alice: Client) -> None:
    node.keys.rules_file.write_text(RULES.replace("alice", "carol"))
    look(node)
    with pytest.raises(RequestError) as refused:
        alice.append(batch_of(b"x"))
    node.keys.rules_file.write_text(RULES)
    look(node)

    alice.append(batch_of(b"x"))

    assert refused.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.rule("AUTH-11")
def test_unusable_files_change_nothing_and_are_reported(
    node: SecuredNodes, alice: Client, caplog: pytest.LogCaptureFixture
) -> None:
    keys = node.keys
    for path in (keys.rules_file, keys.credentials_file, keys.folder / "node1.pem"):
        path.write_text("garbage")
    look(node)

    alice.append(batch_of(b"x"))
    with node.client(VOTERS, node.security(VOTERS)) as another:
        another.append(batch_of(b"x"))

    for what in ("rules", "credentials", "certificates"):
        assert f"the {what} that were read before stay in use" in caplog.text


@pytest.mark.parametrize("protection", [TLS_SCRAM, MUTUAL_TLS], ids=["SCRAM", "certificates"])
@pytest.mark.rule("AUTH-11")
def test_quorum_goes_on_while_all_its_certificates_are_replaced(tmp_path: Path, protection: Protection) -> None:
    keys = Keys(tmp_path)
    with NodesInProcess(secured(voters_properties(tmp_path), keys, {VOTERS: protection})) as trio:
        former = trio.start().wait_for_leader()
        others = {}
        if protection.needs_certificate:
            others["ssl__keystore__location"] = str(keys.certificate("alice", ()))
        with trio.client(security=keys.client(protection.protocol, **others)) as client:
            client.append(batch_of(b"x"))

            for node in NODES:
                keys.certificate(node)
            trio.thread.jump(0.5)
            trio.thread.jump(0.6)
            trio.stop(former)
            trio.wait_for_leader(other_than=former)
            trio.start(former).wait_for_leader()

            client.append(batch_of(b"x"))
