"""What the honest clients saw between two moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.workload.history import Append

_NS_PER_MS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Figures of the appends that were acknowledged in a stretch of time.

    Fields:
        appends: how many.
        clients: how many clients they are of.
        p50_ms, p99_ms: how long they took, from call to return.
        slowest_ms: the longest of them.
        longest_gap_ms: longest time without any acknowledgement; begin and end of the stretch count as one.
    """

    appends: int
    clients: int
    p50_ms: float
    p99_ms: float
    slowest_ms: float
    longest_gap_ms: float

    @classmethod
    def of(cls, appends: Iterable[Append], *, begin_ns: int, end_ns: int) -> Phase:
        """Count those that were acknowledged from begin to end."""
        answered = [
            (append, append.acknowledged_ns)
            for append in appends
            if append.acknowledged_ns is not None and begin_ns <= append.acknowledged_ns < end_ns
        ]
        took_ms = sorted((acknowledged_ns - append.invoked_ns) / _NS_PER_MS for append, acknowledged_ns in answered)
        moments_ns = sorted((begin_ns, *(acknowledged_ns for _, acknowledged_ns in answered), end_ns))
        return cls(
            appends=len(answered),
            clients=len({append.client for append, _ in answered}),
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
