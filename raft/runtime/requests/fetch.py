"""Fetch of a client. It may name several partitions, of which this node hosts one."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from raft.core.effects import ReadRange, SendResponse
from raft.core.messages import ClientFetchRequest, FetchResponse
from raft.errors import CorruptBatchError, ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.waiting_read import WaitingRead
from raft.storage.aborted_transactions import aborted_among
from raft.storage.log import Log
from raft.storage.spans import skip_to
from raft.transactions import AbortedTransaction
from raft.types import Offset
from raft.wire.mapping.fetches import (
    FIRST_BY_TOPIC_ID,
    client_fetch_from_wire,
    fetch_endpoints_to_wire,
    fetch_partition_to_wire,
    is_our_topic,
)
from raft.wire.mapping.partition import INDEX
from raft.wire.messages import fetch as wire
from raft.wire.messages.nodes import BrokerEndpoint

LONGEST_WAIT_MS = 60_000
"""Longest time for which a fetch is parked: its client may have disconnected unnoticed."""

MAX_MIN_BYTES = 1 << 20
"""Upper bound of a fetch's `min_bytes`: with so many bytes it gets a response, even if `min_bytes` is higher."""


def client_fetch(context: Context, request: Request[wire.FetchRequest]) -> None:
    """Handle the Fetch of a client: respond with committed records after `min_bytes` or `max_wait_ms` is reached."""
    message = request.message
    ours = _our_partition(context, message, request.version)
    if ours is None:
        _respond_without_ours(context, request)
        return
    core_request = client_fetch_from_wire(message, ours)
    max_bytes = min(core_request.max_bytes, context.config.message_max_bytes)
    core_request = replace(core_request, max_bytes=max_bytes, max_wait_ms=_wait_ms(message))
    _ClientFetch(context, request, core_request).submit()


def _wait_ms(request: wire.FetchRequest) -> int:
    return min(max(request.max_wait_ms, 0), LONGEST_WAIT_MS)


def _our_partition(context: Context, request: wire.FetchRequest, version: int) -> wire.FetchRequestPartition | None:
    for topic in request.topics:
        for partition in topic.partitions:
            if is_our_topic(topic, version, context.ours) and partition.partition == INDEX:
                return partition
    return None


def _respond_without_ours(context: Context, request: Request[wire.FetchRequest]) -> None:
    """Respond to a Fetch without our partition: with errors at once; if it names no partition, after `max_wait_ms`."""
    message = request.message
    response = _response(context, message, request.version, None, ())
    due_ms = context.scheduler.now_ms() + (0 if message.topics else _wait_ms(message))
    request.when_gone(context.scheduler.at(due_ms, lambda: request.respond(response)).cancel)


def _response(
    context: Context,
    request: wire.FetchRequest,
    version: int,
    ours: wire.FetchResponsePartition | None,
    endpoints: tuple[BrokerEndpoint, ...],
) -> wire.FetchResponse:
    """Return the response for all partitions of a request. There are no fetch sessions, so the session id is 0."""
    return wire.FetchResponse(
        responses=tuple(
            wire.FetchResponseTopic(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=tuple(
                    ours
                    if ours is not None and is_our_topic(topic, version, context.ours) and partition.partition == INDEX
                    else _unknown(context, topic, partition, version)
                    for partition in topic.partitions
                ),
            )
            for topic in request.topics
        ),
        node_endpoints=endpoints,
    )


def _unknown(
    context: Context, topic: wire.FetchRequestTopic, partition: wire.FetchRequestPartition, version: int
) -> wire.FetchResponsePartition:
    is_unknown_id = version >= FIRST_BY_TOPIC_ID and not is_our_topic(topic, version, context.ours)
    return wire.FetchResponsePartition(
        partition_index=partition.partition,
        error_code=ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        high_watermark=-1,
        records=b"",
    )


class _Found(NamedTuple):
    """What was read.

    Fields:
        records: whole batches.
        is_everything: whether they are all that can be read, but fewer than `min_bytes`.
        aborted: the aborted transactions among them, for a client that reads committed ones only.
        compacted_end: end of the snapshot from which they may come; None if they are all of the log.
    """

    records: bytes
    is_everything: bool = False
    aborted: tuple[AbortedTransaction, ...] = ()
    compacted_end: Offset | None = None


class _ClientFetch(WaitingRead[wire.FetchRequest, ClientFetchRequest]):
    """The Fetch of one client. It is submitted again while it has found less than `min_bytes` and has time left."""

    def __init__(self, context: Context, request: Request[wire.FetchRequest], core_request: ClientFetchRequest) -> None:
        super().__init__(context, request, core_request)
        message = request.message
        self._min_bytes = min(message.min_bytes, MAX_MIN_BYTES, core_request.max_bytes)
        self._deadline_ms = context.scheduler.now_ms() + _wait_ms(message)
        self._is_read_empty = False

    def _on_response(self, effect: SendResponse) -> None:
        response, read = effect.response, effect.read
        assert isinstance(response, FetchResponse), "the response to a fetch"
        if read is None:
            self._send_response(response, _Found(b""))
            return
        readable_bytes = self._context.engine.core.readable_bytes(read_committed=self._core_request.read_committed)

        # Behind this end there are more records, but damaged ones: they are not waited for.
        core = self._context.engine.core
        ends_at_damage = core.damage.holds(read.end_offset, log_start=core.log.start_offset)

        def on_read(found: _Found | CorruptBatchError) -> None:
            if isinstance(found, CorruptBatchError):
                self._on_damage(response)
            else:
                self._on_read(response, found, readable_bytes)

        # Committed records stay in the log, so the read may wait until there is memory for the response. The first
        # batch is returned even if it is larger than the client allows.
        self._read_when_permitted(
            self._context.config.message_max_bytes,
            lambda: self._context.disk.read_in_pieces(
                read, lambda records, log: self._parse(records, log, read, ends_at_damage=ends_at_damage), on_read
            ),
        )

    def _on_read(self, response: FetchResponse, found: _Found, readable_bytes: int) -> None:
        assert self._permit is not None, "a read has a permit"
        self._context.responses.shrink(self._permit, len(found.records))
        if self._is_forgotten:
            self._release()
        elif self._waits_for_more(found, readable_bytes):
            self._release()
            self.submit()
        else:
            self._send_response(response, found)

    def _on_damage(self, response: FetchResponse) -> None:
        """Respond that the records cannot be read here; another node may have them (LOG-30)."""
        assert self._permit is not None, "a read has a permit"
        self._context.responses.shrink(self._permit, 0)
        if self._is_forgotten:
            self._release()
        else:
            self._send_response(replace(response, error=ErrorCode.STORAGE_ERROR), _Found(b""))

    def _parse(self, records: bytes, log: Log, read: ReadRange, *, ends_at_damage: bool) -> _Found:
        """Find out whether the records are all that there are, and which of them are of aborted transactions."""
        # The log may start later since the records were read. Then this end is higher than theirs, never lower.
        is_compacted = log.compacted is not None and read.start_offset < log.start_offset
        compacted_end = log.start_offset if is_compacted else None
        is_everything = not ends_at_damage and (
            0 < len(records) < self._min_bytes and skip_to(records, Offset(read.end_offset - 1)) < len(records)
        )
        aborted = aborted_among(log, read.start_offset, records) if self._core_request.read_committed else ()
        return _Found(records, is_everything, tuple(aborted), compacted_end)

    def _waits_for_more(self, found: _Found, readable_bytes: int) -> bool:
        """Return whether more records may come in time; if so, change the request so that it waits for them."""
        left_ms = self._deadline_ms - self._context.scheduler.now_ms()
        if left_ms <= 0 and not found.records and not self._is_read_empty:
            # A snapshot has replaced the records. Perhaps the core responds with an error now.
            self._is_read_empty = True
            self._core_request = replace(self._core_request, max_wait_ms=0)
        elif left_ms > 0 and (found.is_everything or not found.records):
            missing_bytes = max(self._min_bytes - len(found.records), 1)
            self._core_request = replace(
                self._core_request, max_wait_ms=left_ms, wait_until_bytes=readable_bytes + missing_bytes
            )
        else:
            return False
        return True

    def _send_response(self, response: FetchResponse, found: _Found) -> None:
        request, version = self._request, self._request.version
        partition = fetch_partition_to_wire(response, found.records, version, found.aborted, found.compacted_end)
        reachable = replace(response.leader, endpoints=self._context.leader_endpoints(request.caller))
        endpoints = fetch_endpoints_to_wire(reachable, version)
        request.respond(_response(self._context, request.message, version, partition, endpoints), self._permit)
