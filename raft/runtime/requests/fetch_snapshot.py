"""FetchSnapshot: serves a snapshot of this leader's log, piece by piece (FETCH-18).

Source: Kafka KafkaRaftClient.handleFetchSnapshotRequest.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import SendResponse
from raft.core.events import RequestReceived
from raft.core.messages import FetchSnapshotRequest as CoreRequest
from raft.core.messages import FetchSnapshotResponse as CoreResponse
from raft.core.messages import RequestRefused, UnknownPartitionRequest
from raft.errors import ErrorCode
from raft.runtime.requests.context import Context
from raft.runtime.respond import Respond
from raft.runtime.response_budget import Permit
from raft.storage.directory import ReplicaDirectory
from raft.types import LeaderAndEpoch
from raft.wire.mapping.snapshots import snapshot_request_from_wire, snapshot_response_to_wire
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse


def fetch_snapshot(context: Context, message: FetchSnapshotRequest, respond: Respond) -> None:
    """Handle FetchSnapshot: the core checks the request, then the piece is read from the disk."""
    request = snapshot_request_from_wire(message)
    is_of_this_cluster = message.cluster_id in (None, context.cluster_id)
    if isinstance(request, CoreRequest) and is_of_this_cluster and not _is_ours(context, message):
        leader = LeaderAndEpoch(epoch=context.epoch, leader_id=context.engine.core.leader_id)
        unknown = CoreResponse(leader=leader, snapshot=request.snapshot, position=0)
        respond(snapshot_response_to_wire(message, unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        return
    _FetchSnapshot(context, message, respond, request).submit()


def _is_ours(context: Context, message: FetchSnapshotRequest) -> bool:
    """Whether the one partition that a request names is ours."""
    return context.is_ours_by_name(message.topics[0].name, message.topics[0].partitions[0].partition)


class _FetchSnapshot:
    """One request. As with Fetch, what voters read does not count against the budget of responses."""

    def __init__(
        self,
        context: Context,
        message: FetchSnapshotRequest,
        respond: Respond,
        request: CoreRequest | UnknownPartitionRequest,
    ) -> None:
        self._context = context
        self._message = message
        self._respond = respond
        self._request = request
        self._permit: Permit | None = None
        self._is_reading = False
        self._is_forgotten = False

    def submit(self) -> None:
        """Submit the request to the core."""
        request_id = self._context.engine.expect_response(self._on_response)
        self._respond.when_gone(lambda: self._forget(request_id))
        self._context.engine.submit(RequestReceived(request_id=request_id, request=self._request))

    def _forget(self, request_id: int) -> None:
        """Drop the request: the replica has disconnected. A read that was ordered keeps its permit until it is done."""
        self._is_forgotten = True
        self._context.engine.abandon(request_id)
        if self._permit is not None and not self._is_reading:
            self._context.responses.release(self._permit)

    def _on_response(self, effect: SendResponse) -> None:
        response = effect.response
        if isinstance(response, RequestRefused):
            self._respond(FetchSnapshotResponse(error_code=response.error, topics=()))
            return
        assert isinstance(response, CoreResponse), "the response to FetchSnapshot"
        assert isinstance(self._request, CoreRequest), "another request is refused"
        if response.error != ErrorCode.NONE:
            self._send(response, ErrorCode.NONE)
            return
        request = self._request
        max_bytes = min(max(request.max_bytes, 1), self._context.config.fetch_snapshot_max_bytes)
        if request.replica.node_id in self._context.config.voters:
            self._read(request, response, max_bytes)
        else:
            budget = self._context.responses
            self._permit = budget.ask(max_bytes, lambda: self._read(request, response, max_bytes))

    def _read(self, request: CoreRequest, response: CoreResponse, max_bytes: int) -> None:
        """Read the piece.

        Args:
            request: names it.
            response: what the core responds.
            max_bytes: largest size of the piece.
        """
        self._is_reading = True

        def read(directory: ReplicaDirectory) -> tuple[CoreResponse, ErrorCode]:
            file = directory.snapshots.serve(request.snapshot) if request.snapshot.offset else None
            if file is None:
                return response, ErrorCode.SNAPSHOT_NOT_FOUND
            if not 0 <= request.position < file.size_bytes:
                return response, ErrorCode.POSITION_OUT_OF_RANGE
            piece = file.read(request.position, max_bytes)
            return replace(response, size_bytes=file.size_bytes, piece=piece), ErrorCode.NONE

        def on_read(result: tuple[CoreResponse, ErrorCode]) -> None:
            self._send(*result)

        self._context.disk.look(read, on_read)

    def _send(self, response: CoreResponse, error: ErrorCode) -> None:
        if self._is_forgotten:
            if self._permit is not None:
                self._context.responses.release(self._permit)
            return
        if self._permit is not None:
            self._context.responses.shrink(self._permit, len(response.piece))
        self._respond(snapshot_response_to_wire(self._message, response, error), self._permit)
