"""The world of a scenario: nodes, network and clock, and the one loop that moves them.

Events go into a core, its effects are carried out in order, messages are delivered in the order they were sent. All
that takes no time; time passes only when a command says so, from deadline to deadline. What falls on the same
millisecond happens to all nodes, in the order of their ids, before any message of it is delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from raft.core.events import (
    Event,
    Failure,
    LogFlushed,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    Started,
    TimePassed,
)
from raft.types import Epoch, NodeId
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.hands import Hands
from tests.scenarios.harness.message import Exchange, Message
from tests.scenarios.harness.network import Network
from tests.scenarios.harness.node import Node
from tests.scenarios.harness.post_office import PostOffice
from tests.scenarios.harness.transcript import Detail, Transcript

_STEPS_WITHOUT_REST = 10_000


class World:
    """All nodes of one quorum at one time.

    Fields:
        now_ms: the clock, from 0.
    """

    def __init__(self, transcript: Transcript, nodes: Iterable[Node] = ()) -> None:
        self.nodes: Mapping[NodeId, Node] = {node.node_id: node for node in nodes}
        self.now_ms = 0
        self.network = Network()
        self.post_office = PostOffice(self.network, transcript, self._is_up)
        self._hands = Hands(self.post_office, transcript)
        self._transcript = transcript

    @property
    def leaders(self) -> Mapping[Epoch, list[NodeId]]:
        """Who became leader of which epoch, ever."""
        return self._hands.leaders

    def node(self, node_id: NodeId) -> Node:
        """The node of that id.

        Raises:
            ScenarioError: there is none.
        """
        if node_id not in self.nodes:
            raise ScenarioError(f"there is no node {node_id}")
        return self.nodes[node_id]

    def _is_up(self, node_id: NodeId) -> bool:
        return node_id in self.nodes and self.nodes[node_id].is_up

    # What commands do to it

    def start(self, nodes: Iterable[Node]) -> None:
        """Start nodes, all at the same moment."""
        starting = list(nodes)
        for node in starting:
            node.boot()
        for node in starting:
            self._handle(node, Started())
        self.settle()

    def happen(self, node: Node, event: Event) -> None:
        """Let an event happen to a node, and all that follows from it."""
        self._handle(node, event)
        self.settle()

    def ask(self, exchange: Exchange) -> None:
        """Put a request made by hand to a node; its answer is told, whenever it comes."""
        node = self.node(exchange.asked)
        self.happen(node, RequestReceived(request_id=self.post_office.open(exchange), request=exchange.request))

    def fail(self, message: Message, failure: Failure) -> None:
        """Let a request fail: its sender hears that there will be no answer."""
        self.post_office.drop(message, self.now_ms, f"failed: {failure.value}")
        exchange = message.exchange
        asker = self.node(exchange.asker)
        if exchange.number is not None and asker.waits_for(exchange):
            self.happen(asker, RequestFailed(number=exchange.number, failure=failure))

    def wait(self, until_ms: int, is_reached: Callable[[], bool]) -> None:
        """Let time pass until then, or until something is reached, from deadline to deadline.

        Raises:
            ScenarioError: a node asks to be woken at a time that is over, for ever.
        """
        while not is_reached():
            due_ms = self._next_deadline_ms()
            if due_ms is None or due_ms > until_ms:
                self.now_ms = until_ms
                return
            self.now_ms = due_ms
            for node in self.nodes.values():
                if node.deadline_ms is not None and node.deadline_ms <= self.now_ms:
                    self._handle(node, TimePassed())
            self.settle()
            next_ms = self._next_deadline_ms()
            if next_ms is not None and next_ms <= self.now_ms:
                raise ScenarioError(f"at {self.now_ms} ms a node asks to be woken again and again")

    def _next_deadline_ms(self) -> int | None:
        deadlines_ms = [node.deadline_ms for node in self.nodes.values() if node.deadline_ms is not None]
        return min(deadlines_ms, default=None)

    def settle(self) -> None:
        """Finish flushes and deliver messages until nothing is left to do without time passing.

        Raises:
            ScenarioError: the nodes keep each other busy for ever.
        """
        for _ in range(_STEPS_WITHOUT_REST):
            if not (self._flush_one() or self._deliver_one()):
                return
        raise ScenarioError(f"at {self.now_ms} ms the nodes never come to rest")

    def flush(self, node: Node) -> None:
        """Finish the flushes that a node has ordered; the newest answers for all."""
        order = node.flushes[-1]
        node.flushes.clear()
        node.disk.flush(order.end_offset)
        self._handle(node, LogFlushed(number=order.number, end_offset=order.end_offset))

    # How it moves

    def _flush_one(self) -> bool:
        for node in self.nodes.values():
            if node.flushes and not node.is_flush_delayed:
                self.flush(node)
                return True
        return False

    def _deliver_one(self) -> bool:
        if not self.network.carried:
            return False
        message = self.network.carried.popleft()
        exchange, receiver = message.exchange, self.node(message.receiver)
        if not receiver.is_up:
            self.post_office.drop(message, self.now_ms, "lost: its receiver has stopped")
        elif message.response is None:
            self._handle(
                receiver, RequestReceived(request_id=self.post_office.open(exchange), request=exchange.request)
            )
        elif exchange.number is not None and receiver.waits_for(exchange):
            self._handle(receiver, ResponseReceived(number=exchange.number, response=message.response))
        return True

    def _handle(self, node: Node, event: Event) -> None:
        core = node.core
        known_before = core.high_watermark
        for effect in core.handle(event, self.now_ms):
            self._hands.carry_out(node, effect, self.now_ms)
        if node.is_up and core.high_watermark != known_before:
            known = "unknown" if core.high_watermark is None else core.high_watermark
            self._transcript.tell(self.now_ms, Detail.EVERYTHING, f"{node.node_id}: high watermark {known}")
