"""Which connection is dropped when there are too many, and the cost of finding it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
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


@pytest.mark.parametrize(
    ("open_ones", "dropped"),
    [
        pytest.param([Stub("spoke", 1, True), Stub("silent", 5), Stub("later", 6)], "silent", id="never spoke"),
        pytest.param([Stub("busy", 1, True, True), Stub("idle", 5, True)], "idle", id="nothing in flight"),
        pytest.param([Stub("late", 5, True), Stub("early", 3, True)], "early", id="quiet for longest"),
        pytest.param([Stub("voter", 1, True, is_peer=True), Stub("client", 2, True)], "client", id="no voter"),
        pytest.param([Stub("going", 1, is_closing=True), Stub("silent", 2)], "silent", id="not one that ends anyway"),
    ],
)
def test_least_important_connection_is_dropped_for_a_new_one(open_ones: list[Stub], dropped: str) -> None:
    connections = registry(len(open_ones))
    open_all(connections, *open_ones)
    before = [stub for stub in open_ones if stub.is_closing]

    open_all(connections, Stub("new", 10))

    assert [stub.name for stub in open_ones if stub.is_closing and stub not in before] == [dropped]


def test_new_connection_is_dropped_when_all_others_are_voters() -> None:
    connections = registry(1)
    open_all(connections, Stub("voter", 1, True, is_peer=True))
    new = Stub("new", 10)

    open_all(connections, new)

    assert new.is_closing


def test_connection_that_was_being_accepted_while_the_node_stopped_is_dropped() -> None:
    connections = registry(1)
    asyncio.run(connections.close())
    late = Stub("late", 0)

    open_all(connections, late)

    assert late.is_closing


def test_work_of_a_new_connection_does_not_grow_with_the_silent_ones() -> None:
    def calls_with(silent: int) -> int:
        connections = registry(silent)
        open_all(connections, *(Stub("silent", number) for number in range(silent)))
        return calls_of(lambda: open_all(connections, Stub("new", silent)))

    assert calls_with(1000) == calls_with(10)
