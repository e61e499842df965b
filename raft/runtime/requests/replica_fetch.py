"""Fetch of another replica. Any client can claim to be an observer, so the response to one needs a permit.

Unlike a client, a replica reads records that are not committed. So the records are read in the same turn in which the
core has compared the logs: later, the log may be truncated, and records of another epoch would follow those of the
replica. If the read has to wait for memory, the request is submitted again.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import SendResponse
from raft.core.messages import FetchRequest, FetchResponse, RequestRefused, UnknownPartitionRequest
from raft.errors import CorruptBatchError, ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.fetch import LONGEST_WAIT_MS
from raft.runtime.requests.waiting_read import WaitingRead
from raft.wire.mapping.fetches import FETCH
from raft.wire.messages import fetch as wire


def replica_fetch(context: Context, request: Request[wire.FetchRequest]) -> None:
    """Handle the Fetch of a voter or an observer."""
    core_request = FETCH.request_from_wire(request.message, context.ours, request.version)
    needs_permit = False
    if isinstance(core_request, FetchRequest):
        needs_permit = core_request.replica.node_id not in context.config.voters
        max_bytes = max(context.config.fetch_max_bytes, context.config.message_max_bytes)
        core_request = replace(
            core_request,
            max_wait_ms=min(core_request.max_wait_ms, LONGEST_WAIT_MS),
            max_bytes=min(core_request.max_bytes, max_bytes),
        )
    _ReplicaFetch(context, request, core_request, needs_permit=needs_permit).submit()


class _ReplicaFetch(WaitingRead[wire.FetchRequest, FetchRequest | UnknownPartitionRequest]):
    """One Fetch. It is submitted a second time if its response has to wait for memory."""

    def __init__(
        self,
        context: Context,
        request: Request[wire.FetchRequest],
        core_request: FetchRequest | UnknownPartitionRequest,
        *,
        needs_permit: bool,
    ) -> None:
        super().__init__(context, request, core_request)
        self._needs_permit = needs_permit

    def _submit_again(self) -> None:
        """Submit the request again: there is memory now. It does not wait for records, because it holds a permit."""
        assert isinstance(self._core_request, FetchRequest), "only a Fetch of our partition reads records"
        self._core_request = replace(self._core_request, max_wait_ms=0)
        self.submit()

    def _on_response(self, effect: SendResponse) -> None:
        response, read = effect.response, effect.read
        assert isinstance(response, FetchResponse | RequestRefused), "the response to a fetch"
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

    def _on_read(self, response: FetchResponse | RequestRefused, records: bytes | CorruptBatchError) -> None:
        if isinstance(records, CorruptBatchError):
            assert isinstance(response, FetchResponse), "only a Fetch of our partition reads records"
            response, records = replace(response, error=ErrorCode.STORAGE_ERROR), b""
        if not self._is_forgotten:
            self._send_response(response, records)
        else:
            self._release()

    def _send_response(self, response: FetchResponse | RequestRefused, records: bytes) -> None:
        if self._permit is not None:
            self._context.responses.shrink(self._permit, len(records))
        message, version = self._request.message, self._request.version
        self._request.respond(
            FETCH.refusal_to_wire(message, response.error, version)
            if isinstance(response, RequestRefused)
            else FETCH.response_to_wire(response, self._context.ours, version, records),
            self._permit,
        )
