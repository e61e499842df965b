"""What the clients of a node have used of their quotas, and who was throttled.

Each entity (see `raft.security.quotas`) has a pace for each kind of quota. A client that has used more than its quota
is throttled: its response says for how long, and the node reads nothing more from the connection meanwhile (KIP-219).

What a request takes of the processor counts against `request_percentage`, as SHARE-6 measures it. Beside that, the
connections of an entity that has used more than this quota have turns only at its pace (see `raft.runtime.turns`): a
client that opens many connections, or asks again and again, gets no more.

Source: KIP-13, KIP-124, KIP-219; Kafka ClientQuotaManager, ClientRequestQuotaManager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from raft.runtime.pace import Pace
from raft.security.quotas import Entity, QuotaKind, Quotas

CREDIT_S = 10.0
"""How much unused time counts. Kafka measures rates over quota.window.num=11 windows of a second, of which the last one
is not complete."""

LONGEST_THROTTLES_S = {
    QuotaKind.REQUEST_PERCENTAGE: 1.0,
    QuotaKind.PRODUCER_BYTE_RATE: ((1 << 31) - 1) / 1000,
    QuotaKind.CONSUMER_BYTE_RATE: ((1 << 31) - 1) / 1000,
}
"""The longest throttles, in seconds: for processor time one window of Kafka's; otherwise the largest int32."""

_KEPT_PACES = 10_000
"""So many paces are kept before those are dropped that have no effect any more. A client chooses its client id."""

_LISTED_ENTITIES = 100
"""So many throttled entities have metrics of their own; what happens to others is counted for all of them together."""

OTHERS: Entity = ("(others)", None)
"""The entity that stands for the others in the metrics."""

_SCALE = {QuotaKind.REQUEST_PERCENTAGE: 1 / 100}
"""What one unit of a quota is, in what is counted: seconds of the processor in a second."""


@dataclass(slots=True)
class Throttled:
    """How often an entity was throttled, and for how long in all, in seconds."""

    count: int = 0
    seconds: float = 0.0


class ClientQuotas:
    """The quotas of a node, and what its clients have used of them.

    Args:
        quotas: returns the present limits.
        now_s: returns the time of a monotonic clock, in seconds.

    Attributes:
        throttled: who was throttled, by the kind of the quota that was exceeded most.
    """

    def __init__(self, quotas: Callable[[], Quotas], now_s: Callable[[], float]) -> None:
        self._quotas = quotas
        self._now_s = now_s
        self._known = quotas()
        self._paces: dict[tuple[QuotaKind, Entity], Pace] = {}
        self._pace_of: dict[tuple[QuotaKind, str, str], Pace | None] = {}
        """What `pace` has found, so that it need not be found again for each request."""
        self._entity_of: dict[Pace, Entity] = {}
        self._prune_at = _KEPT_PACES
        self.throttled: dict[tuple[QuotaKind, Entity], Throttled] = {}

    def pace(self, kind: QuotaKind, user: str, client_id: str) -> Pace | None:
        """Return the pace of a client; None if it has no quota.

        Args:
            kind: of the quota.
            user: the name in its principal.
            client_id: of its requests; "" for none.
        """
        quotas = self._quotas()
        if quotas is not self._known:
            self._known = quotas
            self._pace_of.clear()
        client = (kind, user, client_id)
        if client not in self._pace_of:
            if len(self._pace_of) >= self._prune_at:
                self._prune()
            self._pace_of[client] = self._find(kind, user, client_id)
        return self._pace_of[client]

    def throttle_s(self, pace: Pace, *, after: float = 0.0) -> float:
        """Return for how long a client with this pace is throttled now, in seconds; 0 for not at all.

        Args:
            pace: its pace.
            after: what it has used and is not counted yet.
        """
        return pace.pause_s(self._now_s(), after=after)

    def use(self, pace: Pace, amount: float) -> None:
        """Count what was used: bytes, or seconds of the processor."""
        pace.use(amount, self._now_s())

    def count(self, kind: QuotaKind, pace: Pace, throttle_s: float) -> None:
        """Count that a response has throttled a client with this pace."""
        key = (kind, self._entity_of.get(pace, OTHERS))
        if key not in self.throttled and len(self.throttled) >= _LISTED_ENTITIES:
            key = (kind, OTHERS)
        throttled = self.throttled.setdefault(key, Throttled())
        throttled.count += 1
        throttled.seconds += throttle_s

    def _find(self, kind: QuotaKind, user: str, client_id: str) -> Pace | None:
        found = self._known.of(kind, user, client_id)
        if found is None:
            return None
        entity, limit = found
        per_second = limit * _SCALE.get(kind, 1.0)
        pace = self._paces.get((kind, entity))
        if pace is None:
            pace = Pace(per_second, credit_s=CREDIT_S, longest_pause_s=LONGEST_THROTTLES_S[kind], now_s=self._now_s())
            self._paces[kind, entity] = pace
            self._entity_of[pace] = entity
        pace.per_second = per_second
        return pace

    def _prune(self) -> None:
        now_s = self._now_s()
        self._pace_of.clear()
        self._paces = {key: pace for key, pace in self._paces.items() if not pace.has_full_credit(now_s)}
        self._entity_of = {pace: entity for (_, entity), pace in self._paces.items()}
        self._prune_at = max(_KEPT_PACES, 2 * len(self._paces))
