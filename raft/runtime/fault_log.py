"""Faults for an operator's eyes, each at most once in a while: a peer that is misconfigured repeats itself."""

from __future__ import annotations

import logging
from collections.abc import Callable

_QUIET_MS = 10_000
_MOST_REMEMBERED = 100


class FaultLog:
    """Writes warnings; the same one again within ten seconds is only counted, and the count told next time.

    Of different ones no more than `_MOST_REMEMBERED` are written within ten seconds: a client may choose the words.

    Args:
        logger: writes the warnings.
        now_ms: a monotonic clock, in milliseconds.
        level: of the warnings.
    """

    def __init__(self, logger: logging.Logger, now_ms: Callable[[], int], *, level: int = logging.WARNING) -> None:
        self._logger = logger
        self._now_ms = now_ms
        self._level = level
        self._last_told: dict[str, tuple[int, int]] = {}
        self._left_out = 0

    def report(self, message: str, *details: object, latest: str = "") -> None:
        """Log one fault: what `message` and `details`, as for a logger, make together.

        What differs each time, such as an address, goes into `latest`: that of the first is written.
        """
        text = message % details
        now_ms = self._now_ms()
        told_ms, suppressed = self._last_told.get(text, (-_QUIET_MS, 0))
        if now_ms - told_ms < _QUIET_MS:
            self._last_told[text] = (told_ms, suppressed + 1)
            return
        if text not in self._last_told and not self._has_room(now_ms):
            self._left_out += 1
            return
        self._last_told[text] = (now_ms, 0)
        if self._left_out:
            self._logger.log(self._level, "%s further messages were left out", self._left_out)
            self._left_out = 0
        again = f" ({suppressed} times more since)" if suppressed else ""
        self._logger.log(self._level, "%s%s%s", text, f"; {latest}" if latest else "", again)

    def _has_room(self, now_ms: float) -> bool:
        if len(self._last_told) >= _MOST_REMEMBERED:
            self._last_told = {
                text: (told_ms, suppressed)
                for text, (told_ms, suppressed) in self._last_told.items()
                if now_ms - told_ms < _QUIET_MS
            }
        return len(self._last_told) < _MOST_REMEMBERED
