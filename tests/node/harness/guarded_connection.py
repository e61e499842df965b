"""A connection to a listener with SASL whose bytes a test chooses, to a node without sockets on a fake clock."""

from __future__ import annotations

from functools import partial

from raft.codec import Message
from raft.config.listener_security import ListenerSecurity
from raft.config.security import SecurityProtocol
from raft.node.gate import Gate
from raft.node.inbound import InboundConnection
from raft.node.service import Service
from raft.runtime.requests.handle import handle
from raft.runtime.requests.versions import unsupported_api_versions
from raft.runtime.response_budget import ResponseBudget
from raft.runtime.turns import Turns
from raft.wire.apis import SASL_AUTHENTICATE
from raft.wire.frames import decode_response, encode_request
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from tests.node.harness.inbound import Shared, Socket
from tests.node.harness.keys import SCRAM, Keys, proof
from tests.node.harness.turns import TurnsOnDemand
from tests.runtime.guarded_node import FOR_VOTERS, GuardedNode

MAX_FRAME_BYTES = 10 << 20


class GuardedConnection:
    """One connection.

    Args:
        keys: of the quorum.
        request_bytes: limit of the requests of all connections.
        turns: in which the connection is served; None for turns that come at once.

    Attributes:
        node: that it is connected to.
        shared: what the connections of the node share.
        socket: of the node.
        inbound: the connection as the node has it.
    """

    def __init__(self, keys: Keys, *, request_bytes: int = 1 << 30, turns: Turns | None = None) -> None:
        self.node = GuardedNode(None)
        self.shared = Shared(request_bytes=request_bytes)
        self._own_turns = TurnsOnDemand(self.node.settle)
        self.socket = Socket()
        security = ListenerSecurity(
            protocol=SecurityProtocol.SASL_PLAINTEXT,
            mechanisms=(SCRAM,),
            credentials_file=str(keys.credentials_file),
        )
        service = Service(
            max_frame_bytes=MAX_FRAME_BYTES,
            requests=self.shared.requests,
            large_frames=self.shared.large_frames,
            responses=ResponseBudget(1 << 30),
            handle=partial(handle, self.node.context),
            unsupported=unsupported_api_versions,
            registry=self.shared,
            errors=self.shared.errors,
            turns=turns or self._own_turns.turns,
        )
        self.inbound = InboundConnection(service, Gate(FOR_VOTERS, None, security, self.node.context.count))
        self.inbound.connection_made(self.socket)

    def receive(self, data: bytes) -> None:
        """Let the node receive bytes, and do everything that comes up."""
        self.inbound.data_received(data)
        self._own_turns.run()
        self.node.settle()

    def send(self, request: Message, version: int, *, times: int = 1) -> None:
        """Let the node receive a request so many times, all in one read."""
        self.receive(encode_request(request, version, correlation_id=1, client_id="test") * times)

    def prove(self) -> None:
        """Prove a name."""
        mine = proof("alice")
        self.send(SaslHandshakeRequest(mechanism=SCRAM), 1)
        token = mine.respond(b"")
        while token is not None:
            self.send(SaslAuthenticateRequest(auth_bytes=token), 2)
            _, response = decode_response(self.socket.frames()[-1], SASL_AUTHENTICATE, 2)
            token = mine.respond(response.auth_bytes)
        assert self.inbound.caller.is_authenticated
