"""Requests between replicas and their responses, between wire and core, by the mapping of their API."""

from __future__ import annotations

from typing import Any

from raft.codec import Message
from raft.core import messages as core
from raft.errors import DecodeError
from raft.wire.apis import Api
from raft.wire.mapping.elections import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, VOTE
from raft.wire.mapping.fetches import FETCH
from raft.wire.mapping.mapping import Mapping
from raft.wire.mapping.partition import TopicPartition
from raft.wire.mapping.snapshots import FETCH_SNAPSHOT

_ALL: tuple[Mapping[Any, Any, Any, Any], ...] = (VOTE, BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, FETCH, FETCH_SNAPSHOT)
_OF_CORE_REQUEST = {request: mapping for mapping in _ALL for request in mapping.core_requests}
_OF_REQUEST = {mapping.api.request: mapping for mapping in _ALL}
_OF_RESPONSE = {mapping.api.response: mapping for mapping in _ALL}


def api_of(request: core.OutgoingRequest) -> Api[Any, Any]:
    """Return the API of a request."""
    return _OF_CORE_REQUEST[type(request)].api


def request_to_wire(request: core.OutgoingRequest, ours: TopicPartition, version: int) -> Message:
    """Write a request of this node."""
    message: Message = _OF_CORE_REQUEST[type(request)].request_to_wire(request, ours, version)
    return message


def request_from_wire(message: Message, ours: TopicPartition, version: int) -> core.IncomingRequest:
    """Read a request from another replica."""
    return _of_request(message).request_from_wire(message, ours, version)


def response_to_wire(
    request: Message, response: core.Response, ours: TopicPartition, version: int, records: bytes = b""
) -> Message:
    """Write the response to a request from another replica."""
    mapping = _of_request(request)
    if isinstance(response, core.RequestRefused):
        return mapping.refusal_to_wire(request, response.error, version)
    return mapping.response_to_wire(response, ours, version, records)


def response_from_wire(message: Message) -> core.Response:
    """Read the response to a request of this node.

    Raises:
        DecodeError: it is not a response between replicas, or does not have exactly one partition.
    """
    mapping = _OF_RESPONSE.get(type(message))
    if mapping is None:
        raise DecodeError(f"received {type(message).__name__}, which is not a response between replicas")
    return mapping.response_from_wire(message)


def _of_request(message: Message) -> Mapping[Message, Message, Any, Any]:
    mapping = _OF_REQUEST.get(type(message))
    assert mapping is not None, f"{type(message).__name__} is not a request between replicas"
    return mapping
