"""What a follower knows of its leader: when it last got a response, and how far it is behind."""

from __future__ import annotations

from collections.abc import Sequence

from raft.core import RaftCore
from raft.core.effects import Effect, RoleChanged
from raft.core.events import Event, ResponseReceived
from raft.core.messages import FetchResponse, FetchSnapshotResponse
from raft.core.roles import Follower
from raft.errors import ErrorCode
from raft.types import Offset


class LeaderContact:
    """The responses of the leader that a node follows.

    Attributes:
        last_response_ms: when the leader last responded to a fetch; None while it has not.
        high_watermark: the leader's, by that response; None while it is unknown.
    """

    def __init__(self) -> None:
        self.last_response_ms: int | None = None
        self.high_watermark: Offset | None = None
        self._caught_up_ms = 0

    def handled(self, event: Event, effects: Sequence[Effect], core: RaftCore, now_ms: int) -> None:
        """See `Meter.handled`."""
        if any(isinstance(effect, RoleChanged) for effect in effects):
            self.last_response_ms, self.high_watermark, self._caught_up_ms = None, None, now_ms
            return
        role = core.role
        if not isinstance(event, ResponseReceived) or not isinstance(role, Follower):
            return
        response = event.response
        if not isinstance(response, FetchResponse | FetchSnapshotResponse):
            return
        if response.error != ErrorCode.NONE or response.leader.epoch != role.epoch:
            return
        # Only the leader responds to a fetch without an error.
        self.last_response_ms = now_ms
        if isinstance(response, FetchResponse) and response.snapshot is None and response.diverging is None:
            self.high_watermark = response.high_watermark
            if not self.behind_records(core.log.end_offset):
                self._caught_up_ms = now_ms

    def behind_records(self, end_offset: Offset) -> int | None:
        """Return how many records the leader has committed that this node does not have; None if that is unknown.

        Args:
            end_offset: of this node's log.
        """
        return None if self.high_watermark is None else max(0, self.high_watermark - end_offset)

    def behind_ms(self, now_ms: int) -> int:
        """Return for how long the node has not known to have all committed records of its leader, in milliseconds."""
        return now_ms - self._caught_up_ms
