"""Fetch of a replica that is not a voter. Any client can send it, so its response needs a permit like a client's.

Unlike a client, a replica reads records that are not committed. So the records are read in the same turn in which the
core has compared the logs: later, the log may be truncated, and records of another epoch would follow those of the
observer. If the read has to wait for memory, the request is submitted again.
"""

from __future__ import annotations

from dataclasses import replace

from raft.core.effects import SendResponse
from raft.core.events import RequestReceived
from raft.core.messages import AppendResponse, FetchRequest, Response
from raft.runtime.requests.context import Context
from raft.runtime.respond import Respond
from raft.runtime.response_budget import Permit
from raft.wire.mapping.replica_messages import response_to_wire
from raft.wire.messages import fetch as wire


def observer_fetch(
    context: Context, message: wire.FetchRequest, version: int, respond: Respond, core_request: FetchRequest
) -> None:
    """Handle the Fetch of an observer.

    Args:
        context: this node.
        message: the request, as it was received.
        version: its version.
        respond: takes the response.
        core_request: the request for the core, with the bounds of this node.
    """
    _ObserverFetch(context, message, version, respond, core_request).submit()


class _ObserverFetch:
    """The Fetch of one observer. It is submitted a second time if its response has to wait for memory."""

    def __init__(
        self, context: Context, message: wire.FetchRequest, version: int, respond: Respond, core_request: FetchRequest
    ) -> None:
        self._context = context
        self._message = message
        self._version = version
        self._respond = respond
        self._core_request = core_request
        self._permit: Permit | None = None
        self._is_reading = False
        self._is_forgotten = False

    def submit(self) -> None:
        """Submit the request to the core."""
        request_id = self._context.engine.expect_response(self._on_response)
        self._respond.when_gone(lambda: self._forget(request_id))
        self._context.engine.submit(RequestReceived(request_id=request_id, request=self._core_request))

    def _submit_again(self) -> None:
        """Submit the request again: there is memory now. It does not wait for records, because it holds a permit."""
        self._core_request = replace(self._core_request, max_wait_ms=0)
        self.submit()

    def _forget(self, request_id: int) -> None:
        """Drop the fetch: the observer has disconnected. A read that was ordered keeps its permit until it is done."""
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
        budget = self._context.responses
        if self._permit is None:
            self._permit = budget.take(read.max_bytes)
        if self._permit is None:
            self._permit = budget.ask(read.max_bytes, self._submit_again)
            return
        self._is_reading = True
        self._context.disk.read(read, lambda records: self._on_read(response, records))

    def _on_read(self, response: Response, records: bytes) -> None:
        assert self._permit is not None, "a read has a permit"
        if self._is_forgotten:
            self._context.responses.release(self._permit)
        else:
            self._send_response(response, records)

    def _send_response(self, response: Response, records: bytes) -> None:
        if self._permit is not None:
            self._context.responses.shrink(self._permit, len(records))
        self._respond(
            response_to_wire(self._message, response, records, self._context.ours, self._version), self._permit
        )
