"""What all connections of a node share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from raft.codec import Message
from raft.node.large_frames import LargeFrames
from raft.node.open_connection import Registry
from raft.node.read_buffer import ReadBuffer
from raft.node.request_budget import RequestBudget
from raft.runtime.client_quotas import ClientQuotas
from raft.runtime.fault_log import FaultLog
from raft.runtime.request import Request
from raft.runtime.response_budget import ResponseBudget
from raft.runtime.turns import Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What all connections of a node share.

    Fields:
        max_frame_bytes: largest request that is accepted.
        requests: bounds the bytes of appends without a response.
        large_frames: bounds the received bytes of large frames.
        responses: bounds the bytes of responses to fetches.
        handle: begins a request, which gets its response now or later.
        unsupported: returns the response, in version 0, to ApiVersions in a version that the node does not support.
        registry: the open connections.
        errors: logs errors that are not expected.
        turns: the order in which the connections are served.
        quotas: what clients may use; None if there are no quotas.
        read_buffer: into which the connections read.
    """

    max_frame_bytes: int
    requests: RequestBudget
    large_frames: LargeFrames
    responses: ResponseBudget
    handle: Callable[[Request[Message]], None]
    unsupported: Callable[[], Message]
    registry: Registry
    errors: FaultLog
    turns: Turns
    quotas: ClientQuotas | None = None
    read_buffer: ReadBuffer = field(default_factory=ReadBuffer)
