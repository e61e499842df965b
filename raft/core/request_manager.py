"""The requests in flight: at most one per node, and which nodes get none for a while (GEN-6..8)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from raft.core.messages import OutgoingRequest, is_for_records
from raft.types import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class InflightRequest:
    """A request whose response has not come yet."""

    number: int
    node_id: NodeId
    request: OutgoingRequest
    deadline_ms: int

    @property
    def connection(self) -> tuple[NodeId, bool]:
        """The connection on which it was sent."""
        return self.node_id, is_for_records(self.request)

    def settles(self, other: InflightRequest) -> bool:
        """Whether no response to the other request can come after the response to this one."""
        return self.connection == other.connection and other.number <= self.number


class RequestManager:
    """For each node: ready for a request, waiting for a response, or backing off after a failure.

    Args:
        request_timeout_ms: how long to wait for a response.
        retry_backoff_ms: how long no request is sent to a node after a failure.
    """

    __slots__ = (
        "_backing_off_until_ms",
        "_inflight",
        "_next_number",
        "_paused_until_ms",
        "_request_timeout_ms",
        "_retry_backoff_ms",
        "_superseded",
        "_timed_out_nodes",
    )

    def __init__(self, *, request_timeout_ms: int, retry_backoff_ms: int) -> None:
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._inflight: dict[NodeId, InflightRequest] = {}
        self._superseded: list[InflightRequest] = []
        self._backing_off_until_ms: dict[NodeId, int] = {}
        self._paused_until_ms: int | None = None
        self._timed_out_nodes: set[NodeId] = set()
        self._next_number = 0

    def reset_all(self) -> None:
        """Expect no responses any more: a change of role makes them meaningless (GEN-7).

        Requests that were in flight still time out. Roles change more often than requests time out while no node
        responds, and without this a broken connection would be used forever.
        """
        self._superseded.extend(self._inflight.values())
        self._inflight.clear()
        self._backing_off_until_ms.clear()
        self._paused_until_ms = None
        self._timed_out_nodes.clear()

    def is_ready(self, node_id: NodeId, now_ms: int) -> bool:
        """Whether a request may be sent to this node now."""
        return node_id not in self._inflight and not self.is_backing_off(node_id, now_ms)

    def is_backing_off(self, node_id: NodeId, now_ms: int) -> bool:
        """Whether a request to this node failed a short while ago."""
        return now_ms < self._backing_off_until_ms.get(node_id, now_ms)

    @property
    def next_number(self) -> int:
        """The number of the next request: those that are in flight, or were, have lower ones."""
        return self._next_number

    @property
    def inflight_nodes(self) -> Set[NodeId]:
        """The nodes whose responses are expected."""
        return self._inflight.keys()

    @property
    def has_inflight(self) -> bool:
        """Whether any response is expected."""
        return bool(self._inflight)

    def on_request_sent(self, node_id: NodeId, request: OutgoingRequest, now_ms: int) -> int:
        """Count a request that is sent now, and return its number."""
        assert node_id not in self._inflight, f"two requests at once to node {node_id}"
        number = self._next_number
        self._next_number += 1
        self._inflight[node_id] = InflightRequest(
            number=number, node_id=node_id, request=request, deadline_ms=now_ms + self._request_timeout_ms
        )
        return number

    def is_expected(self, number: int) -> bool:
        """Whether the response to the request of this number would still be handled."""
        return any(inflight.number == number for inflight in self._inflight.values())

    def take(self, number: int) -> InflightRequest | None:
        """Remove the request of that number and return it; None when its response is not expected any more."""
        for settled in (*self._superseded, *self._inflight.values()):
            if settled.number == number:
                # Responses come in the order of requests: earlier requests on this connection are settled as well.
                self._superseded = [earlier for earlier in self._superseded if not settled.settles(earlier)]
                is_expected = self._inflight.get(settled.node_id) is settled
                return self._inflight.pop(settled.node_id) if is_expected else None
        return None

    def take_overdue(self, now_ms: int) -> list[InflightRequest]:
        """Remove the requests that have timed out and return one per node; that node is ready again (GEN-8)."""
        if not self._inflight and not self._superseded:
            return []
        overdue = [inflight for inflight in self._inflight.values() if inflight.deadline_ms <= now_ms]
        for inflight in overdue:
            del self._inflight[inflight.node_id]
            self._timed_out_nodes.add(inflight.node_id)
        by_node = {inflight.node_id: inflight for inflight in self._superseded if inflight.deadline_ms <= now_ms}
        by_node.update((inflight.node_id, inflight) for inflight in overdue)
        # The connections to such a node are closed, so no other response can come from it either.
        self._superseded = [inflight for inflight in self._superseded if inflight.node_id not in by_node]
        return list(by_node.values())

    def forget_timeout(self, node_id: NodeId) -> bool:
        """Forget that the last request to this node timed out; return whether it did.

        So the caller learns it only once, and sends requests to the node again later.
        """
        has_timed_out = node_id in self._timed_out_nodes
        self._timed_out_nodes.discard(node_id)
        return has_timed_out

    def back_off(self, node_id: NodeId, now_ms: int, *, at_least_ms: int = 0) -> None:
        """Send no request to this node for the retry backoff, or for `at_least_ms` if that is longer."""
        self._backing_off_until_ms[node_id] = now_ms + max(self._retry_backoff_ms, at_least_ms)

    def pause_fetches(self, until_ms: int) -> None:
        """Fetch nothing until then, and no other node's records either."""
        self._paused_until_ms = until_ms

    @property
    def is_paused(self) -> bool:
        """Whether nothing is fetched now."""
        return self._paused_until_ms is not None

    def deadlines_ms(self) -> list[int]:
        """When each request in flight times out, and when each backoff and the pause end."""
        waiting = (*self._inflight.values(), *self._superseded)
        pause = () if self._paused_until_ms is None else (self._paused_until_ms,)
        return [*(inflight.deadline_ms for inflight in waiting), *self._backing_off_until_ms.values(), *pause]

    def remove_expired_backoffs(self, now_ms: int) -> None:
        """Drop the backoffs and the pause that are over, so that the node does not wake up for them again."""
        if self._paused_until_ms is not None and self._paused_until_ms <= now_ms:
            self._paused_until_ms = None
        if not self._backing_off_until_ms:
            return
        self._backing_off_until_ms = {
            node_id: until_ms for node_id, until_ms in self._backing_off_until_ms.items() if until_ms > now_ms
        }
