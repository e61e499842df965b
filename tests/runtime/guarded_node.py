"""A leader without other voters, and what it does with the requests of callers whose names it knows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from raft.codec import Message
from raft.config import ClientListener, NodeConfig
from raft.runtime.admissions import Admissions
from raft.runtime.caller import ANONYMOUS, Caller
from raft.runtime.fault_log import FaultLog
from raft.runtime.requests.context import Context
from raft.runtime.requests.handle import handle
from raft.runtime.response_budget import ResponseBudget
from raft.security.rules import Rules
from raft.security.sasl_session import SaslSession
from raft.types import Endpoint, NodeId
from raft.wire.apis import api_of
from raft.wire.frames import ReceivedRequest, decode_request, decode_response, encode_request, encode_response
from raft.wire.mapping.partition import TopicPartition
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.requests import TOPIC_ID
from tests.runtime.one_voter import OneVoter
from tests.runtime.recorded_response import RecordedResponse

FOR_VOTERS = Endpoint("localhost", 9093, "CONTROLLER")
FOR_CLIENTS = Endpoint("localhost", 9094, "CLIENT")
ADDRESS = "192.0.2.1"
FAILURE_DELAY_MS = 250

_PROPERTIES = {
    "node.id": "1",
    "cluster.id": CLUSTER_ID,
    "listeners": f"{FOR_VOTERS.name}://{FOR_VOTERS},{FOR_CLIENTS.name}://{FOR_CLIENTS}",
    "controller.listener.names": FOR_VOTERS.name,
    "controller.quorum.voters": "1@one:9093,2@two:9093,3@three:9093",
    "log.dirs": "unused",
    "connection.failed.authentication.delay.ms": str(FAILURE_DELAY_MS),
}
"""The core has one voter; the rules of requests know three."""

Result = TypeVar("Result")


class NoRelay:
    """The relay of a node that leads."""

    def ask(
        self,
        leader: Endpoint,
        request: Message,
        version: int,
        *,
        on_response: Callable[[Message], None],
        otherwise: Callable[[], None],
    ) -> None:
        """See `Relay.ask`."""
        raise AssertionError("this node leads")


class NoWorker:
    """The worker of a node that receives small batches only."""

    def run(self, work: Callable[[], Result], done: Callable[[Callable[[], Result], float], None]) -> None:
        """See `Worker.run`."""
        raise AssertionError("small batches are checked at once")

    def close(self) -> None:
        """See `Worker.close`."""


class Addresses:
    """Voter 2 has an address; those of the others are not known."""

    def has(self, node_id: NodeId, address: str) -> bool:
        """See `VoterAddresses.has`."""
        return node_id == 2 and address == ADDRESS


class GuardedNode:
    """A node with rules.

    Args:
        rules: in TOML; None for none.
        super_users: see `Rules`.
        verifies_addresses: see `raft.voters.verify.address`.
        response_bytes: limit of the `ResponseBudget`.

    Attributes:
        voter: the node without its request handlers.
        context: what its handlers use.
        rules: as they are now.
    """

    def __init__(
        self,
        rules: str | None,
        *,
        super_users: frozenset[str] = frozenset(),
        verifies_addresses: bool = False,
        response_bytes: int = 1 << 30,
    ) -> None:
        self.voter = OneVoter()
        self.settle()
        self.rules = Rules.parse(rules or "", super_users=super_users)
        config = NodeConfig.from_properties(_PROPERTIES)
        (self._for_clients,) = config.client_listeners
        numbers = count()
        self.context = Context(
            config=config,
            cluster_id=CLUSTER_ID,
            ours=TopicPartition(topic_name=TOPIC, topic_id=TOPIC_ID),
            engine=self.voter.engine,
            disk=self.voter.disk,
            scheduler=self.voter.scheduler,
            admissions=Admissions(NoWorker()),
            responses=ResponseBudget(response_bytes),
            relay=NoRelay(),
            refusals=FaultLog(logging.getLogger(__name__), self.voter.scheduler.now_ms),
            rules=None if rules is None else lambda: self.rules,
            voter_addresses=Addresses() if verifies_addresses else None,
            draw=lambda _n: next(numbers),
        )

    def change_rules(self, rules: str) -> None:
        """Replace the rules, as a node does that has read its file again."""
        self.rules = Rules.parse(rules, super_users=self.rules.super_users)

    def caller(
        self, principal: str = ANONYMOUS, *, is_for_clients: bool = False, sasl: SaslSession | None = None
    ) -> Caller:
        """Return the other side of a connection."""
        for_clients: ClientListener | None = self._for_clients if is_for_clients else None
        listener = FOR_CLIENTS if is_for_clients else FOR_VOTERS
        return Caller(listener, for_clients, ADDRESS, principal, sasl)

    def settle(self) -> None:
        """Do everything that comes up now."""
        for _ in range(3):  # The end of a flush is an event of the next turn.
            self.voter.wait(0)

    def begin(self, caller: Caller | str, request: Message, version: int) -> RecordedResponse:
        """Let a caller send a request, do what comes up now, and return what becomes of it. No time passes.

        Args:
            caller: the other side of the connection; or the principal of a new one.
            request: as it is sent.
            version: of the request.
        """
        recorded = self.send(caller, request, version)
        self.settle()
        return recorded

    def send(self, caller: Caller | str, request: Message, version: int) -> RecordedResponse:
        """Let a caller send a request; see `begin`. What the disk does for it waits."""
        frame = encode_request(request, version, correlation_id=7, client_id="test")
        received = decode_request(frame[4:])
        assert isinstance(received, ReceivedRequest), "the node serves this version"
        recorded = RecordedResponse(
            self.caller(caller) if isinstance(caller, str) else caller,
            received.message,
            received.header.request_api_version,
            received.header.client_id,
        )
        handle(self.context, recorded)
        return recorded

    def ask(self, caller: Caller | str, request: Message, version: int) -> Message:
        """Let a caller send a request, and return the only response, as the caller decodes it; see `begin`."""
        respond = self.begin(caller, request, version)
        assert respond.closed is None, "the connection stays open"
        (response,) = respond.sent
        assert response is not None, "the caller expects a response"
        frame = encode_response(response, version, correlation_id=7)
        _, decoded = decode_response(frame[4:], api_of(request), version)
        message: Message = decoded
        return message
