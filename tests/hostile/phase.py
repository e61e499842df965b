"""The appends of the honest clients in one phase."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.workload.history import Append

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Figures of the appends that were acknowledged in an interval.

    Fields:
        appends: how many.
        clients: how many clients made them.
        p50_ms, p99_ms: how long they took, from call to return.
        slowest_ms: how long the slowest one took.
        longest_gap_ms: the longest time without an acknowledgement; begin and end of the interval count as one.
    """

    appends: int
    clients: int
    p50_ms: float
    p99_ms: float
    slowest_ms: float
    longest_gap_ms: float

    @classmethod
    def of(cls, appends: Iterable[Append], *, begin_ns: int, end_ns: int) -> Phase:
        """Return the figures of the appends that were acknowledged from begin to end."""
        acknowledged = [
            (append, append.acknowledged_ns)
            for append in appends
            if append.acknowledged_ns is not None and begin_ns <= append.acknowledged_ns < end_ns
        ]
        took_ms = sorted((acknowledged_ns - append.invoked_ns) / _NS_PER_MS for append, acknowledged_ns in acknowledged)
        moments_ns = sorted((begin_ns, *(acknowledged_ns for _, acknowledged_ns in acknowledged), end_ns))
        return cls(
            appends=len(acknowledged),
            clients=len({append.client for append, _ in acknowledged}),
            p50_ms=_quantile(took_ms, 0.5),
            p99_ms=_quantile(took_ms, 0.99),
            slowest_ms=took_ms[-1] if took_ms else math.inf,
            longest_gap_ms=max(later - earlier for earlier, later in pairwise(moments_ns)) / _NS_PER_MS,
        )

    def __str__(self) -> str:
        return (
            f"{self.appends:6} appends of {self.clients} clients, p50 {self.p50_ms:.1f} ms, p99 {self.p99_ms:.1f} ms, "
            f"slowest {self.slowest_ms:.0f} ms, longest gap {self.longest_gap_ms:.0f} ms"
        )


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.inf
