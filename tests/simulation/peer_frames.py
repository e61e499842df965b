"""The requests and responses of nodes as bytes."""

from __future__ import annotations

from raft.core.effects import SendRequest
from raft.core.messages import FetchRequest, OutgoingRequest, RepairFetchRequest, Response
from raft.errors import LocalProtocolError
from raft.wire.frames import ReceivedRequest, decode_request, decode_response, encode_request
from raft.wire.mapping.replica_messages import api_of, request_from_wire, request_to_wire, response_from_wire
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.starting import OURS

_SIZE_BYTES = 4
_CORRELATION_ID = 7


def read_response(request: OutgoingRequest, frame: bytes, version: int) -> Response:
    """Return the response to a request from its bytes without the size field."""
    return response_from_wire(decode_response(frame, api_of(request), version)[1])


def frame_or_none(order: SendRequest, version: int) -> bytes | None:
    """Return a request as bytes without the size field; None if this version cannot express it (COMPAT-2).

    Raises:
        BrokenInvariantError: the request differs after it was encoded and decoded in the newest version.
    """
    try:
        message = request_to_wire(order.request, OURS, version)
        frame = encode_request(message, version, correlation_id=_CORRELATION_ID, client_id=None)[_SIZE_BYTES:]
    except LocalProtocolError:
        return None
    is_fetch = isinstance(order.request, FetchRequest | RepairFetchRequest)
    if version == api_of(order.request).versions.highest and not is_fetch:
        received = decode_request(frame)
        assert isinstance(received, ReceivedRequest), "a version that is served"
        arrived = request_from_wire(received.message, OURS, version)
        if arrived != order.request:
            raise BrokenInvariantError("RequestsSurviveEncoding", ("TEST-16",), f"{order.request} arrives as {arrived}")
    return frame
