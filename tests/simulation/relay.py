"""Requests that a node forwards to the leader, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from raft.codec import Message
from raft.types import Endpoint
from raft.wire.apis import api_of
from raft.wire.frames import decode_response, encode_request
from raft.wire.headers import RELAY_CLIENT_ID

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.process import Process

_CORRELATION_ID = 0


class SimulatedRelay:
    """Forwards requests through the post office; see `raft.runtime.requests.relay.Relay`."""

    def __init__(self, process: Process, environment: Environment) -> None:
        self._process = process
        self._environment = environment
        access = environment.access
        self._identity = None if access is None else access.node(process.machine.node_id)

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
        frame = encode_request(request, version, correlation_id=_CORRELATION_ID, client_id=RELAY_CLIENT_ID)
        self._environment.post_office.send_frame(
            self._process.machine.node_id,
            leader,
            frame,
            on_response=lambda response: self._process.soon(
                lambda: on_response(decode_response(response, api_of(request), version)[1])
            ),
            on_failure=lambda _: self._process.soon(otherwise),
            identity=self._identity,
        )
