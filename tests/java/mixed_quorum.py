"""A quorum of nodes of Kafka and of ours. Any of them can be made to fail in several ways, and to recover."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from raft.types import Endpoint, Epoch, NodeId, Uuid
from tests.hang import HANG_S
from tests.java.kafka import Kafka
from tests.java.quorum_view import QuorumView, open_wire_to, quorum_view_of
from tests.java.raft_server import TOPIC_ID, raft_server_observer, raft_server_voters
from tests.network.connection import Direction
from tests.network.network import Network
from tests.node.harness.properties import Properties
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire
from tests.processes.node_process import NodeProcess

FETCH_TIMEOUT_S = 1.2

_TIMEOUTS = {
    "controller.quorum.fetch.timeout.ms": str(int(FETCH_TIMEOUT_S * 1000)),
    "controller.quorum.election.timeout.ms": "400",
    "controller.quorum.election.backoff.max.ms": "400",
    "controller.quorum.request.timeout.ms": "800",
}
_JAVA_RECORDS_PER_S = 100
_RECORD_BYTES = 32
_LOOK_S = 0.05


class Kind(Enum):
    """The program that a node runs."""

    JAVA = "Kafka's TestRaftServer"
    OURS = "kraft serve"


class Fault(Enum):
    """Ways in which a node fails: the process, or the network between it and the other nodes. As with TCP, bytes that
    the network holds back are not lost: they arrive late, when the fault ends.
    """

    KILLED = "killed and restarted"
    SUSPENDED = "suspended by SIGSTOP"
    ISOLATED = "nothing arrives in either direction"
    INBOUND_CUT = "nothing arrives at the node"
    OUTBOUND_CUT = "nothing that the node sends arrives"
    CONNECTIONS_RESET = "connections are reset, new ones too"


NETWORK_FAULTS = (Fault.ISOLATED, Fault.INBOUND_CUT, Fault.OUTBOUND_CUT, Fault.CONNECTIONS_RESET)


@dataclass(frozen=True, slots=True)
class Leadership:
    """An epoch and its leader."""

    epoch: Epoch
    leader_id: NodeId


class MixedQuorum:
    """Voters 1, 2, ... and perhaps an observer, which reach each other through proxies, or directly.

    The nodes of Kafka append records while they lead, see `Workload`.

    Args:
        kafka: Kafka's programs.
        folder: has the files of all nodes.
        voters: the kinds of the voters.
        observer: the kind of the observer; None for no observer.
        settings: returns further keys of a node.
        open_wire: opens a connection to a node.
        has_proxies: whether they reach each other through proxies, which cannot read what TLS encrypts. Without them
            there are no faults of the network, and no observer.

    Attributes:
        kinds: by node id.
        nodes: the processes by node id.
    """

    def __init__(
        self,
        kafka: Kafka,
        folder: Path,
        voters: Sequence[Kind],
        observer: Kind | None = None,
        *,
        settings: Callable[[NodeId, Kind], Mapping[str, str]] = lambda _node_id, _kind: {},
        open_wire: Callable[[Endpoint], Wire] = open_wire_to,
        has_proxies: bool = True,
    ) -> None:
        self._kafka = kafka
        self._folder = folder
        self._voter_kinds = voters
        self._settings = settings
        self._open_wire = open_wire
        self._has_proxies = has_proxies
        self._failing: tuple[NodeId, Fault] | None = None
        self._exits = ExitStack()
        kinds = [*voters, *([observer] if observer is not None else [])]
        self.kinds = {NodeId(node_id): kind for node_id, kind in enumerate(kinds, start=1)}
        self.nodes: dict[NodeId, NodeProcess] = {}

    def __enter__(self) -> Self:
        with self._exits as exits:
            self._network = exits.enter_context(Network())
            for node_id, properties in self._configurations().items():
                self.nodes[NodeId(node_id)] = exits.enter_context(self._process(NodeId(node_id), properties))
            for node in self.nodes.values():
                node.start()
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def _configurations(self) -> dict[int, Properties]:
        advertise = self._network.open
        configurations = raft_server_voters(
            self._folder, len(self._voter_kinds), _TIMEOUTS, advertise=advertise if self._has_proxies else None
        )
        for observer_id in self.kinds.keys() - set(self.voters):
            servers = [self._network.endpoint(node_id) for node_id in self.voters]
            configurations[observer_id] = raft_server_observer(
                self._folder, observer_id, _TIMEOUTS, servers=servers, advertise=advertise
            )
        return configurations

    def _process(self, node_id: NodeId, properties: Properties) -> NodeProcess:
        folder = self._folder / f"process-{node_id}"
        properties = {**properties, **self._settings(node_id, self.kinds[node_id])}
        if self.kinds[node_id] is Kind.OURS:
            return NodeProcess(properties, folder)
        return self._kafka.raft_server(
            properties, folder, records_per_s=_JAVA_RECORDS_PER_S, record_bytes=_RECORD_BYTES
        )

    # The nodes

    @property
    def voters(self) -> list[NodeId]:
        """The ids of the voters."""
        return list(self.kinds)[: len(self._voter_kinds)]

    @property
    def working_voters(self) -> list[NodeId]:
        """The ids of the voters that have no fault now."""
        return [node_id for node_id in self.voters if node_id in self._working_nodes()]

    @property
    def kinds_of_voters(self) -> set[Kind]:
        """The kinds of the voters."""
        return set(self._voter_kinds)

    def of_kind(self, kind: Kind) -> list[NodeId]:
        """Return the ids of the nodes of one kind."""
        return [node_id for node_id in self.kinds if self.kinds[node_id] is kind]

    def wait_for_leader(self, *, after: Epoch = Epoch(0)) -> Leadership:
        """Wait until all nodes without a fault know the same leader, which has committed a record of its own epoch.

        Args:
            after: the epoch of the leader is higher than this one.

        Raises:
            AssertionError: there is none in time, or a node ended.
        """
        views: dict[NodeId, QuorumView | None] = {}

        def look() -> Leadership | None:
            views.update({node_id: self.view(node_id) for node_id in self._working_nodes()})
            return _agreed_leadership(views, after)

        try:
            return eventually(look, "all nodes know the same leader", within_s=HANG_S, every_s=_LOOK_S)
        except AssertionError as error:
            error.add_note(f"{self._failing} has a fault; the views of the others are {views}")
            raise

    def _working_nodes(self) -> list[NodeId]:
        return [node_id for node_id in self.nodes if self._failing is None or node_id != self._failing[0]]

    def view(self, node_id: NodeId) -> QuorumView | None:
        """Return what a node knows of the quorum; None if it sends no response.

        Raises:
            AssertionError: it ended.
        """
        self._require_running(node_id)
        return quorum_view_of(self.nodes[node_id].endpoint, Uuid(TOPIC_ID), self._open_wire)

    def _require_running(self, node_id: NodeId) -> None:
        node = self.nodes[node_id]
        assert node.is_running, f"{node.name}, {self.kinds[node_id].value}, ended: {node.last_output[-4000:]}"

    # Faults

    def inject(self, node_id: NodeId, fault: Fault) -> None:
        """Make a node fail; one node at a time."""
        assert self._failing is None, f"{self._failing} has a fault already"
        self._require_running(node_id)
        self._failing = (node_id, fault)
        match fault:
            case Fault.KILLED:
                self.nodes[node_id].kill()
            case Fault.SUSPENDED:
                self.nodes[node_id].suspend()
            case Fault.CONNECTIONS_RESET:
                self._network.refuse(self._directions(node_id, fault))
            case _:
                self._network.cut(self._directions(node_id, fault))

    def end_fault(self) -> None:
        """Let the node recover."""
        assert self._failing is not None, "no node has a fault"
        node_id, fault = self._failing
        self._failing = None
        match fault:
            case Fault.KILLED:
                self._start_again(node_id)
            case Fault.SUSPENDED:
                self.nodes[node_id].resume()
            case _:
                self._network.heal(self._directions(node_id, fault), delivers_late=True)

    def _directions(self, node_id: NodeId, fault: Fault) -> set[Direction]:
        """Return the directions in which a fault of the network forwards nothing."""
        others = self.nodes.keys() - {node_id}
        inbound = {(other_id, node_id) for other_id in others} if fault is not Fault.OUTBOUND_CUT else set()
        outbound = {(node_id, other_id) for other_id in others} if fault is not Fault.INBOUND_CUT else set()
        return inbound | outbound

    def _start_again(self, node_id: NodeId) -> None:
        if self.kinds[node_id] is Kind.JAVA and node_id not in self.voters:
            # An observer of Kafka's that has stored a leader, and has no voters to find its address, ends with an
            # IllegalStateException if its first request goes to that leader, of whatever kind
            # (KafkaRaftClient.handleFetchResponse). Observers do not vote, so it may lose its election state.
            (self.nodes[node_id].partition / "quorum-state").unlink()
        self.nodes[node_id].start()

    def end_when(self, look: Callable[[], bool]) -> None:
        """Suspend all nodes again and again until `look` returns true, and kill them then."""

        def look_at_suspended_nodes() -> bool:
            for node in self.nodes.values():
                node.suspend()
            is_found = look()
            for node_id, node in self.nodes.items():
                self._require_running(node_id)
                node.kill() if is_found else node.resume()
            return is_found

        eventually(look_at_suspended_nodes, "a state in which all nodes may end", within_s=HANG_S, every_s=_LOOK_S)


def _agreed_leadership(views: Mapping[NodeId, QuorumView | None], after: Epoch) -> Leadership | None:
    """Return the leader that all nodes know, once it has committed a record of an epoch higher than `after`."""
    known = {(view.epoch, view.leader_id) if view else None for view in views.values()}
    (leadership, *others) = known
    if others or leadership is None:
        return None
    epoch, leader_id = leadership
    leader = views.get(leader_id) if leader_id is not None else None
    if epoch <= after or leader_id is None or leader is None or leader.high_watermark is None:
        return None
    return Leadership(epoch, leader_id)
