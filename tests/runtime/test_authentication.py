"""A client proves its name before its first other request; whatever else it sends ends its connection."""

from __future__ import annotations

import pytest

from raft.codec import Message
from raft.errors import ErrorCode
from raft.runtime.caller import ANONYMOUS
from raft.runtime.drop_cause import DropCause
from raft.security.outcomes import AuthenticationOutcome
from raft.security.sasl_session import MAX_REQUESTS
from raft.wire.apis import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.runtime.guarded_node import GuardedNode
from tests.runtime.guarded_requests import GuardedRequest, guarded_requests
from tests.runtime.requests_of_replicas import OF_REPLICAS, OF_VOTERS, OLD_EPOCH, Request
from tests.runtime.sasl_caller import MECHANISMS, SaslCaller, authenticator, counted, end_of

SCRAM = "SCRAM-SHA-512"
API_VERSIONS_REQUEST = ApiVersionsRequest()
OTHERS = [each for each in guarded_requests() if not isinstance(each.request, ApiVersionsRequest)]
METADATA = MetadataRequest(topics=())


@pytest.fixture
def node() -> GuardedNode:
    return GuardedNode(None)


@pytest.fixture
def caller(node: GuardedNode) -> SaslCaller:
    return SaslCaller(node)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_client_has_its_name_once_it_is_proved(node: GuardedNode, caller: SaslCaller, mechanism: str) -> None:
    assert (caller.caller.principal, caller.caller.is_authenticated) == (ANONYMOUS, False)

    response = caller.prove(authenticator(mechanism))

    assert (caller.caller.principal, caller.caller.is_authenticated) == ("User:alice", True)
    assert (response.error_message, response.session_lifetime_ms) == (None, 0)
    assert isinstance(caller.ask(METADATA, 9), MetadataResponse)
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1}


@pytest.mark.parametrize("version", [*API_VERSIONS.versions])
@pytest.mark.rule("AUTH-4")
def test_client_learns_the_versions_before_it_proves_its_name(
    node: GuardedNode, caller: SaslCaller, version: int
) -> None:
    response = caller.ask(API_VERSIONS_REQUEST, version)

    assert isinstance(response, ApiVersionsResponse)
    assert {SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key} <= {each.api_key for each in response.api_keys}
    caller.prove(authenticator(SCRAM))
    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1}


@pytest.mark.parametrize("guarded", guarded_requests(), ids=str)
@pytest.mark.rule("AUTH-3")
def test_request_of_a_client_that_was_not_let_in_ends_the_connection(
    node: GuardedNode, guarded: GuardedRequest
) -> None:
    end_before = node.voter.core.log.end_offset
    caller = node.caller()
    caller.is_admitted = False

    respond = node.begin(caller, guarded.request, guarded.version)

    assert respond.sent == []
    assert respond.closed == ("its certificate was not accepted", DropCause.FAILED_AUTHENTICATION)
    assert node.voter.core.log.end_offset == end_before
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.parametrize("guarded", OTHERS, ids=str)
@pytest.mark.rule("AUTH-4")
def test_request_before_authentication_ends_the_connection(
    node: GuardedNode, caller: SaslCaller, guarded: GuardedRequest
) -> None:
    end_before = node.voter.core.log.end_offset

    respond = caller.begin(guarded.request, guarded.version)

    reason = f"it did not authenticate: {type(guarded.request).__name__} came before authentication"
    assert end_of(node, respond) == (None, reason, DropCause.FAILED_AUTHENTICATION)
    assert node.voter.core.log.end_offset == end_before
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.parametrize(("make", "version", "_refusal"), [*OF_VOTERS, *OF_REPLICAS])
@pytest.mark.rule("AUTH-4")
def test_request_of_a_voter_before_authentication_ends_the_connection(
    node: GuardedNode, caller: SaslCaller, make: Request, version: int, _refusal: Message
) -> None:
    respond = caller.begin(make([2], OLD_EPOCH), version)

    response, _, cause = end_of(node, respond)
    assert (response, cause) == (None, DropCause.FAILED_AUTHENTICATION)
    assert not respond.is_from_peer


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        pytest.param(API_VERSIONS_REQUEST, 4, id="ApiVersions"),
        pytest.param(METADATA, 9, id="Metadata"),
    ],
)
@pytest.mark.rule("AUTH-4")
def test_other_request_during_a_proof_ends_the_connection(
    node: GuardedNode, caller: SaslCaller, request_: Message, version: int
) -> None:
    caller.choose(SCRAM)

    response, reason, cause = end_of(node, caller.begin(request_, version))

    assert (response, cause) == (None, DropCause.FAILED_AUTHENTICATION)
    assert reason == f"it did not authenticate: {type(request_).__name__} came before authentication"


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.rule("AUTH-5")
def test_handshake_names_the_mechanisms_of_the_listener(caller: SaslCaller, mechanism: str) -> None:
    (response,) = caller.choose(mechanism).sent

    assert response == SaslHandshakeResponse(error_code=ErrorCode.NONE, mechanisms=MECHANISMS)


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER", "plain", "PLAIN", ""])
@pytest.mark.rule("AUTH-5", "AUTH-7")
def test_mechanism_that_the_listener_does_not_have_ends_the_connection(node: GuardedNode, mechanism: str) -> None:
    caller = SaslCaller(node, mechanisms=(SCRAM,))

    response, reason, cause = end_of(node, caller.choose(mechanism))

    assert response == SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=(SCRAM,))
    assert reason == f"it did not authenticate: it chose an unsupported SASL mechanism; expected {SCRAM}"
    assert cause is DropCause.FAILED_AUTHENTICATION
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.rule("AUTH-5")
def test_handshake_of_version_0_ends_the_connection(node: GuardedNode, caller: SaslCaller) -> None:
    response, reason, _ = end_of(node, caller.choose(SCRAM, version=0))

    assert response == SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, mechanisms=MECHANISMS)
    assert reason == "it did not authenticate: SaslHandshake has version 0"
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.rule("AUTH-4")
def test_token_before_the_handshake_ends_the_connection(node: GuardedNode, caller: SaslCaller) -> None:
    response, reason, _ = end_of(node, caller.send_token(b"\0alice\0alice-secret"))

    assert response == SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=None, auth_bytes=b""
    )
    assert reason == "it did not authenticate: the request may not come now"
    assert not caller.caller.is_authenticated


@pytest.mark.rule("AUTH-4")
def test_second_handshake_ends_the_connection(node: GuardedNode, caller: SaslCaller) -> None:
    caller.choose("PLAIN")

    response, _, _ = end_of(node, caller.choose("PLAIN"))

    assert response == SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())


@pytest.mark.parametrize("before", [0, 5, MAX_REQUESTS - 3])
@pytest.mark.rule("AUTH-4", "AUTH-10")
def test_client_may_send_sixteen_requests_before_its_name_is_proved(
    node: GuardedNode, caller: SaslCaller, before: int
) -> None:
    for _ in range(before):
        caller.ask(API_VERSIONS_REQUEST, 4)

    caller.prove(authenticator(SCRAM))

    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1}


@pytest.mark.parametrize("last", ["versions", "handshake", "token"])
@pytest.mark.rule("AUTH-4", "AUTH-10")
def test_seventeenth_request_ends_the_connection(node: GuardedNode, caller: SaslCaller, last: str) -> None:
    proof = authenticator(SCRAM)
    for _ in range(MAX_REQUESTS - (last == "token")):
        caller.ask(API_VERSIONS_REQUEST, 4)
    if last == "token":
        caller.choose(SCRAM)

    match last:
        case "versions":
            respond = caller.begin(API_VERSIONS_REQUEST, 4)
        case "handshake":
            respond = caller.choose(SCRAM)
        case _:
            respond = caller.send_token(proof.respond(b"") or b"")

    reason = "it did not authenticate: received more than 16 requests before authentication"
    assert end_of(node, respond) == (None, reason, DropCause.FAILED_AUTHENTICATION)
    assert counted(node) == {AuthenticationOutcome.FAILED: 1}


@pytest.mark.rule("AUTH-4")
def test_requests_after_authentication_are_not_counted(node: GuardedNode, caller: SaslCaller) -> None:
    caller.prove(authenticator(SCRAM))

    for _ in range(2 * MAX_REQUESTS):
        caller.ask(API_VERSIONS_REQUEST, 4)

    assert counted(node) == {AuthenticationOutcome.SUCCESSFUL: 1}


@pytest.mark.rule("AUTH-5")
def test_listener_without_sasl_refuses_its_requests_and_goes_on(node: GuardedNode) -> None:
    caller = node.caller()

    chosen = node.ask(caller, SaslHandshakeRequest(mechanism="PLAIN"), 1)
    proved = node.ask(caller, SaslAuthenticateRequest(auth_bytes=b"\0alice\0alice-secret"), 2)

    assert chosen == SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=())
    assert proved == SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message="the listener does not use SASL", auth_bytes=b""
    )
    assert isinstance(node.ask(caller, METADATA, 9), MetadataResponse)
    assert caller.principal == ANONYMOUS
    assert counted(node) == {}


def test_listener_without_sasl_does_not_name_its_apis(node: GuardedNode) -> None:
    response = node.ask(ANONYMOUS, API_VERSIONS_REQUEST, 4)

    assert isinstance(response, ApiVersionsResponse)
    assert not {SASL_HANDSHAKE.key, SASL_AUTHENTICATE.key} & {each.api_key for each in response.api_keys}
