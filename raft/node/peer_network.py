"""Requests to other nodes, over connections that are opened when they are needed.

A node has two connections to each other node, one for fetches and one for all other requests: a Vote must not wait
behind a fetch that the leader parks for half a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from raft.core.effects import SendRequest
from raft.core.events import Event, Failure, RequestFailed, ResponseReceived
from raft.core.messages import is_for_records
from raft.errors import ConfigError
from raft.node.outbound import OutboundConnection
from raft.runtime.fault_log import FaultLog
from raft.security.client_protection import ClientProtection
from raft.types import Endpoint, NodeId
from raft.wire.mapping.partition import TopicPartition

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Lane:
    """One of the two connections to a node."""

    node_id: NodeId
    endpoint: Endpoint
    is_for_records: bool


class PeerNetwork:
    """The connections of one node to other nodes; see `Network`.

    Args:
        node_id: this node. It is part of the client id, which the logs of other nodes show.
        ours: the partition that all requests name.
        max_frame_bytes: the largest response that is accepted, in bytes.
        refuses_controllers: see `OutboundConnection`.
        submit: takes an event for each response and for each request that failed.
        is_expected: see `OutboundConnection`.
        protection: of the connections.
        faults: logs why nodes do not accept each other.
    """

    def __init__(
        self,
        node_id: NodeId,
        ours: TopicPartition,
        *,
        max_frame_bytes: int,
        refuses_controllers: bool,
        submit: Callable[[Event], None],
        is_expected: Callable[[int], bool],
        protection: ClientProtection,
        faults: FaultLog,
    ) -> None:
        self._client_id = f"raft-client-{node_id}"
        self._ours = ours
        self._max_frame_bytes = max_frame_bytes
        self._refuses_controllers = refuses_controllers
        self._submit = submit
        self._is_expected = is_expected
        self._protection = protection
        self._faults = faults
        self._connections: dict[_Lane, OutboundConnection] = {}
        self._connecting: dict[OutboundConnection, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        """Return how many connections there are, those that are being opened included."""
        return sum(not connection.is_closed for connection in self._connections.values())

    def send(self, request: SendRequest) -> None:
        """Send a request. It fails if no connection can be opened."""
        lane = _Lane(request.node_id, request.endpoint, is_for_records(request.request))
        connection = self._connections.get(lane)
        if connection is None or connection.is_closed:
            try:
                connection = self._new_connection(request.endpoint)
            except ConfigError as error:
                # A certificate that is being replaced may be unreadable for a moment.
                self._faults.report("no connection to %s: %s", request.endpoint, error)
                self._fail(request.number, Failure.DISCONNECTED)
                return
            self._connections[lane] = connection
            self._connect(connection, request.endpoint)
        connection.send(request.number, request.request)

    def disconnect(self, node_id: NodeId) -> None:
        """Close the connections to a node."""
        for lane in [lane for lane in self._connections if lane.node_id == node_id]:
            self._drop(self._connections.pop(lane))

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            self._drop(connection)
        self._connections.clear()

    def _new_connection(self, endpoint: Endpoint) -> OutboundConnection:
        return OutboundConnection(
            self._ours,
            client_id=self._client_id,
            max_frame_bytes=self._max_frame_bytes,
            refuses_controllers=self._refuses_controllers,
            on_response=lambda number, response: self._submit(ResponseReceived(number=number, response=response)),
            failed=self._fail,
            is_expected=self._is_expected,
            protection=self._protection.of_connection(endpoint.host),
            faults=self._faults,
        )

    def _connect(self, connection: OutboundConnection, endpoint: Endpoint) -> None:
        task = asyncio.get_running_loop().create_task(connection.connect(endpoint))
        self._connecting[connection] = task
        task.add_done_callback(lambda _: self._connecting.pop(connection))

    def _drop(self, connection: OutboundConnection) -> None:
        # If a host drops all packets, the kernel retries for minutes, and each attempt occupies a socket.
        if connection in self._connecting:
            self._connecting[connection].cancel()
        connection.close()

    def _fail(self, number: int, failure: Failure) -> None:
        self._submit(RequestFailed(number=number, failure=failure))
