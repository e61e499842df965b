"""How long a read waits for committed records that no leader returns."""

from __future__ import annotations

import time

from raft.client import ClientSettings


class ReadDeadline:
    """Waits for at most the time of a call.

    A leader that was just elected may not know the high watermark yet, and a leader behind a partition may not have the
    records, until it resigns.

    Args:
        settings: of the client.
    """

    def __init__(self, settings: ClientSettings) -> None:
        self.timeout_s = settings.api_timeout_ms / 1000
        self._pause_s = settings.retry_backoff_ms / 1000
        self.restart()

    def restart(self) -> None:
        """Start the time again, because records came."""
        self._deadline_s = time.monotonic() + self.timeout_s

    @property
    def is_over(self) -> bool:
        """Whether no records came for the time of a call."""
        return time.monotonic() >= self._deadline_s

    def pause(self) -> None:
        """Sleep for the retry backoff of the client."""
        time.sleep(self._pause_s)
