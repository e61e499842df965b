"""A quorum of two nodes. The test is the other voter, as follower or as leader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from raft.core import messages as core
from raft.core.roles import Leader
from raft.types import Epoch, LeaderAndEpoch, NodeId, Offset, ReplicaKey
from raft.wire.mapping.replica_messages import api_of, request_to_wire, response_from_wire
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.peer import OURS, Answer, Peer, Play, friendly
from tests.node.harness.properties import CLUSTER_ID, voters_properties
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

US = 1
OTHER = 2
PATIENT = {"controller__quorum__fetch__timeout__ms": "30000", "controller__quorum__request__timeout__ms": "30000"}
"""Timeouts so long that a slow test loses neither leader nor follower."""

QUICK = {"controller__quorum__election__timeout__ms": "20"}
"""The test grants every vote at once."""


class Pair:
    """Node 1 runs; node 2 is the test."""

    def __init__(self, nodes: NodesInProcess, peer: Peer) -> None:
        self.nodes = nodes
        self.peer = peer

    @property
    def epoch(self) -> int:
        """The node's epoch."""
        return self.nodes.running[US].core.epoch

    @property
    def is_leading(self) -> bool:
        """Whether the node leads."""
        return isinstance(self.nodes.running[US].core.role, Leader)

    @property
    def log_end(self) -> int:
        """The node's log end."""
        return self.nodes.running[US].core.log.end_offset

    @property
    def high_watermark(self) -> int | None:
        """The node's high watermark."""
        return self.nodes.running[US].core.high_watermark

    @property
    def parked_fetches(self) -> int:
        """How many fetches the node holds."""
        return len(self.nodes.running[US].core._state.parked)

    @property
    def pending_reads(self) -> int:
        """How many linearizable reads wait in the node."""
        return len(self.nodes.running[US].core._state.reads)

    def wire(self) -> Wire:
        """A connection to the node."""
        return self.nodes.wire(US)

    def ask(self, request: core.OutgoingRequest, wire: Wire | None = None) -> core.Response:
        """Send the node a request as the other voter, on a connection of its own or on this one."""
        api = api_of(request)
        version = api.versions.highest
        with nullcontext(wire) if wire is not None else self.wire() as used:
            answer = response_from_wire(used.ask(request_to_wire(request, OURS, version), version, api.response))
        assert not isinstance(answer, core.FetchSnapshotResponse), "the test requests no snapshot"
        return answer

    def follow(
        self, offset: int, *, epoch: int | None = None, max_wait_ms: int = 0, wire: Wire | None = None
    ) -> core.Response:
        """Fetch as the other voter: all below the offset is on its disk."""
        log = self.nodes.running[US].core.log
        return self.ask(
            core.FetchRequest(
                cluster_id=CLUSTER_ID,
                replica=ReplicaKey(NodeId(OTHER)),
                epoch=Epoch(self.epoch if epoch is None else epoch),
                fetch_offset=Offset(offset),
                last_fetched_epoch=log.epoch_at(Offset(offset)),
                max_wait_ms=max_wait_ms,
                max_bytes=1 << 20,
            ),
            wire,
        )

    def announce_itself(self, *, epoch: int) -> None:
        """Lead an epoch, as the other voter; the node follows."""
        announcement = core.BeginQuorumEpochRequest(
            cluster_id=CLUSTER_ID,
            leader=LeaderAndEpoch(epoch=Epoch(epoch), leader_id=NodeId(OTHER), endpoints=(self.nodes.endpoint(OTHER),)),
        )
        answer = self.ask(announcement)
        assert isinstance(answer, core.BeginQuorumEpochResponse)
        assert (answer.error, answer.leader.epoch, answer.leader.leader_id) == (0, epoch, OTHER), "it follows"

    def wait_for_log_end(self, end: int) -> None:
        """Wait until the node's log ends there."""
        eventually(lambda: self.log_end == end, f"log end {end}, not {self.log_end}")

    def commit(self) -> int:
        """Follow to the log's end, so that all of it is committed; return that end."""
        end = self.log_end
        self.follow(end)
        eventually(lambda: self.high_watermark == end, f"high watermark {end}")
        return end


@contextmanager
def leading_pair(directory: Path, **overrides: str) -> Iterator[Pair]:
    """Node 1 leads; nothing is committed before the test follows."""
    configurations = voters_properties(directory, voters=2, **PATIENT | QUICK | overrides)
    with NodesInProcess(configurations) as nodes, Peer(nodes.thread, nodes.endpoint(OTHER), friendly) as peer:
        nodes.start(US)
        peer.wait_for_requests(core.BeginQuorumEpochRequest)
        yield Pair(nodes, peer)


def play_leader_without_news(request: core.OutgoingRequest) -> Answer:
    """Hold every fetch of our follower for ever."""
    return None if isinstance(request, core.FetchRequest) and request.epoch else friendly(request)


@contextmanager
def following_pair(
    directory: Path, *, epoch: int = 5, play: Play = play_leader_without_news, **overrides: str
) -> Iterator[Pair]:
    """Node 1 follows the test's node 2, which leads `epoch` and plays its part."""
    slow = {"controller__quorum__election__timeout__ms": "30000"}
    configurations = voters_properties(directory, voters=2, **PATIENT | slow | overrides)
    with NodesInProcess(configurations) as nodes, Peer(nodes.thread, nodes.endpoint(OTHER), play) as peer:
        nodes.start(US)
        pair = Pair(nodes, peer)
        pair.announce_itself(epoch=epoch)
        yield pair
