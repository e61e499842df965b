"""How large a response may be: what is received of it stays in memory, and a node may be a false one."""

from __future__ import annotations

from raft.wire.apis import FETCH, FETCH_SNAPSHOT

MAX_UNKNOWN_BYTES = 1 << 20
"""The largest response of a node that has not proved anything yet."""

_MAX_BYTES_WITHOUT_RECORDS = 100 << 20
_WITH_RECORDS = frozenset([FETCH.key, FETCH_SNAPSHOT.key])


def response_limit_bytes(api_key: int) -> int | None:
    """Return the size of the largest response of a node that is known; None for no limit of this API."""
    return None if api_key in _WITH_RECORDS else _MAX_BYTES_WITHOUT_RECORDS
