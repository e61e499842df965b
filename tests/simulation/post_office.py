"""Requests of nodes to nodes, and the answers to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from raft.core.effects import Send
from raft.core.events import Failure, RequestFailed, ResponseReceived
from raft.core.messages import AppendResponse, FetchResponse, FetchSnapshotRequest, IncomingResponse, Request, Response
from raft.core.roles import Role
from raft.records.split import split_good_prefix
from raft.types import Endpoint, NodeId
from tests.simulation.connections import Connection, Lane
from tests.simulation.dice import Dice
from tests.simulation.machine import Machine
from tests.simulation.network import Network
from tests.simulation.process import Process
from tests.simulation.sightings import Sight, Sightings
from tests.simulation.wire import Wire

_REFUSED_PERCENT = 70
"""How often one hears of it when nobody listens; else there is silence, as from a machine without power."""

_REMEMBERED = 200


@dataclass(slots=True, eq=False)
class _Exchange:
    """A request under way.

    Fields:
        sender: the life that asked.
        asked_as: its role when it did.
        receiver: whose address it was sent to; None for one that nobody has.
        order: what was asked.
        request: the same as it arrives.
        version: in which it travels as bytes; None for the object itself.
        waits_at: the life that it waits at for an answer, and the number by which that knows it; None until it has
            come there.
        is_open: until its sender has heard what became of it.
    """

    sender: Process
    asked_as: Role
    receiver: Machine | None
    order: Send
    request: Request
    version: int | None = None
    waits_at: tuple[Process, int] | None = None
    is_open: bool = True


class PostOffice:
    """Brings requests to nodes and answers back, over a network that loses, delays and repeats them.

    Answers find only the very life that asked: connections end with the process.

    Attributes:
        machines: who listens where; filled by the world when it has made them.
    """

    def __init__(self, network: Network, wire: Wire, *, dice: Dice, sightings: Sightings) -> None:
        self.machines: Mapping[Endpoint, Machine] = {}
        self._network = network
        self._wire = wire
        self._dice = dice
        self._sightings = sightings
        # Of the many that are never answered only the newest can matter: their senders have given up the others.
        self._exchanges: deque[_Exchange] = deque(maxlen=_REMEMBERED)
        self._lost_connections: set[Connection] = set()
        self._misdirected: dict[NodeId, Machine] = {}
        self._refusing: set[tuple[NodeId, NodeId]] = set()

    def calm_down(self) -> None:
        """Let all nodes be of our version, and every address lead to its node, from now on.

        Connections that lead nowhere go on doing so: it is for the nodes to find that out.
        """
        self._wire.old_nodes = ()
        self._misdirected.clear()
        self._refusing.clear()

    def send(self, sender: Process, order: Send) -> None:
        """See `Outbox.send`."""
        assert not isinstance(order.request, FetchSnapshotRequest), "nobody here has snapshots to give"
        receiver = self.machines.get(order.endpoint)
        if receiver is not None:
            receiver = self._misdirected.get(receiver.node_id, receiver)
        exchange = _Exchange(sender, sender.core.role, receiver, order, order.request)
        self._exchanges.append(exchange)
        if Connection(sender.machine.node_id, order.node_id, Lane.of(order.request)) in self._lost_connections:
            self._sightings.count(Sight.SENT_INTO_THE_VOID)
        elif receiver is None:
            self._sightings.count(Sight.SENT_TO_DEAD_ADDRESS)
            self._turn_away(exchange)
        elif (sender.machine.node_id, receiver.node_id) in self._refusing:
            self._sightings.count(Sight.CONNECTION_REFUSED_BY_FIREWALL)
            self._refuse(exchange)
        elif self._translate(exchange, receiver):
            self._network.carry(
                sender.machine.node_id, receiver.node_id, lambda: self._deliver(exchange, receiver), may_repeat=True
            )

    def disconnect(self, sender: Process, node_id: NodeId) -> None:
        """See `Outbox.disconnect`."""
        self._end_lost_connections(sender.machine.node_id, node_id)
        for exchange in self._open_exchanges():
            if exchange.sender is sender and exchange.order.node_id == node_id:
                self._fail(exchange)

    def reset(self, one: NodeId, other: NodeId) -> None:
        """Break the connections between two nodes: requests on them fail, answers on them are lost."""
        self._end_lost_connections(one, other)
        self._end_lost_connections(other, one)
        for exchange in self._open_exchanges():
            if {exchange.sender.machine.node_id, exchange.order.node_id} == {one, other}:
                self._sightings.count(Sight.CONNECTION_RESET)
                self._fail(exchange)

    def lose(self, connection: Connection) -> None:
        """Let a connection lead nowhere until its sender drops it."""
        self._lost_connections.add(connection)

    def forget_connections(self, node_id: NodeId) -> None:
        """A process has ended, and all its connections with it."""
        self._lost_connections = {lost for lost in self._lost_connections if lost.sender != node_id}

    def misdirect(self, meant: NodeId, found: Machine) -> None:
        """Let the address of a node lead to another."""
        self._misdirected[meant] = found

    def direct(self, meant: NodeId) -> None:
        """Let it lead to the right one again."""
        self._misdirected.pop(meant, None)

    def refuse(self, sender: NodeId, receiver: NodeId) -> None:
        """Refuse the connections of one node to another, as a firewall between them does."""
        self._refusing.add((sender, receiver))

    def admit(self, sender: NodeId, receiver: NodeId) -> None:
        """Let them through again."""
        self._refusing.discard((sender, receiver))

    def _end_lost_connections(self, sender: NodeId, receiver: NodeId) -> None:
        for lane in Lane:
            lost = Connection(sender, receiver, lane)
            if lost in self._lost_connections:
                self._lost_connections.remove(lost)
                self._sightings.count(Sight.CONNECTION_MADE_ANEW)

    def _open_exchanges(self) -> list[_Exchange]:
        return [exchange for exchange in self._exchanges if exchange.is_open and not exchange.sender.is_over]

    def _translate(self, exchange: _Exchange, receiver: Machine) -> bool:
        """Make the request what the receiver will see of it; return whether there is a version that can say it."""
        wire, request = self._wire, exchange.request
        one, other = exchange.sender.machine.node_id, receiver.node_id
        if not wire.translates(one, other):
            return True
        exchange.version = wire.version_between(one, other, request)
        arrives = wire.bring(request, exchange.version)
        if arrives is None:
            self._sightings.count(Sight.OLD_PEER_CANNOT_PRE_VOTE)
            self._network.carry(one, one, lambda: self._fail(exchange, Failure.UNSUPPORTED_VERSION))
            return False
        self._sightings.count(Sight.SPOKE_BYTES)
        exchange.request = arrives
        return True

    def _deliver(self, exchange: _Exchange, receiver: Machine) -> None:
        process = receiver.process
        if process is not None:
            request_id = process.receive(
                exchange.request, lambda response, records: self._answer(exchange, receiver, response, records)
            )
            exchange.waits_at = process, request_id
        else:
            self._turn_away(exchange)

    def _turn_away(self, exchange: _Exchange) -> None:
        """Nobody listens there: the sender hears of it, or does not."""
        if self._dice.chance(_REFUSED_PERCENT):
            self._refuse(exchange)

    def _refuse(self, exchange: _Exchange) -> None:
        self._network.carry(
            exchange.order.node_id,
            exchange.sender.machine.node_id,
            lambda: self._fail(exchange, Failure.CONNECTION_REFUSED),
        )

    def _answer(
        self, exchange: _Exchange, receiver: Machine, response: Response | AppendResponse, records: bytes
    ) -> None:
        assert not isinstance(response, AppendResponse), "nodes do not append to each other"
        if records:
            records = self._network.damaged(records)
        if exchange.version is not None:
            answer: IncomingResponse = self._wire.bring_back(exchange.request, response, records, exchange.version)
        elif isinstance(response, FetchResponse):
            prefix = split_good_prefix(records)
            damage = None if prefix.damage is None else str(prefix.damage)
            answer = replace(response, batches=prefix.batches, damage=damage)
        else:
            answer = response
        self._network.carry(
            receiver.node_id, exchange.sender.machine.node_id, lambda: self._bring_back(exchange, answer)
        )

    def _bring_back(self, exchange: _Exchange, answer: IncomingResponse) -> None:
        if exchange.is_open:
            exchange.is_open = False
            sender = exchange.sender
            self._sightings.count(Sight.LATE_ANSWER, type(sender.core.role) is not type(exchange.asked_as))
            sender.submit(ResponseReceived(number=exchange.order.number, response=answer))

    def _fail(self, exchange: _Exchange, failure: Failure = Failure.DISCONNECTED) -> None:
        if exchange.is_open:
            exchange.is_open = False
            self._hang_up(exchange)
            exchange.sender.submit(RequestFailed(number=exchange.order.number, failure=failure))

    def _hang_up(self, exchange: _Exchange) -> None:
        """Let whoever was asked know that nobody waits any more: it sees the connection end, sooner or later."""
        if exchange.waits_at is not None:
            process, request_id = exchange.waits_at
            self._network.carry(
                exchange.sender.machine.node_id, process.machine.node_id, lambda: process.abandon(request_id)
            )
