"""Errors of writes."""

from __future__ import annotations

from raft.client import WRITES_LEVEL, Client, ClientSettings
from raft.errors import InvalidTimestampError, MessageTooLargeError, RaftError, RequestError


class WriteTooLargeError(RaftError):
    """A row is larger than what the nodes accept; nothing was written."""


class WriteConflictError(RaftError):
    """The key of a write is in the log with other rows; nothing was written."""


def check_writable(client: Client) -> None:
    """Check that the nodes recognize a write that is repeated.

    Raises:
        RaftError: they are not of this project.
    """
    if client.feature_level() < WRITES_LEVEL:
        raise RaftError(
            f"cluster {client.cluster_id} is not a quorum of kraft-spark and can only be read: its nodes do not "
            "recognize repeated writes. Nothing was written"
        )


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
