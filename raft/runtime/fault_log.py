"""Log lines about faults, rate limited: a misconfigured client or node may cause the same fault with each request.

Their texts may have names that a client has chosen, such as the subject of a certificate. So they are one line each.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from raft.printable import printable

_QUIET_MS = 10_000
_MAX_REMEMBERED = 100


class FaultLog:
    """Logs each fault at most once in ten seconds, and counts the repetitions for the next line.

    At most `_MAX_REMEMBERED` different faults are logged in ten seconds, because a client may choose the text.

    Args:
        logger: writes the lines.
        now_ms: returns the time of a monotonic clock, in milliseconds.
        level: the level of the lines.
    """

    def __init__(self, logger: logging.Logger, now_ms: Callable[[], int], *, level: int = logging.WARNING) -> None:
        self._logger = logger
        self._now_ms = now_ms
        self._level = level
        self._last_logged: dict[str, tuple[int, int]] = {}
        self._left_out = 0
        self._full_until_ms = 0

    def report(self, message: str, *details: object, latest: str = "", error: Exception | None = None) -> None:
        """Log one fault.

        Args:
            message: the text, in the form of a logger's. Faults are the same if text and details are equal.
            details: the arguments of the text.
            latest: values that may differ for the same fault, such as an address. It ends the line.
            error: its traceback follows the line; None for none.
        """
        text, latest = printable(message % details), printable(latest)
        now_ms = self._now_ms()
        logged_ms, suppressed = self._last_logged.get(text, (-_QUIET_MS, 0))
        if now_ms - logged_ms < _QUIET_MS:
            self._last_logged[text] = (logged_ms, suppressed + 1)
            return
        if text not in self._last_logged and not self._has_room(now_ms):
            self._left_out += 1
            return
        self._last_logged[text] = (now_ms, 0)
        if self._left_out:
            self._logger.log(self._level, "suppressed other faults: count=%s", self._left_out)
            self._left_out = 0
        again = f" (suppressed {suppressed} repetitions)" if suppressed else ""
        self._logger.log(self._level, "%s%s%s", text, f"; {latest}" if latest else "", again, exc_info=error)

    def _has_room(self, now_ms: int) -> bool:
        if len(self._last_logged) >= _MAX_REMEMBERED:
            # Clients may cause thousands of faults in a second, and each search would cost more than its fault.
            if now_ms < self._full_until_ms:
                return False
            self._last_logged = {
                text: (logged_ms, suppressed)
                for text, (logged_ms, suppressed) in self._last_logged.items()
                if now_ms - logged_ms < _QUIET_MS
            }
            oldest_ms = min((logged_ms for logged_ms, _ in self._last_logged.values()), default=now_ms)
            self._full_until_ms = oldest_ms + _QUIET_MS
        return len(self._last_logged) < _MAX_REMEMBERED
