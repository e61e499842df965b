"""How a client reaches the quorum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raft.core.messages import AppendResponse, ClientFetchRequest, FetchResponse, Response
from raft.types import Batch, NodeId
from tests.simulation.dice import Dice
from tests.simulation.machine import Machine
from tests.simulation.network import Address, Network
from tests.simulation.process import Process
from tests.simulation.step import Respond


class Caller:
    """Asks the node that was last named leader, or any. Answers come whenever they come, or never, or twice.

    Args:
        address: the client's, below 0.
        machines: whom it may ask.
    """

    def __init__(self, address: Address, machines: Sequence[Machine], network: Network, dice: Dice) -> None:
        self.address = address
        self._machines = {machine.node_id: machine for machine in machines}
        self._network = network
        self._dice = dice
        self._hint: NodeId | None = None
        self._last: NodeId | None = None

    def believe(self, leader_id: NodeId | None) -> None:
        """Ask this node next, if it is one."""
        self._hint = leader_id if leader_id in self._machines else None

    def stay(self) -> None:
        """Ask the node that was asked last."""
        self._hint = self._last

    def append(self, batch: Batch, timeout_ms: int, answered: Callable[[AppendResponse], None]) -> None:
        """Ask for an append."""

        def on_answer(response: Response | AppendResponse, _records: bytes) -> None:
            assert isinstance(response, AppendResponse), "the answer to an append"
            answered(response)

        self._call(lambda process, respond: process.append(batch, timeout_ms, respond), on_answer)

    def fetch(self, request: ClientFetchRequest, answered: Callable[[FetchResponse, bytes], None]) -> None:
        """Ask for committed records."""

        def on_answer(response: Response | AppendResponse, records: bytes) -> None:
            assert isinstance(response, FetchResponse), "the answer to a fetch"
            answered(response, records)

        self._call(lambda process, respond: process.receive(request, respond), on_answer)

    def _call(self, hand_over: Callable[[Process, Respond], object], on_answer: Respond) -> None:
        machine = self._machines[self._dice.pick([*self._machines]) if self._hint is None else self._hint]
        self._last = machine.node_id

        def respond(response: Response | AppendResponse, records: bytes) -> None:
            self._network.carry(machine.node_id, self.address, lambda: on_answer(response, records))

        def deliver() -> None:
            # From a machine that is down there is no answer: the client runs out of patience.
            if machine.process is not None:
                hand_over(machine.process, respond)

        self._network.carry(self.address, machine.node_id, deliver, may_repeat=True)
