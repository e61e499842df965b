"""The headers of requests and responses, between the size of the frame and the message (rule COMPAT-4)."""

from raft.codec import INT16, INT32, STRING, Message, field, message

RELAY_CLIENT_ID = "raft-relay"
"""The client id of requests that a node must not forward to the leader: another node has forwarded them already, or the
client asks for the view of this node."""


@message(versions="1-2", flexible="2+")
class RequestHeader(Message):
    """Names the API and version of a request. It has version 2 for flexible requests, else 1.

    The client id has an int16 length in both versions, so that a node can decode the header of any ApiVersions request.
    """

    request_api_key: int = field(INT16)
    request_api_version: int = field(INT16)
    correlation_id: int = field(INT32)
    client_id: str | None = field(STRING, nullable="1+", flexible="none")


@message(versions="0-1", flexible="1+")
class ResponseHeader(Message):
    """Repeats the correlation id of the request. It has version 1 for flexible responses except ApiVersions, else 0."""

    correlation_id: int = field(INT32)
