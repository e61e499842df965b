"""Passes requests to the handlers of a secured node, and reports what becomes of them.

Nodes and Kafka's clients do not authenticate by themselves in the simulator. Their connections are authenticated here
before the first request is handled, by the messages that the product's client sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from raft.codec import Message
from raft.errors import AuthenticationError
from raft.runtime.drop_cause import DropCause
from raft.runtime.request import Request
from raft.runtime.requests.handle import handle
from raft.runtime.response_budget import Permit
from raft.wire.apis import api_of
from raft.wire.frames import ReceivedRequest, decode_request, decode_response, encode_request, encode_response
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.sasl_exchange import SaslExchange
from tests.simulation.accepted import AcceptedConnection
from tests.simulation.dice import Dice
from tests.simulation.marks import Mark
from tests.simulation.round_trip import PostedRequest
from tests.simulation.security.guarded_request import GuardedRequest
from tests.simulation.security.mechanisms import SCRAM

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.process import Process
    from tests.simulation.security.access import AccessControl
    from tests.simulation.security.identity import Identity

_USED_PART_OF_SESSION = 0.85
_CORRELATION_ID = 5
_SIZE_BYTES = 4


class _Proof:
    """A message of SASL; see `raft.runtime.request.Request`."""

    client_id = None

    def __init__(self, guard: Guard, guarded: GuardedRequest) -> None:
        self.caller = guarded.connection.caller
        self.message = guarded.message
        self.version = guarded.version
        self.response: Message | None = None
        self._guard = guard
        self._guarded = guarded

    def respond(self, response: Message | None, permit: Permit | None = None) -> None:
        """See `Request.respond`."""
        self._guard.responded(self._guarded, response)
        self.response = response

    def when_gone(self, forget: object) -> None:
        """See `Request.when_gone`."""

    def charge(self, used_s: float) -> None:
        """See `Request.charge`."""

    def mark_as_from_peer(self) -> None:
        """See `Request.mark_as_from_peer`."""

    def hang_up(self, reason: str, cause: DropCause) -> None:
        """See `Request.hang_up`."""
        self._guard.ended(self._guarded, cause)

    def end(self, response: Message | None, reason: str, cause: DropCause) -> None:
        """See `Request.end`."""
        if response is not None:
            self.respond(response)
        self._guard.ended(self._guarded, cause)

    def fail(self, error: Exception) -> None:
        """See `Request.fail`."""
        self._guard.failed(error)


class Guard:
    """Handles the requests of one process.

    Args:
        process: the process.
        environment: the parts that all machines share.
        access: the users of the run.
    """

    def __init__(self, process: Process, environment: Environment, access: AccessControl) -> None:
        self._process = process
        self._timeline = environment.timeline
        self._watch = environment.watch
        self._marks = environment.marks
        self._access = access
        plan = environment.plan
        self._broken_percent = plan.security.broken_percent
        self._dice = Dice(plan.seed, f"proofs at {process.machine} {process.machine.incarnation}")

    def handle(self, connection: AcceptedConnection, received: ReceivedRequest, posted: PostedRequest) -> None:
        """Handle a request, after its connection was authenticated if it does not do that itself."""
        connection.under_way[posted] = None
        if not connection.is_open_at(self._process.machine):
            # It has ended since the request was received.
            connection.end()
        elif connection.identity is None or self._is_authenticated(connection, connection.identity):
            self._pass_on(connection, received, posted.respond_to)

    def responded(self, guarded: GuardedRequest, response: Message | None) -> None:
        """Report the response to a request."""
        self._watch.response_given(self._process.machine, guarded, response)

    def ended(self, guarded: GuardedRequest, cause: DropCause) -> None:
        """Report that a request has ended its connection, and end it."""
        self._watch.connection_ended(self._process.machine, guarded, cause)
        guarded.connection.end()

    def failed(self, error: Exception) -> None:
        """Report an unexpected error."""
        self._process.machine.failed(error)

    def _pass_on(
        self,
        connection: AcceptedConnection,
        received: ReceivedRequest,
        respond_to: Callable[[Guard, GuardedRequest], Request[Message]],
    ) -> None:
        process, message, version = self._process, received.message, received.header.request_api_version
        machine, context = process.machine, process.context
        assert connection.expected is not None, "the plan is secured"
        guarded = GuardedRequest(
            connection=connection,
            message=message,
            version=version,
            expected=connection.expected.expect(message, version, context.scheduler.now_ms()),
        )
        self._watch.request_received(machine, guarded)
        process.engine.guarded = guarded
        handle(context, respond_to(self, guarded))
        process.engine.guarded = None
        self._watch.request_passed(machine, guarded)

    def _is_authenticated(self, connection: AcceptedConnection, identity: Identity) -> bool:
        """Authenticate a connection if that is due; return whether its requests can be handled."""
        assert connection.expected is not None, "the plan is secured"
        if connection.expected.is_new:
            return self._prove(connection, identity)
        if not connection.expected.is_proved:
            return False  # It is about to end.
        lifetime_ms = connection.lifetime_ms
        if lifetime_ms is None or (connection.is_forgetful and self._access.has_faults):
            return True
        used_ms = self._timeline.now_ms - connection.authenticated_ms
        return used_ms < lifetime_ms * _USED_PART_OF_SESSION or self._prove(connection, identity)

    def _prove(self, connection: AcceptedConnection, identity: Identity) -> bool:
        """Prove the name of a user; return whether the node accepts it. If not, the connection ends, now or soon."""
        exchange = SaslExchange(identity.authenticator())
        request: SaslHandshakeRequest | SaslAuthenticateRequest | None = exchange.first_request
        tokens: list[bytes] = []
        while request is not None:
            if self._access.has_faults and self._dice.chance(self._broken_percent):
                self._marks.count(Mark.AUTHENTICATION_INTERRUPTED)
                connection.end()
                return False
            response = self._ask(connection, request)
            if response is None:
                return False
            try:
                request = exchange.next_request(response)
            except AuthenticationError:
                connection.end()
                return False
            if request is not None:
                tokens.append(request.auth_bytes)
        connection.authenticated_ms, connection.lifetime_ms = self._timeline.now_ms, exchange.session_lifetime_ms
        if identity.mechanism == SCRAM:
            self._access.overheard[identity.user] = tokens
        return True

    def _ask(
        self, connection: AcceptedConnection, request: SaslHandshakeRequest | SaslAuthenticateRequest
    ) -> SaslHandshakeResponse | SaslAuthenticateResponse | None:
        """Send a message of SASL; return the response, as bytes on the wire say it, or None if there is none now."""
        api = api_of(request)
        version = api.versions.highest
        frame = encode_request(request, version, correlation_id=_CORRELATION_ID, client_id=None)[_SIZE_BYTES:]
        received = decode_request(frame)
        assert isinstance(received, ReceivedRequest), "a version that is served"
        proofs: list[_Proof] = []

        def respond_to(guard: Guard, guarded: GuardedRequest) -> Request[Message]:
            proofs.append(_Proof(guard, guarded))
            return proofs[0]

        self._pass_on(connection, received, respond_to)
        response = proofs[0].response
        if response is None:
            return None
        answer = encode_response(response, version, correlation_id=_CORRELATION_ID)[_SIZE_BYTES:]
        message = decode_response(answer, api, version)[1]
        assert isinstance(message, SaslHandshakeResponse | SaslAuthenticateResponse), "the response to SASL"
        return message
