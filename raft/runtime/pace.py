"""A limit on what may be used in a second: work, or bytes.

This is a token bucket, counted in time. Each use takes as long as the limit gives for it, one after the other. A client
that has used nothing for a while may use as much at once as the limit gives for that time, up to a credit.

Source: KIP-599 (TokenBucket); with a credit of ten seconds the pauses are those of KIP-13, in which Kafka measures the
rate over ten windows of a second.
"""

from __future__ import annotations


class Pace:
    """What one client, or several together, have used under a limit.

    Args:
        per_second: the limit.
        credit_s: how much time without use counts, in seconds.
        longest_pause_s: a use that is too large for the limit has no longer pause than this, in seconds.
        now_s: the time of a monotonic clock, in seconds. The credit is full then.

    Attributes:
        per_second: see there; it may change.
    """

    __slots__ = ("_credit_s", "_free_s", "_longest_pause_s", "per_second")

    def __init__(
        self, per_second: float, *, credit_s: float, now_s: float, longest_pause_s: float = float("inf")
    ) -> None:
        self.per_second = per_second
        self._credit_s = credit_s
        self._longest_pause_s = longest_pause_s
        self._free_s = now_s - credit_s

    def use(self, amount: float, now_s: float) -> None:
        """Count a use.

        Args:
            amount: in the unit of the limit.
            now_s: the time, in seconds.
        """
        self._free_s = self._free_after(amount, now_s)

    def pause_s(self, now_s: float, *, after: float = 0.0) -> float:
        """Return how long to use nothing, in seconds, so that the limit holds; 0 if it holds already.

        Args:
            now_s: the time, in seconds.
            after: a use that is not counted yet.
        """
        return max(0.0, (self._free_after(after, now_s) if after else self._free_s) - now_s)

    def _free_after(self, amount: float, now_s: float) -> float:
        free_s = max(self._free_s, now_s - self._credit_s) + amount / self.per_second
        return min(free_s, now_s + self._longest_pause_s)

    def has_full_credit(self, now_s: float) -> bool:
        """Return whether what was used has no effect any more."""
        return self._free_s <= now_s - self._credit_s
