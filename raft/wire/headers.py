"""What stands before every request and response, behind the frame's size (rule COMPAT-4)."""

from raft.codec import INT16, INT32, STRING, Message, field, message


@message(versions="1-2", flexible="2+")
class RequestHeader(Message):
    """Names the API and version of a request; version 2 before flexible requests, else 1.

    The client id has an int16 length in both, so that any node can read the header of any ApiVersions request.
    """

    request_api_key: int = field(INT16)
    request_api_version: int = field(INT16)
    correlation_id: int = field(INT32)
    client_id: str | None = field(STRING, nullable="1+", flexible="none")


@message(versions="0-1", flexible="1+")
class ResponseHeader(Message):
    """Repeats the correlation id of the request; version 1 before flexible responses but ApiVersions', else 0."""

    correlation_id: int = field(INT32)
