"""Where messages are handed in: it knows whom each answer belongs to, and tells what goes over the network."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from raft.core.messages import Response
from raft.types import NodeId
from tests.scenarios.harness import words
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.message import Exchange, Kind, Message
from tests.scenarios.harness.network import Fate, Network
from tests.scenarios.harness.pattern import Pattern
from tests.scenarios.harness.transcript import Detail, Transcript


class PostOffice:
    """Requests and answers between nodes.

    Args:
        network: what carries them.
        transcript: where they are told.
        is_up: whether a node runs; what goes to one that does not is lost.
    """

    def __init__(self, network: Network, transcript: Transcript, is_up: Callable[[NodeId], bool]) -> None:
        self.network = network
        self._transcript = transcript
        self._is_up = is_up
        self._request_ids = count()
        self._open: dict[int, Exchange] = {}

    def new_request_id(self) -> int:
        """A number for a request that no node sent."""
        return next(self._request_ids)

    def open(self, exchange: Exchange) -> int:
        """A request has reached the node that is asked; return the number its answer will carry."""
        request_id = self.new_request_id()
        self._open[request_id] = exchange
        return request_id

    def send(self, exchange: Exchange, now_ms: int) -> None:
        """Hand in a request."""
        self._hand_in(Message(exchange=exchange), now_ms)

    def answer(self, request_id: int, response: Response, now_ms: int) -> None:
        """Hand in the answer to an open request. One made by hand has no asker: its answer is only told."""
        message = Message(exchange=self._open.pop(request_id), response=response)
        if message.exchange.number is None:
            self._tell(message, "", now_ms, Detail.ROLES)
        else:
            self._hand_in(message, now_ms)

    def take_held(self, pattern: Pattern) -> list[Message]:
        """Remove and return held messages.

        Raises:
            ScenarioError: none is meant by the pattern.
        """
        messages = self.network.take_held(pattern)
        if not messages:
            raise ScenarioError("no such message is held")
        return messages

    def hand_on(self, message: Message, now_ms: int) -> None:
        """Let a message that was held go on its way, if there still is one."""
        is_carried = self._is_up(message.receiver) and self.network.is_passable(message)
        if is_carried:
            self.network.carried.append(message)
        self._tell(message, " (delivered)" if is_carried else " (lost)", now_ms)

    def drop(self, message: Message, now_ms: int, why: str) -> None:
        """Tell that a message that was held is gone."""
        self._tell(message, f" ({why})", now_ms)

    def _hand_in(self, message: Message, now_ms: int) -> None:
        fate = self.network.send(message) if self._is_up(message.receiver) else Fate.LOST
        self._tell(message, fate.value, now_ms)

    def _tell(self, message: Message, fate: str, now_ms: int, detail: Detail | None = None) -> None:
        if detail is None:
            detail = Detail.EVERYTHING if message.exchange.kind is Kind.FETCH else Detail.ELECTIONS
        text = f"{message.sender} -> {message.receiver}: {words.of_message(message)}{fate}"
        self._transcript.tell(now_ms, detail, text)
