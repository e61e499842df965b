"""Clients that are known, and speak as a voter; and voters that speak as another one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from raft.codec import Message
from tests.node.harness.keys import proof
from tests.node.harness.secured import VOTERS
from tests.node.harness.secured_node import BOTH, MUTUAL, SecuredNodes, secured_nodes
from tests.node.harness.seen import seen
from tests.node.harness.target import appending as appending
from tests.node.harness.wire import Wire
from tests.runtime.requests_of_replicas import HIGH_EPOCH, OF_REPLICAS, OF_VOTERS, Request

PATIENT = {"controller.quorum.election.timeout.ms": "2000", "controller.quorum.fetch.timeout.ms": "5000"}
"""On a busy machine no voter takes the others for dead during a test."""

ALL = [*OF_VOTERS, *OF_REPLICAS]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNodes]:
    """Three voters with all listeners."""
    with secured_nodes(tmp_path_factory.mktemp("target"), voters=3, overrides=PATIENT) as nodes:
        yield nodes


def state_of(target: SecuredNodes) -> list[object]:
    return [(node.core.epoch, node.core.leader_id, type(node.core.role)) for node in target.nodes.running.values()]


def asked(target: SecuredNodes, user: str, request: Message, version: int, response: Message) -> Message:
    """The response of node 1 to a user on the voters' listener."""
    with Wire(target.endpoint(VOTERS), tls=target.keys.tls()) as wire:
        assert wire.prove(proof(user)).error_code == 0, "the user is known"
        return wire.ask(request, version, type(response))


@pytest.mark.parametrize("user", ["alice", "bob"])
@pytest.mark.parametrize(("make", "version", "refusal"), ALL)
@pytest.mark.rule("ACL-3", "ACL-6")
def test_client_does_not_speak_as_a_voter(
    target: SecuredNodes, make: Request, version: int, refusal: Message, user: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = state_of(target)
    request = make([2], HIGH_EPOCH)
    line = f"node 1: refused {type(request).__name__} in the name of node 2: User:{user} is not allowed to peer"

    with seen(lambda: target.refused("peer"), caplog, f"{line}; address=127.0.0.1"):
        response = asked(target, user, request, version, refusal)

    assert response == refusal
    assert state_of(target) == before


@pytest.mark.parametrize(("make", "version", "refusal"), ALL)
@pytest.mark.parametrize("name", [1, 3])
@pytest.mark.rule("ACL-3")
def test_voter_does_not_speak_as_another_voter(
    target: SecuredNodes, make: Request, version: int, refusal: Message, name: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = state_of(target)

    with seen(lambda: target.refused("peer"), caplog, f"in the name of node {name}: User:node2 is not allowed to peer"):
        response = asked(target, "node2", make([name], HIGH_EPOCH), version, refusal)

    assert response == refusal
    assert state_of(target) == before


@pytest.mark.parametrize(("make", "version", "refusal"), OF_VOTERS)
@pytest.mark.parametrize("name", [1, 9])
@pytest.mark.rule("ACL-3")
def test_observer_does_not_take_part_in_elections(
    target: SecuredNodes, make: Request, version: int, refusal: Message, name: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = state_of(target)

    with seen(lambda: target.refused("peer"), caplog, "User:mirror is not allowed to peer"):
        response = asked(target, "mirror", make([name], HIGH_EPOCH), version, refusal)

    assert response == refusal
    assert state_of(target) == before


@pytest.mark.parametrize(("make", "version", "refusal"), ALL)
@pytest.mark.parametrize("listener", [BOTH, MUTUAL])
@pytest.mark.rule("CALLER-1")
def test_credentials_of_a_voter_are_worth_nothing_on_a_listener_for_clients(
    target: SecuredNodes,
    make: Request,
    version: int,
    refusal: Message,
    listener: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = state_of(target)
    keystore = target.keys.certificate("node2", ()) if listener == MUTUAL else None

    with Wire(target.endpoint(listener), tls=target.keys.tls(keystore)) as wire:
        if listener == BOTH:
            assert wire.prove(proof("node2")).error_code == 0
        response = wire.ask(make([2], HIGH_EPOCH), version, type(refusal))

    assert response == refusal
    assert state_of(target) == before
    assert re.search("refused .* in the name of node 2 on a listener for clients; address=127.0.0.1", caplog.text)
