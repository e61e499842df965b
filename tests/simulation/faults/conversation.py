"""The requests of one intruder on one connection."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from raft.codec import Message
from raft.errors import AuthenticationError
from raft.types import Endpoint
from raft.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE, api_of
from raft.wire.frames import decode_response, encode_request
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from raft.wire.protection import Authenticator
from raft.wire.sasl_exchange import SaslExchange
from tests.simulation.accepted import ClientConnection
from tests.simulation.faults.intruder_requests import Draft
from tests.simulation.message import Address
from tests.simulation.post_office import PostOffice
from tests.simulation.timeline import Timeline

_CORRELATION_ID = 3


@dataclass(frozen=True, slots=True)
class Pause:
    """Send nothing for some time."""

    duration_ms: int


Script = Generator[Sequence[Draft] | Pause, Message | None, None]
"""Yields the requests to send next, and gets the response to the first of them; None after a pause."""


class Conversation:
    """Sends the requests of a script, until that ends, or until a response does not come.

    Args:
        address: of the intruder.
        endpoint: of the node.
        connection: on which they are sent.
        script: what to send.
    """

    def __init__(
        self,
        address: Address,
        endpoint: Endpoint,
        connection: ClientConnection,
        script: Script,
        *,
        post_office: PostOffice,
        timeline: Timeline,
    ) -> None:
        self._address = address
        self._endpoint = endpoint
        self._connection = connection
        self._script = script
        self._post_office = post_office
        self._timeline = timeline

    def go_on(self, response: Message | None = None) -> None:
        """Send the next requests."""
        try:
            step = self._script.send(response)
        except (StopIteration, AuthenticationError):
            return
        if isinstance(step, Pause):
            self._timeline.after(step.duration_ms, self.go_on)
            return
        for number, (request, version) in enumerate(step):
            self._send(request, version, is_awaited=number == 0)

    def _send(self, request: Message, version: int, *, is_awaited: bool) -> None:
        def on_response(frame: bytes) -> None:
            if is_awaited:
                self.go_on(decode_response(frame, api_of(request), version)[1])

        self._post_office.send_frame(
            self._address,
            self._endpoint,
            encode_request(request, version, correlation_id=_CORRELATION_ID, client_id="intruder"),
            on_response=on_response,
            connection=self._connection,
        )


def handshake(mechanism: str, version: int = SASL_HANDSHAKE.versions.highest) -> Draft:
    """Return the request that begins an authentication."""
    return SaslHandshakeRequest(mechanism=mechanism), version


def token(auth_bytes: bytes) -> Draft:
    """Return the request with a message of the mechanism."""
    return SaslAuthenticateRequest(auth_bytes=auth_bytes), SASL_AUTHENTICATE.versions.highest


def prove(authenticator: Authenticator, *, last: int, behind: Sequence[Draft] = ()) -> Script:
    """Prove a name, and send requests directly behind the last message, before its response is there.

    Args:
        authenticator: makes the proof.
        last: how many messages the proof has.
        behind: the requests.

    Raises:
        AuthenticationError: the node has refused.
    """
    exchange = SaslExchange(authenticator)
    response = yield [handshake(authenticator.mechanism)]
    for number in range(1, last + 1):
        assert isinstance(response, SaslHandshakeResponse | SaslAuthenticateResponse), "the response to SASL"
        request = exchange.next_request(response)
        assert request is not None, "the proof has more messages"
        response = yield [token(request.auth_bytes), *(behind if number == last else ())]
    assert isinstance(response, SaslAuthenticateResponse), "the response to the proof"
    exchange.next_request(response)
