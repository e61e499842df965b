"""What a client says when a node closes its connection at once, or does not let its user do something."""

from __future__ import annotations

import pytest

from raft.client.discovery import LeaderNode
from raft.client.exchange import Exchange
from raft.client.failures import CLOSED_AFTER_HANDSHAKE, CLOSED_AT_ONCE, CLOSED_BY_NODE, NEEDED_RULE
from raft.client.session import ResponseStatus
from raft.client.steps import Operation
from raft.errors import ErrorCode, RequestError
from raft.security.sasl_client import PlainAuthenticator
from raft.wire.apis import API_VERSIONS
from raft.wire.frames import encode_response
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.protection import NO_PROTECTION, Authenticator, Protection
from tests.client.passing_channel import PassingChannel
from tests.client.table import leader_alone, session
from tests.node.harness.peer import serving_all

VERSIONS = encode_response(serving_all(), API_VERSIONS.versions.highest, correlation_id=0)


def authenticator() -> Authenticator:
    return PlainAuthenticator("user", "password")


@pytest.mark.parametrize(
    ("protection", "words"),
    [
        pytest.param(NO_PROTECTION, CLOSED_AT_ONCE, id="plain text"),
        pytest.param(Protection(channel=PassingChannel(is_open=False)), CLOSED_AT_ONCE, id="in the handshake of TLS"),
        pytest.param(Protection(channel=PassingChannel(is_open=True)), CLOSED_AFTER_HANDSHAKE, id="after it"),
        pytest.param(
            Protection(channel=PassingChannel(is_open=True), authenticator=authenticator),
            CLOSED_AT_ONCE,
            id="with SASL",
        ),
    ],
)
def test_node_that_closes_a_connection_at_once_counts_as_not_connected(protection: Protection, words: str) -> None:
    exchange = Exchange("me", protection)
    exchange.begin(MetadataRequest(topics=None), now_ms=0, deadline_ms=7)
    exchange.data_to_send()
    assert exchange.is_connected

    exchange.receive_data(b"")
    exchange.data_to_send()  # A driver sends what TLS has to say about the end.

    assert (str(exchange.error), exchange.is_connected) == (words, False)


def test_node_that_closes_a_connection_later_counts_as_connected() -> None:
    exchange = Exchange("me")
    exchange.begin(MetadataRequest(topics=None), now_ms=0, deadline_ms=7)
    exchange.data_to_send()
    exchange.receive_data(VERSIONS)

    exchange.receive_data(b"")

    assert (str(exchange.error), exchange.is_connected) == (CLOSED_BY_NODE, True)


@pytest.mark.rule("ACL-4")
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ],
)
@pytest.mark.parametrize(
    ("said", "words"), [(None, NEEDED_RULE), ("no rule", "no rule")], ids=["without words", "with words of the node"]
)
def test_request_that_no_rule_allows_is_an_error_that_says_what_is_expected(
    code: ErrorCode, said: str | None, words: str
) -> None:
    table = leader_alone(InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1))

    def request_to(_leader: LeaderNode) -> InitProducerIdRequest:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    def status_of(response: InitProducerIdResponse) -> ResponseStatus:
        return ResponseStatus(error=response.error_code, message=said)

    asked: Operation[InitProducerIdResponse] = session().ask_leader(request_to, status_of, table.deadline())
    with pytest.raises(RequestError) as refused:
        table.run(asked)

    assert (refused.value.code, str(refused.value)) == (code, f"{code.name}: {words}")
