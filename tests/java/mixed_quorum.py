"""A quorum of Kafka's nodes and ours together, in which any node can be made to fail in many ways, and come back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from raft.types import Epoch, NodeId, Uuid
from tests.java.kafka import Kafka
from tests.java.processes import Server
from tests.java.seats import RAFT_SERVER_TOPIC, Seat, seat_observer, seat_voters
from tests.java.standing import Standing, standing_of
from tests.network.connection import Direction
from tests.network.network import Network
from tests.node.harness.waiting import eventually

FETCH_TIMEOUT_S = 1.2

_TIMEOUTS = {
    "controller.quorum.fetch.timeout.ms": str(int(FETCH_TIMEOUT_S * 1000)),
    "controller.quorum.election.timeout.ms": "400",
    "controller.quorum.election.backoff.max.ms": "400",
    "controller.quorum.request.timeout.ms": "800",
}
_TOPIC_ID = Uuid(RAFT_SERVER_TOPIC["raft.topic.id"])
_JAVA_RECORDS_PER_S = 100
_RECORD_BYTES = 32
_PATIENCE_S = 60
"""A machine that does much else takes its time to start a JVM."""

_LOOK_S = 0.05


class Kind(Enum):
    """Who takes a seat."""

    JAVA = "Kafka's TestRaftServer"
    OURS = "kraft serve"


class Fault(Enum):
    """Ways in which a node fails: itself, or the network between it and the other nodes. What the network holds is not
    lost: as with TCP, it arrives late, when the network is whole again.
    """

    KILL = "killed and started again"
    STOP = "stands still"
    SILENT = "nothing arrives, either way, and nobody is told"
    DEAF = "nothing reaches the node, but what it says arrives"
    MUTE = "nothing that the node says arrives, but it hears the others"
    RESET = "connections are reset, also new ones"


CUTS = (Fault.SILENT, Fault.DEAF, Fault.MUTE, Fault.RESET)
"""Faults of the network."""


@dataclass(frozen=True, slots=True)
class Reign:
    """An epoch and its leader."""

    epoch: Epoch
    leader_id: NodeId


class MixedQuorum:
    """Voters 1, 2, ... and perhaps an observer, each a process, that reach each other over a network that can be cut.

    Kafka's nodes write while they lead, see `Workload`.

    Args:
        kafka: Kafka's programs.
        folder: holds all nodes.
        voters: who takes their seats.
        observer: who takes a seat beside them, if anybody does.

    Attributes:
        seats, kinds, servers: the nodes by their ids: where they are, who they are, and their processes.
    """

    def __init__(self, kafka: Kafka, folder: Path, voters: Sequence[Kind], observer: Kind | None = None) -> None:
        self._kafka = kafka
        self._folder = folder
        self._voter_kinds = voters
        self._observer_kind = observer
        self._exits = ExitStack()
        self._failing: tuple[NodeId, Fault] | None = None

    def __enter__(self) -> Self:
        with self._exits as exits:
            self._network = exits.enter_context(Network())
            self.seats, self.kinds = self._take_seats()
            self.servers = {node_id: self._server(seat) for node_id, seat in self.seats.items()}
            for server in self.servers.values():
                exits.callback(server.kill)
                server.start()
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def _take_seats(self) -> tuple[dict[NodeId, Seat], dict[NodeId, Kind]]:
        settings = RAFT_SERVER_TOPIC | _TIMEOUTS
        front = self._network.open
        seats = seat_voters(self._folder, len(self._voter_kinds), settings, front=front)
        kinds = dict(zip(seats, self._voter_kinds, strict=True))
        if self._observer_kind is not None:
            observer = seat_observer(self._folder, list(seats.values()), settings, front=front)
            seats[observer.node_id] = observer
            kinds[observer.node_id] = self._observer_kind
        return seats, kinds

    def _server(self, seat: Seat) -> Server:
        if self.kinds[seat.node_id] is Kind.OURS:
            return seat.kraft_server()
        directory_id = base64.urlsafe_b64encode(bytes([seat.node_id] * 16)).decode().rstrip("=")
        return self._kafka.raft_server(
            seat, directory_id=Uuid(directory_id), records_per_s=_JAVA_RECORDS_PER_S, record_bytes=_RECORD_BYTES
        )

    # Who there is

    @property
    def voters(self) -> list[NodeId]:
        """All that may lead."""
        return list(self.seats)[: len(self._voter_kinds)]

    @property
    def voters_that_are_well(self) -> list[NodeId]:
        """All that may lead and do not fail now."""
        return [node_id for node_id in self.voters if node_id in self._well()]

    @property
    def kinds_of_voters(self) -> set[Kind]:
        """The kinds of all that may lead."""
        return set(self._voter_kinds)

    def of_kind(self, kind: Kind) -> list[NodeId]:
        """The nodes of one kind."""
        return [node_id for node_id in self.seats if self.kinds[node_id] is kind]

    def reign(self, *, after: Epoch = Epoch(0)) -> Reign:
        """Wait until all nodes that are well follow one of them, in an epoch past `after` of which it has committed
        something; return that epoch and its leader.

        Raises:
            AssertionError: that takes too long, or a node ended by itself.
        """
        standings: dict[NodeId, Standing | None] = {}

        def look() -> Reign | None:
            standings.update({node_id: self.standing(node_id) for node_id in self._well()})
            return _common_reign(standings, after)

        try:
            return eventually(look, "all nodes follow one leader", within_s=_PATIENCE_S, every_s=_LOOK_S)
        except AssertionError as error:
            error.add_note(f"{self._failing} fails; the others believe: {standings}")
            raise

    def _well(self) -> list[NodeId]:
        return [node_id for node_id in self.seats if self._failing is None or node_id != self._failing[0]]

    def standing(self, node_id: NodeId) -> Standing | None:
        """What a node believes; None while it does not answer.

        Raises:
            AssertionError: it ended by itself.
        """
        self._expect_alive(node_id)
        return standing_of(self.seats[node_id].endpoint, _TOPIC_ID)

    def _expect_alive(self, node_id: NodeId) -> None:
        server = self.servers[node_id]
        assert server.pid is not None, f"node {node_id}, {self.kinds[node_id].value}, ended: {server.log[-4000:]}"

    # What happens to them

    def strike(self, node_id: NodeId, fault: Fault) -> None:
        """Make a node fail; one after the other."""
        assert self._failing is None, f"{self._failing} fails already"
        self._expect_alive(node_id)
        self._failing = (node_id, fault)
        match fault:
            case Fault.KILL:
                self.servers[node_id].kill()
            case Fault.STOP:
                self.servers[node_id].suspend()
            case Fault.RESET:
                self._network.refuse(self._cut_off(node_id, fault))
            case _:
                self._network.cut(self._cut_off(node_id, fault))

    def relieve(self) -> None:
        """End what makes a node fail."""
        assert self._failing is not None, "nobody fails"
        node_id, fault = self._failing
        self._failing = None
        match fault:
            case Fault.KILL:
                self._start_again(node_id)
            case Fault.STOP:
                self.servers[node_id].resume()
            case _:
                self._network.heal(self._cut_off(node_id, fault), delivers_late=True)

    def _cut_off(self, node_id: NodeId, fault: Fault) -> set[Direction]:
        """The directions in which a fault of the network lets nothing through."""
        others = self.seats.keys() - {node_id}
        hears = {(other_id, node_id) for other_id in others} if fault is not Fault.MUTE else set()
        says = {(node_id, other_id) for other_id in others} if fault is not Fault.DEAF else set()
        return hears | says

    def _start_again(self, node_id: NodeId) -> None:
        if self.kinds[node_id] is Kind.JAVA and node_id not in self.voters:
            # An observer of Kafka's that remembers a leader, but has no voters to look its address up, ends with an
            # IllegalStateException if the first node that it asks is that very leader, be that one of Kafka's or ours
            # (KafkaRaftClient.handleFetchResponse). Observers do not vote: it may forget.
            self.seats[node_id].quorum_state.unlink()
        self.servers[node_id].start()

    def end_when(self, look: Callable[[], bool]) -> None:
        """Make all nodes stand still at a moment at which `look` finds what it looks for, and end them there."""

        def look_at_still_nodes() -> bool:
            for server in self.servers.values():
                server.suspend()
            is_found = look()
            for node_id, server in self.servers.items():
                self._expect_alive(node_id)
                server.kill() if is_found else server.resume()
            return is_found

        eventually(look_at_still_nodes, "a moment for all nodes to end", within_s=_PATIENCE_S, every_s=_LOOK_S)


def _common_reign(standings: Mapping[NodeId, Standing | None], after: Epoch) -> Reign | None:
    """The reign past an epoch that all nodes believe in, once its leader has committed something of it."""
    reigns = {(standing.epoch, standing.leader_id) if standing else None for standing in standings.values()}
    (reign, *others) = reigns
    if others or reign is None:
        return None
    epoch, leader_id = reign
    leader = standings.get(leader_id) if leader_id is not None else None
    if epoch <= after or leader_id is None or leader is None or leader.high_watermark is None:
        return None
    return Reign(epoch, leader_id)
