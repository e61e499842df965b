"""Errors of writes."""

from __future__ import annotations

from raft.client import ClientSettings
from raft.errors import InvalidTimestampError, MessageTooLargeError, RaftError, RequestError


class WriteTooLargeError(RaftError):
    """A row, or with older nodes a write, is larger than what the nodes accept; nothing was written."""


class WriteConflictError(RaftError):
    """The key of a write is in the log with other rows; nothing was written."""


def of_refusal(error: RequestError, settings: ClientSettings) -> RaftError:
    """Return the error for a part or a write that the leader refuses."""
    if isinstance(error, InvalidTimestampError):
        return RaftError(
            f"the quorum refuses a timestamp ({error}). With readColumns=keepTimestamps it is that of a row. "
            "Nothing was written"
        )
    if not isinstance(error, MessageTooLargeError):
        return error
    return WriteTooLargeError(
        f"a row is larger than the quorum accepts ({error}; kraft.max.request.size={settings.max_request_bytes}): "
        "raise both kraft.max.request.size here and message.max.bytes on the nodes. Nothing was written"
    )
