"""Which connection is dropped when there are too many, and the cost of finding it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from raft.node.connections import Connections
from raft.node.large_frames import LargeFrames
from raft.node.open_connection import OpenConnection
from raft.runtime.caller import Caller
from raft.runtime.drop_cause import DropCause
from raft.runtime.response_budget import ResponseBudget
from raft.types import Endpoint
from tests.core.calls import calls_of

CALLER = Caller(listener=Endpoint("localhost", 9093), for_clients=None, address="192.0.2.1")


@dataclass(eq=False)
class Stub:
    """The part of an inbound connection that the registry uses."""

    name: str
    last_progress_s: float
    is_established: bool = False
    is_busy: bool = False
    is_peer: bool = False
    is_closing: bool = False
    caller: Caller = field(default=CALLER)

    drop_cause: DropCause = DropCause.INVALID_REQUEST

    def drop(self, reason: str | None = None, cause: DropCause = DropCause.INVALID_REQUEST) -> None:
        self.is_closing = True
        self.drop_cause = cause


def registry(most: int) -> Connections:
    return Connections(
        max_connections=most,
        max_connections_per_ip=1 << 30,
        max_idle_s=600,
        large_frames=LargeFrames(1 << 20, lambda: 0.0),
        responses=ResponseBudget(1 << 20),
        now_ms=lambda: 0,
    )


def open_all(connections: Connections, *stubs: Stub) -> None:
    for stub in stubs:
        connections.opened(cast("OpenConnection", stub))


def establish(connections: Connections, *stubs: Stub) -> None:
    open_all(connections, *stubs)
    for stub in stubs:
        stub.is_established = True
        connections.established(cast("OpenConnection", stub))


@pytest.mark.parametrize(
    ("others", "dropped"),
    [
        pytest.param([Stub("busy", 1, is_busy=True), Stub("idle", 5)], "idle", id="nothing in flight"),
        pytest.param([Stub("late", 5), Stub("early", 3)], "early", id="quiet for longest"),
        pytest.param([Stub("voter", 1, is_peer=True), Stub("client", 2)], "client", id="no voter"),
        pytest.param([Stub("going", 1, is_closing=True), Stub("idle", 2)], "idle", id="not one that ends anyway"),
    ],
)
def test_established_connection_above_the_limit_replaces_the_least_important_one(
    others: list[Stub], dropped: str
) -> None:
    connections = registry(len(others))
    establish(connections, *others)
    before = [stub for stub in others if stub.is_closing]

    establish(connections, Stub("new", 10))

    assert [stub.name for stub in others if stub.is_closing and stub not in before] == [dropped]


@pytest.mark.rule("AUTH-10")
def test_owner_of_most_connections_loses_one_even_if_they_are_all_busy() -> None:
    connections = registry(10)
    flooding = replace(CALLER, address="192.0.2.66")
    idle = Stub("idle", 1)
    many = [Stub(f"flood {number}", 100 + number, is_busy=True, caller=flooding) for number in range(20)]

    establish(connections, idle)
    for stub in many:
        establish(connections, stub)
        for other in [each for each in many if each.is_closing]:
            connections.closed(cast("OpenConnection", other), None)

    assert not idle.is_closing
    assert [stub for stub in many if not stub.is_closing] == many[-9:]


def test_connection_is_dropped_when_it_is_established_and_all_others_are_voters() -> None:
    connections = registry(1)
    establish(connections, Stub("voter", 1, is_peer=True))
    new = Stub("new", 10)

    establish(connections, new)

    assert new.is_closing


@pytest.mark.rule("AUTH-10")
def test_connections_that_prove_nothing_replace_only_each_other() -> None:
    connections = registry(20)
    named = [Stub(f"named {number}", number) for number in range(20)]
    establish(connections, *named)
    nameless = [Stub(f"nameless {number}", 100 + number) for number in range(50)]

    for stub in nameless:
        open_all(connections, stub)
        for other in [each for each in nameless if each.is_closing]:
            connections.closed(cast("OpenConnection", other), None)

    assert not any(stub.is_closing for stub in named)
    assert [stub for stub in nameless if not stub.is_closing] == nameless[-2:]


@pytest.mark.rule("AUTH-10")
def test_client_can_be_established_while_others_take_all_places_that_prove_nothing() -> None:
    connections = registry(10)
    establish(connections, *(Stub(f"named {number}", number) for number in range(9)))
    open_all(connections, Stub("nameless", 100), Stub("nameless", 101))
    honest = Stub("honest", 102)

    establish(connections, honest)

    assert not honest.is_closing


def test_connection_that_was_being_accepted_while_the_node_stopped_is_dropped() -> None:
    connections = registry(1)
    asyncio.run(connections.close())
    late = Stub("late", 0)

    open_all(connections, late)

    assert late.is_closing


def test_work_of_a_new_connection_does_not_grow_with_the_silent_ones() -> None:
    def calls_with(silent: int) -> int:
        connections = registry(silent)
        open_all(connections, *(Stub("silent", number) for number in range(silent + max(1, silent // 10))))
        return calls_of(lambda: open_all(connections, Stub("new", silent)))

    assert calls_with(1000) == calls_with(10)
