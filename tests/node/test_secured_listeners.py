"""Listeners with different protocols on one node: what each asks of its clients, and the names that they get."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from raft.errors import ErrorCode, RequestError
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.keys import SCRAM
from tests.node.harness.requests import produce_request, produced
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import BOTH, ENCRYPTED, MUTUAL, OPEN, UNPROTECTED, SecuredNodes, secured_nodes
from tests.node.harness.wire import Wire

WAYS = [
    pytest.param(VOTERS, SCRAM, id="SASL_SSL SCRAM-SHA-512"),
    pytest.param(VOTERS, "SCRAM-SHA-256", id="SASL_SSL SCRAM-SHA-256"),
    pytest.param(BOTH, "PLAIN", id="SASL_SSL PLAIN"),
    pytest.param(BOTH, SCRAM, id="SASL_SSL SCRAM beside PLAIN"),
    pytest.param(OPEN, SCRAM, id="SASL_PLAINTEXT SCRAM-SHA-512"),
    pytest.param(MUTUAL, "", id="SSL with a certificate"),
]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNodes]:
    """A node with all listeners."""
    with secured_nodes(tmp_path_factory.mktemp("secured")) as node:
        yield node


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
@pytest.mark.rule("AUTH-1", "AUTH-3")
def test_client_appends_and_reads_by_its_name(node: SecuredNodes, listener: str, mechanism: str) -> None:
    counted_before = node.authentications("successful_authentication", listener)

    with node.client(listener, node.security(listener, "alice", mechanism)) as client:
        appended = client.append(batch_of(b"x"))
        fetched = client.fetch(appended.base_offset)

    assert fetched.records
    assert node.authentications("successful_authentication", listener) > counted_before


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
@pytest.mark.rule("ACL-1", "ACL-2", "ACL-6")
def test_client_that_may_only_read_does_not_append(
    node: SecuredNodes, listener: str, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused_before = node.refused("append")
    node.forget_faults()

    with node.client(listener, node.security(listener, "bob", mechanism)) as client:
        end = client.last_stable_offset()
        with pytest.raises(RequestError, match="TOPIC_AUTHORIZATION_FAILED"):
            client.append(batch_of(b"x"))
        assert client.last_stable_offset() == end

    assert node.refused("append") == refused_before + 1
    assert "node 1: refused ProduceRequest: User:bob is not allowed to append; address=127.0.0.1" in caplog.text


@pytest.mark.parametrize("listener", [ENCRYPTED, UNPROTECTED])
@pytest.mark.rule("ACL-1", "ACL-5")
def test_client_without_a_name_gets_the_addresses_and_nothing_else(node: SecuredNodes, listener: str) -> None:
    endpoint = node.endpoint(listener)
    tls = node.keys.tls() if listener == ENCRYPTED else None

    with Wire(endpoint, tls=tls) as wire:
        metadata = wire.ask(MetadataRequest(topics=None), 9, MetadataResponse)
        appended = wire.ask(produce_request(batch_of(b"x")), 9, ProduceResponse)

    assert [(each.host, each.port) for each in metadata.brokers] == [(endpoint.host, endpoint.port)]
    assert metadata.topics == ()
    assert produced(appended).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
