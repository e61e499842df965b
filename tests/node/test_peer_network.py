"""The connections of a node to other nodes, and attempts to connect that are cancelled."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from raft.config.security import NO_SECURITY
from raft.core import messages as core
from raft.core.effects import SendRequest
from raft.core.events import Event, Failure, RequestFailed
from raft.node.peer_network import PeerNetwork
from raft.runtime.fault_log import FaultLog
from raft.security.client_protection import ClientProtection
from raft.types import Endpoint, Epoch, LeaderAndEpoch, NodeId
from tests.node.harness.peer import OURS

SILENT = NodeId(2)
BEGIN = core.BeginQuorumEpochRequest(cluster_id=None, leader=LeaderAndEpoch(epoch=Epoch(1), leader_id=NodeId(1)))


class SilentWorld(asyncio.SelectorEventLoop):
    """A loop from which no host can be reached: attempts to connect last until they are cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.attempts = 0

    async def create_connection(self, *_args: Any, **_options: Any) -> Any:
        """Wait for ever."""
        self.attempts += 1
        try:
            await self.create_future()
        finally:
            self.attempts -= 1


def network(submitted: list[Event]) -> PeerNetwork:
    return PeerNetwork(
        NodeId(1),
        OURS,
        max_frame_bytes=10_000,
        refuses_controllers=False,
        submit=submitted.append,
        is_expected=lambda _: True,
        protection=ClientProtection(NO_SECURITY),
        faults=FaultLog(logging.getLogger(__name__), lambda: 0),
    )


@pytest.mark.parametrize(
    "drop",
    [
        pytest.param(lambda peers: peers.disconnect(SILENT), id="that node"),
        pytest.param(lambda peers: peers.close(), id="every node"),
    ],
)
def test_network_stops_connecting_when_the_connection_is_dropped(drop: Any) -> None:
    world = SilentWorld()
    submitted: list[Event] = []

    async def connect_and_drop() -> int:
        peers = network(submitted)
        peers.send(SendRequest(number=7, node_id=SILENT, endpoint=Endpoint("silent", 9093), request=BEGIN))
        await asyncio.sleep(0)
        attempts = world.attempts
        drop(peers)
        await asyncio.sleep(0)
        return attempts

    with asyncio.Runner(loop_factory=lambda: world) as runner:
        attempts = runner.run(connect_and_drop())

        assert attempts == 1
        assert world.attempts == 0, "nothing is left behind"
        assert submitted == [RequestFailed(number=7, failure=Failure.DISCONNECTED)]


def test_network_continues_connecting_to_others_when_one_is_dropped() -> None:
    world = SilentWorld()

    async def connect_to_two() -> None:
        peers = network([])
        for node_id in (SILENT, NodeId(3)):
            endpoint = Endpoint("silent", 9090 + node_id)
            peers.send(SendRequest(number=node_id, node_id=node_id, endpoint=endpoint, request=BEGIN))
        await asyncio.sleep(0)
        peers.disconnect(SILENT)
        await asyncio.sleep(0)

        assert world.attempts == 1
        peers.close()

    with asyncio.Runner(loop_factory=lambda: world) as runner:
        runner.run(connect_to_two())
