"""The requests under way: at most one a node, and whom to leave alone for a while (GEN-6..8)."""

from __future__ import annotations

from dataclasses import dataclass

from raft.core.messages import OutgoingRequest, is_for_records
from raft.types import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A request that waits for its answer."""

    number: int
    node_id: NodeId
    request: OutgoingRequest
    deadline_ms: int

    @property
    def way(self) -> tuple[NodeId, bool]:
        """The connection that it goes by."""
        return self.node_id, is_for_records(self.request)

    def settles(self, other: Pending) -> bool:
        """Whether the answer to this one leaves none to come for the other."""
        return self.way == other.way and other.number <= self.number


class Peers:
    """For each node: ready, waiting for an answer, or backing off after a failure."""

    __slots__ = (
        "_abandoned",
        "_back_off_until_ms",
        "_next_number",
        "_pending",
        "_request_timeout_ms",
        "_retry_backoff_ms",
        "_timed_out",
    )

    def __init__(self, *, request_timeout_ms: int, retry_backoff_ms: int) -> None:
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._pending: dict[NodeId, Pending] = {}
        self._abandoned: list[Pending] = []
        self._back_off_until_ms: dict[NodeId, int] = {}
        self._timed_out: set[NodeId] = set()
        self._next_number = 0

    def forget(self) -> None:
        """Drop all requests under way: a change of role makes their answers meaningless (GEN-7).

        That none comes in time means something still: roles change sooner than that where nobody answers, and a
        connection that leads nowhere would be used for ever.
        """
        self._abandoned.extend(self._pending.values())
        self._pending.clear()
        self._back_off_until_ms.clear()
        self._timed_out.clear()

    def is_ready(self, node_id: NodeId, now_ms: int) -> bool:
        """Whether a request may go to this node now."""
        return node_id not in self._pending and not self.is_backing_off(node_id, now_ms)

    def is_backing_off(self, node_id: NodeId, now_ms: int) -> bool:
        """Whether this node failed us just now."""
        return now_ms < self._back_off_until_ms.get(node_id, now_ms)

    @property
    def has_pending(self) -> bool:
        """Whether any answer is out."""
        return bool(self._pending)

    def sent(self, node_id: NodeId, request: OutgoingRequest, now_ms: int) -> int:
        """Note a request that goes out now; return its number."""
        assert node_id not in self._pending, f"two requests at once to node {node_id}"
        number = self._next_number
        self._next_number += 1
        self._pending[node_id] = Pending(
            number=number, node_id=node_id, request=request, deadline_ms=now_ms + self._request_timeout_ms
        )
        return number

    def take(self, number: int) -> Pending | None:
        """The request of that number, which is no longer under way; None when nobody waits for it any more."""
        for settled in (*self._abandoned, *self._pending.values()):
            if settled.number == number:
                # Answers come in the order of requests: what was asked before on this connection is settled as well.
                self._abandoned = [pending for pending in self._abandoned if not settled.settles(pending)]
                is_awaited = self._pending.get(settled.node_id) is settled
                return self._pending.pop(settled.node_id) if is_awaited else None
        return None

    def take_overdue(self, now_ms: int) -> list[Pending]:
        """The requests whose time is over, one a node; the node is ready again, nothing is under way there (GEN-8)."""
        overdue = [pending for pending in self._pending.values() if pending.deadline_ms <= now_ms]
        for pending in overdue:
            del self._pending[pending.node_id]
            self._timed_out.add(pending.node_id)
        by_node = {pending.node_id: pending for pending in self._abandoned if pending.deadline_ms <= now_ms}
        by_node.update((pending.node_id, pending) for pending in overdue)
        # With the connections to a node goes everything else that was asked on them.
        self._abandoned = [pending for pending in self._abandoned if pending.node_id not in by_node]
        return list(by_node.values())

    def take_timed_out(self, node_id: NodeId) -> bool:
        """Whether the last request to this node got no answer in time; told once, so that it is asked again later."""
        has_timed_out = node_id in self._timed_out
        self._timed_out.discard(node_id)
        return has_timed_out

    def back_off(self, node_id: NodeId, now_ms: int, *, at_least_ms: int = 0) -> None:
        """Leave this node alone for the time of a retry, or for longer where the caller says so."""
        self._back_off_until_ms[node_id] = now_ms + max(self._retry_backoff_ms, at_least_ms)

    def deadlines_ms(self) -> list[int]:
        """When a request is overdue, or a back-off ends."""
        under_way = (*self._pending.values(), *self._abandoned)
        return [*(pending.deadline_ms for pending in under_way), *self._back_off_until_ms.values()]

    def forget_past_back_offs(self, now_ms: int) -> None:
        """Drop back-offs that are over, so that they no longer wake anybody."""
        self._back_off_until_ms = {
            node_id: until for node_id, until in self._back_off_until_ms.items() if until > now_ms
        }
