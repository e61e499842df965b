"""Requests that wait: fetches until there are records or a new high watermark, appends until they are committed, reads
until the leader is confirmed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from raft.core.messages import ClientFetchRequest, FetchRequest
from raft.transactions import TransactionalProducer
from raft.types import Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedFetch:
    """A fetch for which there is nothing yet. Each time it is woken it is checked again like a new one (FETCH-12)."""

    request_id: int
    request: FetchRequest | ClientFetchRequest
    deadline_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAppend:
    """An append, new or repeated, whose response is sent once everything below `end_offset` is committed.

    `error`, `message` and `producer` go into that response: an append may be refused because of a newer write of the
    same writer, and the client may only know that once the newer write is committed.

    `is_held` says that it has not been appended, and waits until multipart writes may begin again (TXN-12).
    """

    request_id: int
    base_offset: Offset | None = None
    end_offset: Offset
    error: int
    message: str | None = None
    producer: TransactionalProducer | None = None
    deadline_ms: int
    is_held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRead:
    """A linearizable read, whose response is sent once a majority has confirmed this leader (READ-2).

    Fields:
        first_request: the number of the first request to a voter that is sent after the read was requested.
        then: the response to another request, which waits for the same and then for its own commit; None for a read.
    """

    request_id: int
    first_request: int
    deadline_ms: int
    then: PendingAppend | None = None


class WaitingCounts(NamedTuple):
    """How many requests of each kind wait."""

    fetches: int
    appends: int
    reads: int


Request = TypeVar("Request", ParkedFetch, PendingAppend, PendingRead)


class WaitingRequests(Generic[Request]):
    """Requests that wait, by their ids, in the order in which they came.

    Every event checks whether one of them is overdue, and there may be many. So the earliest deadline is remembered,
    and computed again only after the request that had it was removed.
    """

    __slots__ = ("_by_id", "_earliest_ms", "_is_earliest_exact")

    def __init__(self) -> None:
        self._by_id: dict[int, Request] = {}
        self._earliest_ms: int | None = None
        self._is_earliest_exact = True

    def __iter__(self) -> Iterator[Request]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def last(self) -> Request | None:
        """The request that came last; None while none waits."""
        return next(reversed(self._by_id.values()), None)

    def add(self, request: Request) -> None:
        """Add a request."""
        self._by_id[request.request_id] = request
        if self._earliest_ms is None or request.deadline_ms < self._earliest_ms:
            self._earliest_ms = request.deadline_ms
            self._is_earliest_exact = True

    def take(self, request_id: int) -> Request | None:
        """Remove a request and return it; None if it does not wait."""
        request = self._by_id.pop(request_id, None)
        if request is not None and request.deadline_ms == self._earliest_ms:
            self._is_earliest_exact = False
        if not self._by_id:
            self._earliest_ms = None
        return request

    def take_all(self) -> list[Request]:
        """Remove all requests and return them."""
        waiting = list(self._by_id.values())
        self._by_id.clear()
        self._earliest_ms = None
        return waiting

    def take_overdue(self, now_ms: int) -> list[Request]:
        """Remove the requests whose deadline has passed and return them."""
        if self._earliest_ms is None or now_ms < self._earliest_ms:
            return []
        overdue = [request for request in self._by_id.values() if request.deadline_ms <= now_ms]
        for request in overdue:
            self.take(request.request_id)
        return overdue

    @property
    def earliest_deadline_ms(self) -> int | None:
        """The earliest deadline of all requests; None while none waits."""
        if not self._is_earliest_exact and self._by_id:
            self._earliest_ms = min(request.deadline_ms for request in self._by_id.values())
            self._is_earliest_exact = True
        return self._earliest_ms
