"""Fetch of another replica. Any client can claim to be an observer, so the response to one needs a permit.

Unlike a client, a replica reads records that are not committed. So the records are read in the same turn in which the
core has compared the logs: later, the log may be truncated, and records of another epoch would follow those of the
replica. If the read has to wait for memory, the request is submitted again.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import SendResponse
from raft.core.events import RequestReceived
from raft.core.messages import AppendResponse, FetchRequest, FetchResponse, Response, UnknownPartitionRequest
from raft.errors import CorruptBatchError, ErrorCode
from raft.runtime.requests.context import Context
from raft.runtime.requests.fetch import LONGEST_WAIT_MS
from raft.runtime.respond import Respond
from raft.runtime.response_budget import Permit
from raft.wire.mapping.replica_messages import request_from_wire, response_to_wire
from raft.wire.messages import fetch as wire


def replica_fetch(context: Context, message: wire.FetchRequest, version: int, respond: Respond) -> None:
    """Handle the Fetch of a voter or an observer.

    Args:
        context: this node.
        message: the request.
        version: its version.
        respond: takes the response.
    """
    request = request_from_wire(message, version, context.ours)
    assert isinstance(request, FetchRequest | UnknownPartitionRequest), "a Fetch on the wire is one of the core"
    needs_permit = False
    if isinstance(request, FetchRequest):
        needs_permit = request.replica.node_id not in context.config.voters
        max_bytes = max(context.config.fetch_max_bytes, context.config.message_max_bytes)
        request = replace(
            request,
            max_wait_ms=min(request.max_wait_ms, LONGEST_WAIT_MS),
            max_bytes=min(request.max_bytes, max_bytes),
        )
    _ReplicaFetch(context, message, version, respond, request, needs_permit=needs_permit).submit()


class _ReplicaFetch:
    """One Fetch. It is submitted a second time if its response has to wait for memory."""

    def __init__(
        self,
        context: Context,
        message: wire.FetchRequest,
        version: int,
        respond: Respond,
        request: FetchRequest | UnknownPartitionRequest,
        *,
        needs_permit: bool,
    ) -> None:
        self._context = context
        self._message = message
        self._version = version
        self._respond = respond
        self._request = request
        self._needs_permit = needs_permit
        self._permit: Permit | None = None
        self._is_reading = False
        self._is_forgotten = False

    def submit(self) -> None:
        """Submit the request to the core."""
        request_id = self._context.engine.expect_response(self._on_response)
        self._respond.when_gone(lambda: self._forget(request_id))
        self._context.engine.submit(RequestReceived(request_id=request_id, request=self._request))

    def _submit_again(self) -> None:
        """Submit the request again: there is memory now. It does not wait for records, because it holds a permit."""
        assert isinstance(self._request, FetchRequest), "only a Fetch of our partition reads records"
        self._request = replace(self._request, max_wait_ms=0)
        self.submit()

    def _forget(self, request_id: int) -> None:
        """Drop the fetch: the replica has disconnected. A read that was ordered keeps its permit until it is done."""
        self._is_forgotten = True
        self._context.engine.abandon(request_id)
        if self._permit is not None and not self._is_reading:
            self._context.responses.release(self._permit)

    def _on_response(self, effect: SendResponse) -> None:
        response, read = effect.response, effect.read
        assert not isinstance(response, AppendResponse), "the response to a fetch"
        if read is None:
            self._send_response(response, b"")
            return
        if self._needs_permit and self._permit is None:
            budget = self._context.responses
            # The first batch is returned even if it is larger than the observer allows.
            size_bytes = max(read.max_bytes, self._context.config.message_max_bytes)
            self._permit = budget.take(size_bytes)
            if self._permit is None:
                self._permit = budget.ask(size_bytes, self._submit_again)
                return
        self._is_reading = True
        self._context.disk.read(read, lambda records: self._on_read(response, records))

    def _on_read(self, response: Response, records: bytes | CorruptBatchError) -> None:
        if isinstance(records, CorruptBatchError):
            assert isinstance(response, FetchResponse), "only a Fetch of our partition reads records"
            response, records = replace(response, error=ErrorCode.STORAGE_ERROR), b""
        if not self._is_forgotten:
            self._send_response(response, records)
        elif self._permit is not None:
            self._context.responses.release(self._permit)

    def _send_response(self, response: Response, records: bytes) -> None:
        if self._permit is not None:
            self._context.responses.shrink(self._permit, len(records))
        self._respond(
            response_to_wire(self._message, response, records, self._context.ours, self._version), self._permit
        )
