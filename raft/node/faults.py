"""Faults for an operator's eyes, each at most once in a while: a peer that is misconfigured repeats itself."""

from __future__ import annotations

import logging
import time

_QUIET_S = 10.0
_MOST_REMEMBERED = 1000


class FaultLog:
    """Writes warnings; the same one again within ten seconds is only counted, and the count told next time."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._last_told: dict[str, tuple[float, int]] = {}

    def report(self, message: str, *details: object) -> None:
        """Log one fault."""
        text = message % details
        now_s = time.monotonic()
        told_s, suppressed = self._last_told.get(text, (-_QUIET_S, 0))
        if now_s - told_s < _QUIET_S:
            self._last_told[text] = (told_s, suppressed + 1)
            return
        if len(self._last_told) >= _MOST_REMEMBERED:
            self._last_told.clear()
        self._last_told[text] = (now_s, 0)
        self._logger.warning("%s%s", text, f" ({suppressed} times more since)" if suppressed else "")
