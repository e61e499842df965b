"""Fetch: replicas go to the core as they are; clients may ask for several partitions, of which one is ours."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from raft.core.effects import ReadRange, Reply
from raft.core.events import RequestReceived
from raft.core.messages import ClientFetchRequest, FetchResponse
from raft.errors import DecodeError, ErrorCode
from raft.node.requests.context import Context
from raft.node.respond import Respond
from raft.records.split import walk_headers
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
"""However long a fetch may wait: that of somebody who went away unnoticed is kept no longer than this."""


def client_fetch(context: Context, request: wire.FetchRequest, version: int, respond: Respond) -> None:
    """Answer the Fetch of a client: committed records only, once there are `min_bytes` of them or time is over."""
    ours = _our_partition(context, request, version)
    if ours is None:
        _answer_without_ours(context, request, version, respond)
        return
    asked = client_fetch_from_wire(request, ours)
    max_bytes = min(asked.max_bytes, context.config.message_max_bytes)
    asked = replace(asked, max_bytes=max_bytes, max_wait_ms=_wait_ms(request))
    _ClientFetch(context, request, version, respond).ask(asked)


def _wait_ms(request: wire.FetchRequest) -> int:
    return min(max(request.max_wait_ms, 0), LONGEST_WAIT_MS)


def _our_partition(context: Context, request: wire.FetchRequest, version: int) -> wire.FetchRequestPartition | None:
    for topic in request.topics:
        for partition in topic.partitions:
            if is_our_topic(topic, version, context.ours) and partition.partition == INDEX:
                return partition
    return None


def _answer_without_ours(context: Context, request: wire.FetchRequest, version: int, respond: Respond) -> None:
    """Nothing of ours is asked for: errors at once, or, for an empty session, nothing, after the time asked for."""
    response = _response(context, request, version, None, ())
    delay_s = 0 if request.topics else _wait_ms(request) / 1000
    respond.when_gone(asyncio.get_running_loop().call_later(delay_s, respond, response).cancel)


def _response(
    context: Context,
    request: wire.FetchRequest,
    version: int,
    ours: wire.FetchResponsePartition | None,
    endpoints: tuple[BrokerEndpoint, ...],
) -> wire.FetchResponse:
    """The answer about everything that was asked for; no fetch sessions are kept, so its session id is 0."""
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


class _ClientFetch:
    """One client's Fetch on its way; asked again while it has found less than `min_bytes` and has time."""

    def __init__(self, context: Context, request: wire.FetchRequest, version: int, respond: Respond) -> None:
        self._context = context
        self._request = request
        self._version = version
        self._respond = respond
        self._deadline_ms = context.engine.now_ms() + _wait_ms(request)
        self._is_forgotten = False

    def ask(self, asked: ClientFetchRequest) -> None:
        """Put the question to the core."""
        self._asked = asked
        request_id = self._context.engine.expect_reply(self._on_reply)
        self._respond.when_gone(lambda: self._forget(request_id))
        self._context.engine.submit(RequestReceived(request_id=request_id, request=asked))

    def _forget(self, request_id: int) -> None:
        self._is_forgotten = True
        self._context.engine.abandon(request_id)

    def _on_reply(self, reply: Reply, records: bytes) -> None:
        if self._is_forgotten:
            return
        response = reply.response
        assert isinstance(response, FetchResponse), "the answer to a fetch"
        left_ms = self._deadline_ms - self._context.engine.now_ms()
        if reply.read is not None and left_ms > 0 and self._wants_more(records, reply.read):
            self.ask(replace(self._asked, max_wait_ms=left_ms, wait_until_past=reply.read.end_offset))
            return
        partition = fetch_partition_to_wire(response, records, self._version)
        endpoints = fetch_endpoints_to_wire(response, self._version)
        self._respond(_response(self._context, self._request, self._version, partition, endpoints))

    def _wants_more(self, records: bytes, read: ReadRange) -> bool:
        """Whether there is less than the client waits for: all there is was read, and it is not enough."""
        if len(records) >= self._request.min_bytes:
            return False
        try:
            headers = list(walk_headers(records))
        except DecodeError:
            return False  # Damaged on this disk: the client will see that by the checksum.
        return not headers or headers[-1].end_offset >= read.end_offset
