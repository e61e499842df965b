"""Requests of nodes to nodes, and the answers to them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from raft.core.effects import Send
from raft.core.events import Failure, RequestFailed, ResponseReceived
from raft.core.messages import AppendResponse, FetchResponse, FetchSnapshotRequest, Response
from raft.records.split import split_good_prefix
from raft.types import Endpoint, NodeId
from tests.simulation.dice import Dice
from tests.simulation.machine import Machine
from tests.simulation.network import Network
from tests.simulation.process import Process
from tests.simulation.sightings import Sight, Sightings

_REFUSED_PERCENT = 70
"""How often one hears of it when nobody listens; else there is silence, as from a machine without power."""

_REMEMBERED = 200


@dataclass(slots=True, eq=False)
class _Exchange:
    """A request under way. `is_open` until its sender has heard what became of it."""

    sender: Process
    receiver: Machine
    order: Send
    is_open: bool = True


class PostOffice:
    """Brings requests to nodes and answers back, over a network that loses, delays and repeats them.

    Answers find only the very life that asked: connections end with the process.

    Attributes:
        machines: who listens where; filled by the world when it has made them.
    """

    def __init__(self, network: Network, *, dice: Dice, sightings: Sightings) -> None:
        self.machines: Mapping[Endpoint, Machine] = {}
        self._network = network
        self._dice = dice
        self._sightings = sightings
        # Of the many that are never answered only the newest can matter: their senders have given up the others.
        self._exchanges: deque[_Exchange] = deque(maxlen=_REMEMBERED)

    def send(self, sender: Process, order: Send) -> None:
        """See `Outbox.send`."""
        exchange = _Exchange(sender, self.machines[order.endpoint], order)
        self._exchanges.append(exchange)
        self._network.carry(
            sender.machine.node_id, exchange.receiver.node_id, lambda: self._deliver(exchange), may_repeat=True
        )

    def disconnect(self, sender: Process, node_id: NodeId) -> None:
        """See `Outbox.disconnect`."""
        for exchange in self._open_exchanges():
            if exchange.sender is sender and exchange.order.node_id == node_id:
                self._fail(exchange)

    def reset(self, one: NodeId, other: NodeId) -> None:
        """Break the connections between two nodes: requests on them fail, answers on them are lost."""
        for exchange in self._open_exchanges():
            if {exchange.sender.machine.node_id, exchange.receiver.node_id} == {one, other}:
                self._sightings.count(Sight.CONNECTION_RESET)
                self._fail(exchange)

    def _open_exchanges(self) -> list[_Exchange]:
        return [exchange for exchange in self._exchanges if exchange.is_open and not exchange.sender.is_over]

    def _deliver(self, exchange: _Exchange) -> None:
        receiver, request = exchange.receiver, exchange.order.request
        assert not isinstance(request, FetchSnapshotRequest), "nobody here has snapshots to give"
        if receiver.process is not None:
            receiver.process.receive(request, lambda response, records: self._answer(exchange, response, records))
        elif self._dice.chance(_REFUSED_PERCENT):
            self._network.carry(receiver.node_id, exchange.sender.machine.node_id, lambda: self._fail(exchange))

    def _answer(self, exchange: _Exchange, response: Response | AppendResponse, records: bytes) -> None:
        assert not isinstance(response, AppendResponse), "nodes do not append to each other"
        answer = response
        if isinstance(response, FetchResponse):
            answer = replace(response, batches=split_good_prefix(records).batches)
        self._network.carry(
            exchange.receiver.node_id, exchange.sender.machine.node_id, lambda: self._bring_back(exchange, answer)
        )

    def _bring_back(self, exchange: _Exchange, answer: Response) -> None:
        if exchange.is_open:
            exchange.is_open = False
            exchange.sender.submit(ResponseReceived(number=exchange.order.number, response=answer))

    def _fail(self, exchange: _Exchange) -> None:
        if exchange.is_open:
            exchange.is_open = False
            exchange.sender.submit(RequestFailed(number=exchange.order.number, failure=Failure.DISCONNECTED))
