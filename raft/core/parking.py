"""Requests that wait for news: fetches until there is something to tell, appends until they are committed."""

from __future__ import annotations

from dataclasses import dataclass

from raft.core.messages import ClientFetchRequest, FetchRequest
from raft.types import Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedFetch:
    """A fetch that found nothing yet. It is judged anew at every wake-up (FETCH-12)."""

    request_id: int
    request: FetchRequest | ClientFetchRequest
    deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAppend:
    """An append, or a repeated one, that is answered once everything below `end_offset` is committed.

    `error` and `message` are what the client hears then; a write that an older one of the same writer overtook is no
    success.
    """

    request_id: int
    base_offset: Offset
    end_offset: Offset
    error: int
    message: str | None = None
    deadline_ms: int
