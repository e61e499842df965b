"""FetchSnapshot: serves a snapshot of this leader's log, piece by piece (FETCH-18).

Source: Kafka KafkaRaftClient.handleFetchSnapshotRequest.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import SendResponse
from raft.core.messages import FetchSnapshotRequest as CoreRequest
from raft.core.messages import FetchSnapshotResponse as CoreResponse
from raft.core.messages import RequestRefused, UnknownPartitionRequest
from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.waiting_read import WaitingRead
from raft.storage.directory import ReplicaDirectory
from raft.types import ZERO_UUID, LeaderAndEpoch
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.snapshots import FETCH_SNAPSHOT
from raft.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse


def fetch_snapshot(context: Context, request: Request[FetchSnapshotRequest]) -> FetchSnapshotResponse | None:
    """Handle FetchSnapshot: the core checks the request, then the piece is read from the disk."""
    message = request.message
    core_request = FETCH_SNAPSHOT.request_from_wire(message, context.ours, request.version)
    is_of_this_cluster = message.cluster_id in (None, context.cluster_id)
    if isinstance(core_request, CoreRequest) and is_of_this_cluster and not _is_ours(context, message):
        leader = LeaderAndEpoch(epoch=context.epoch, leader_id=context.engine.core.leader_id)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        unknown = CoreResponse(error=error, leader=leader, snapshot=core_request.snapshot, position=0)
        (topic,) = message.topics
        theirs = TopicPartition(topic_name=topic.name, topic_id=ZERO_UUID, index=topic.partitions[0].partition)
        return FETCH_SNAPSHOT.response_to_wire(unknown, theirs, request.version)
    _FetchSnapshot(context, request, core_request).submit()
    return None


def _is_ours(context: Context, message: FetchSnapshotRequest) -> bool:
    """Whether the one partition that a request names is ours."""
    return context.is_ours_by_name(message.topics[0].name, message.topics[0].partitions[0].partition)


class _FetchSnapshot(WaitingRead[FetchSnapshotRequest, CoreRequest | UnknownPartitionRequest]):
    """One request. As with Fetch, what voters read does not count against the budget of responses."""

    def _on_response(self, effect: SendResponse) -> None:
        response = effect.response
        if isinstance(response, RequestRefused):
            message, version = self._request.message, self._request.version
            self._request.respond(FETCH_SNAPSHOT.refusal_to_wire(message, response.error, version))
            return
        assert isinstance(response, CoreResponse), "the response to FetchSnapshot"
        assert isinstance(self._core_request, CoreRequest), "another request is refused"
        if response.error != ErrorCode.NONE:
            self._send(response)
            return
        request = self._core_request
        max_bytes = min(max(request.max_bytes, 1), self._context.config.fetch_snapshot_max_bytes)
        if request.replica.node_id in self._context.config.voters:
            self._read(request, response, max_bytes)
        else:
            self._read_when_permitted(max_bytes, lambda: self._read(request, response, max_bytes))

    def _read(self, request: CoreRequest, response: CoreResponse, max_bytes: int) -> None:
        """Read the piece.

        Args:
            request: names it.
            response: what the core responds.
            max_bytes: largest size of the piece.
        """
        self._is_reading = True

        def read(directory: ReplicaDirectory) -> CoreResponse:
            file = directory.snapshots.serve(request.snapshot) if request.snapshot.offset else None
            if file is None:
                return replace(response, error=ErrorCode.SNAPSHOT_NOT_FOUND)
            if not 0 <= request.position < file.size_bytes:
                return replace(response, error=ErrorCode.POSITION_OUT_OF_RANGE)
            piece = file.read(request.position, max_bytes)
            return replace(response, size_bytes=file.size_bytes, piece=piece)

        self._context.disk.look(read, self._send)

    def _send(self, response: CoreResponse) -> None:
        if self._is_forgotten:
            self._release()
            return
        if self._permit is not None:
            self._context.responses.shrink(self._permit, len(response.piece))
        ours, version = self._context.ours, self._request.version
        self._request.respond(FETCH_SNAPSHOT.response_to_wire(response, ours, version), self._permit)
