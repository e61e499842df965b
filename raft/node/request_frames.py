"""What the first bytes of a request frame tell before the frame is decoded: its API, and whether it may be large."""

from __future__ import annotations

from raft.errors import DecodeError
from raft.wire.apis import FETCH, PRODUCE

MAX_REQUEST_BYTES = 1 << 16
"""Largest request of any API except Produce. A node hosts one partition, so no client needs a larger one."""

_PRODUCE_KEY = PRODUCE.key.to_bytes(2, "big")
_FETCH_KEY = FETCH.key.to_bytes(2, "big")


def is_append(frame: bytes) -> bool:
    """Return whether a frame is a Produce request.

    Only these count against the `RequestBudget`. Requests of other nodes must never wait for that budget, because no
    append is committed without the fetches of the followers.
    """
    return frame[:2] == _PRODUCE_KEY


def is_fetch(frame: bytes) -> bool:
    """Return whether a frame is a Fetch request. Each may read a lot, so a connection handles one at a time."""
    return frame[:2] == _FETCH_KEY


def check_size(begin: bytes, size_bytes: int, *, is_authenticated: bool) -> None:
    """Check that a frame larger than `MAX_REQUEST_BYTES` is a Produce request of a client that is known.

    Args:
        begin: the first bytes of the frame; the API is not checked while they do not contain its key.
        size_bytes: size of the frame.
        is_authenticated: whether the client has proved its name, or need not.

    Raises:
        DecodeError: it is a request of another API, or of a client that is not known.
    """
    if len(begin) >= len(_PRODUCE_KEY) and not is_append(begin):
        raise DecodeError(
            f"received a request of {size_bytes} bytes that is not Produce; expected at most {MAX_REQUEST_BYTES} bytes"
        )
    if not is_authenticated:
        raise DecodeError(
            f"received a request of {size_bytes} bytes before authentication; expected at most {MAX_REQUEST_BYTES} "
            "bytes"
        )
