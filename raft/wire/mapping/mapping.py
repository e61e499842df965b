"""How the requests that replicas send each other, and their responses, go from the wire to the core and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from raft.codec import Message
from raft.core import messages as core
from raft.wire.apis import Api
from raft.wire.mapping.partition import TopicPartition

WireRequest = TypeVar("WireRequest", bound=Message)
WireResponse = TypeVar("WireResponse", bound=Message)
CoreRequest = TypeVar("CoreRequest", bound=core.OutgoingRequest)
CoreResponse = TypeVar("CoreResponse", bound=core.Response)


class Mapping(ABC, Generic[WireRequest, WireResponse, CoreRequest, CoreResponse]):
    """The mapping of one API.

    Attributes:
        api: the API.
        core_requests: the requests of the core that are requests of this API on the wire.
    """

    api: ClassVar[Api[Any, Any]]
    core_requests: ClassVar[tuple[type[core.OutgoingRequest], ...]]

    @abstractmethod
    def request_to_wire(self, request: CoreRequest, ours: TopicPartition, version: int) -> WireRequest:
        """Write a request of this node."""

    @abstractmethod
    def request_from_wire(self, message: WireRequest, ours: TopicPartition, version: int) -> core.IncomingRequest:
        """Read a request of another replica."""

    @abstractmethod
    def response_to_wire(
        self, response: CoreResponse, ours: TopicPartition, version: int, records: bytes = b""
    ) -> WireResponse:
        """Write the response to a request of another replica.

        Args:
            response: of the core.
            ours: the partition of this node.
            version: of the response.
            records: whole batches; those of a Fetch, empty for all others.
        """

    @abstractmethod
    def response_from_wire(self, message: WireResponse) -> CoreResponse | core.RequestRefused:
        """Read the response to a request of this node.

        Raises:
            DecodeError: the response does not have exactly one partition.
        """

    def refusal_to_wire(self, _request: WireRequest, error: int, _version: int) -> WireResponse:
        """Write the response to a request that is refused as a whole."""
        refusal: WireResponse = self.api.response(error_code=error, topics=())
        return refusal
