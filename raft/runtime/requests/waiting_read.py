"""A fetch that the core answers, now or when there is something, and whose response has bytes of the disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from raft.codec import Message
from raft.core.effects import SendResponse
from raft.core.events import RequestReceived
from raft.core.messages import ClientFetchRequest, IncomingRequest
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.response_budget import Permit

OnWire = TypeVar("OnWire", bound=Message)
InCore = TypeVar("InCore", bound=IncomingRequest | ClientFetchRequest)


class WaitingRead(ABC, Generic[OnWire, InCore]):
    """One fetch of a client or a replica. It may be submitted several times.

    Args:
        context: the node.
        request: as it was received.
        core_request: the same for the core.
    """

    def __init__(self, context: Context, request: Request[OnWire], core_request: InCore) -> None:
        self._context = context
        self._request = request
        self._core_request = core_request
        self._permit: Permit | None = None
        """For the bytes of the response."""
        self._is_reading = False
        """Whether a read has begun that keeps its permit until it is done."""
        self._is_forgotten = False
        """Whether the caller has disconnected."""

    def submit(self) -> None:
        """Submit the request to the core."""
        request_id = self._context.engine.expect_response(self._on_response)
        self._request.when_gone(lambda: self._forget(request_id))
        self._context.engine.submit(RequestReceived(request_id=request_id, request=self._core_request))

    @abstractmethod
    def _on_response(self, effect: SendResponse) -> None:
        """Take the response of the core."""

    def _read_when_permitted(self, size_bytes: int, read: Callable[[], None]) -> None:
        """Begin a read, now or when there is memory for its response.

        Args:
            size_bytes: how many bytes the response may have.
            read: begins the read.
        """

        def begin() -> None:
            self._is_reading = True
            read()

        self._permit = self._context.responses.ask(size_bytes, begin)

    def _forget(self, request_id: int) -> None:
        """Drop the fetch: its caller has disconnected."""
        self._is_forgotten = True
        self._context.engine.abandon(request_id)
        if not self._is_reading:
            self._release()

    def _release(self) -> None:
        """Release the permit: the bytes that were read are not sent."""
        permit, self._permit, self._is_reading = self._permit, None, False
        if permit is not None:
            self._context.responses.release(permit)
